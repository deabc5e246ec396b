//! Which sentences a file of predictions is on: cells are compared on the same ones only.

use frostline_record::sha256;

/// Which sentences a file of predictions is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextName {
    /// The same for sentences of the same lengths with the same gold labels.
    pub shape: String,
    /// The same for the same sentences with the same gold labels; nothing for a published file, which has neither words nor
    /// ids.
    pub whole: Option<String>,
}

impl TextName {
    /// From the lines that say the shape, and those that say all.
    pub fn new(shape: &str, whole: &str, has_words: bool) -> Self {
        Self { shape: sha256(shape.as_bytes()), whole: has_words.then(|| sha256(whole.as_bytes())) }
    }

    /// Whether both are the same sentences, as far as both say. Where words are known they are compared too.
    pub fn is_that_of(&self, other: &Self) -> bool {
        self.shape == other.shape && self.whole.iter().zip(&other.whole).all(|(a, b)| a == b)
    }
}
