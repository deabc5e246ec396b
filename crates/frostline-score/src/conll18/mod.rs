//! The scores of the CoNLL 2018 shared task, which also compare different segmentations.
//!
//! These are the thirteen metrics from Tokens to BLEX, computed from parsed rows. Enhanced
//! dependencies (metrics of a later task) are not scored, and empty nodes, which the official scorer
//! ignores, must be omitted.
//!
//! ```
//! use frostline_score::conll18::{MultiwordToken, ScoredSentence, WordRow, evaluate};
//!
//! let word = |form, upos| WordRow { form, upos, ..WordRow::default() };
//! let gold = [ScoredSentence {
//!     words: vec![word("do", "AUX"), word("n't", "PART"), word("go", "VERB")],
//!     ranges: vec![MultiwordToken { first: 1, last: 2, form: "don't" }],
//! }];
//! let system = [ScoredSentence { words: vec![word("don't", "AUX"), word("go", "NOUN")], ranges: vec![] }];
//! let scores = evaluate(&gold, &system)?;
//! assert_eq!(scores.tokens.f1(), 1.0);
//! assert_eq!(scores.words.correct, 1); // "go"; neither half of "don't" is aligned
//! assert_eq!(scores.upos.correct, 0);
//! assert!(scores.syntax.is_none()); // no heads were given
//! # Ok::<(), frostline_score::ScoreError>(())
//! ```
//!
//! # Source
//! Zeman et al., *CoNLL 2018 Shared Task: Multilingual Parsing from Raw Text to Universal Dependencies*,
//! section 5, and the description of the task's evaluation. Words are aligned like in its scorer;
//! `tests/conll18.rs` compares the two.

mod align;
mod corpus;
mod metrics;
mod rows;
mod units;

pub use align::Alignment;
pub use metrics::{Conll18Scores, Metric, Syntax};
pub use rows::{MultiwordToken, ScoredSentence, WordRow};
pub use units::{ScoredUnit, common_units, evaluate_units};

use crate::error::ScoreError;

/// Scores `system` against `gold`.
///
/// # Errors
/// If a sentence is unusable, or the two sides have different texts (apart from spaces).
pub fn evaluate(gold: &[ScoredSentence], system: &[ScoredSentence]) -> Result<Conll18Scores, ScoreError> {
    let gold = corpus::Corpus::new("gold", gold)?;
    let system = corpus::Corpus::new("system", system)?;
    corpus::same_text(&gold, &system)?;
    let alignment = align::align_words(&gold.words, &system.words);
    Ok(metrics::measure(&gold, &system, &alignment))
}

/// Aligns the words of `gold` with the words of `system`.
///
/// # Errors
/// See [`evaluate`].
pub fn align(gold: &[ScoredSentence], system: &[ScoredSentence]) -> Result<Alignment, ScoreError> {
    let gold = corpus::Corpus::new("gold", gold)?;
    let system = corpus::Corpus::new("system", system)?;
    corpus::same_text(&gold, &system)?;
    Ok(align::align_words(&gold.words, &system.words))
}
