//! The scores of the CoNLL 2018 shared task, which also compare different segmentations.
//!
//! Owns the thirteen metrics from Tokens to BLEX. Takes parsed rows as plain structs and reads no
//! file. Refuses enhanced dependencies (a later task's metrics) and rows of empty nodes, which the
//! scorer ignores: leave them out.
//!
//! ```
//! use frostline_score::conll18::{Range, Row, Sentence, evaluate};
//!
//! let word = |form, upos| Row { form, upos, ..Row::default() };
//! let gold = [Sentence {
//!     words: vec![word("do", "AUX"), word("n't", "PART"), word("go", "VERB")],
//!     ranges: vec![Range { first: 1, last: 2, form: "don't" }],
//! }];
//! let system = [Sentence { words: vec![word("don't", "AUX"), word("go", "NOUN")], ranges: vec![] }];
//! let scores = evaluate(&gold, &system)?;
//! assert_eq!(scores.tokens.f1(), 1.0);
//! assert_eq!(scores.words.correct, 1); // "go"; the two halves of "don't" have no partner
//! assert_eq!(scores.upos.correct, 0);
//! assert!(scores.syntax.is_none()); // no heads were given
//! # Ok::<(), frostline_score::ScoreError>(())
//! ```
//!
//! # Source
//! Zeman et al., *CoNLL 2018 Shared Task: Multilingual Parsing from Raw Text to Universal
//! Dependencies*, section 5, and the description of the task's evaluation; alignment of words as
//! its scorer does it, which `tests/conll18.rs` compares against.

mod align;
mod corpus;
mod metrics;

pub use align::Alignment;
pub use metrics::{Evaluation, Metric, Syntax};

use crate::error::ScoreError;

/// One word: the columns of CoNLL-U that are scored, `_` and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row<'a> {
    /// FORM.
    pub form: &'a str,
    /// LEMMA.
    pub lemma: &'a str,
    /// UPOS.
    pub upos: &'a str,
    /// XPOS.
    pub xpos: &'a str,
    /// FEATS, unparsed.
    pub feats: &'a str,
    /// HEAD: 0 for the root, else the number of a word of the sentence from 1; `None` where the
    /// column holds no number.
    pub head: Option<usize>,
    /// DEPREL with its subtype.
    pub deprel: &'a str,
}

/// One multiword token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range<'a> {
    /// Number of its first word, from 1.
    pub first: usize,
    /// Number of its last word.
    pub last: usize,
    /// Its spelling.
    pub form: &'a str,
}

/// One sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The words, without empty nodes.
    pub words: Vec<Row<'a>>,
    /// The multiword tokens in ascending order.
    pub ranges: Vec<Range<'a>>,
}

/// Scores `system` against `gold`.
///
/// # Errors
/// Where a sentence is unusable, or where the two sides spell different texts (spaces aside).
pub fn evaluate(gold: &[Sentence], system: &[Sentence]) -> Result<Evaluation, ScoreError> {
    let gold = corpus::Corpus::new("gold", gold)?;
    let system = corpus::Corpus::new("system", system)?;
    corpus::same_text(&gold, &system)?;
    let alignment = align::align_words(&gold.words, &system.words);
    Ok(metrics::measure(&gold, &system, &alignment))
}

/// Which gold word is which system word.
///
/// # Errors
/// As [`evaluate`].
pub fn align(gold: &[Sentence], system: &[Sentence]) -> Result<Alignment, ScoreError> {
    let gold = corpus::Corpus::new("gold", gold)?;
    let system = corpus::Corpus::new("system", system)?;
    corpus::same_text(&gold, &system)?;
    Ok(align::align_words(&gold.words, &system.words))
}
