//! The input of the scorer: parsed words, multiword tokens and sentences.

/// One word: the columns of CoNLL-U that are scored, unparsed, with `_` if a value is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WordRow<'a> {
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
    /// HEAD: 0 for the root, otherwise the number of a word of the sentence, from 1; `None` if the column does
    /// not contain a number.
    pub head: Option<usize>,
    /// DEPREL, including its subtype.
    pub deprel: &'a str,
}

/// One multiword token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MultiwordToken<'a> {
    /// Number of its first word, from 1.
    pub first: usize,
    /// Number of its last word.
    pub last: usize,
    /// The form of the token.
    pub form: &'a str,
}

/// One sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoredSentence<'a> {
    /// The words, without empty nodes.
    pub words: Vec<WordRow<'a>>,
    /// The multiword tokens in ascending order.
    pub ranges: Vec<MultiwordToken<'a>>,
}
