//! The error type of this crate: faults of the data.
//!
//! Settings out of range are bugs of the caller, not errors: they panic, as each function documents.

/// Data that cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// Two paired samples differ in length.
    #[error(
        "paired samples must have the same length, but have {a} and {b} values; \
         score both systems on the same items"
    )]
    Unpaired {
        /// Length of the first sample.
        a: usize,
        /// Length of the second sample.
        b: usize,
    },
    /// A sample without values.
    #[error("nothing to compare: {what} is empty; give at least one value")]
    Empty {
        /// Which sample.
        what: &'static str,
    },
    /// A value that is not a finite number.
    #[error("value {index} of {what} is {value}, expected a finite number; omit failed runs")]
    NotFinite {
        /// Which sample.
        what: &'static str,
        /// Index of the value, from 0.
        index: usize,
        /// The value as text.
        value: String,
    },
    /// Gold and system do not have the same text.
    #[error(
        "gold and system have different texts: after {shared} equal characters, gold continues with \
         {gold:?} (sentence {gold_sentence}) and system with {system:?} (sentence {system_sentence}); \
         only the segmentation may differ, so score the same text on both sides"
    )]
    Text {
        /// Equal characters before the difference.
        shared: usize,
        /// The next characters of gold.
        gold: String,
        /// Sentence of gold, from 1.
        gold_sentence: usize,
        /// The next characters of system.
        system: String,
        /// Sentence of system, from 1.
        system_sentence: usize,
    },
    /// A sentence that cannot be used.
    #[error("{side} sentence {sentence}: {fault}")]
    Sentence {
        /// "gold" or "system".
        side: &'static str,
        /// The sentence, from 1.
        sentence: usize,
        /// The fault of the sentence.
        fault: SentenceFault,
    },
}

/// A fault of one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SentenceFault {
    /// There is no word in it.
    #[error("it has no words; remove the sentence from both sides")]
    NoWords,
    /// A token is empty or consists of spaces.
    #[error("word {word} has an empty form, expected text; correct the form")]
    EmptyForm {
        /// The word, from 1.
        word: usize,
    },
    /// A head is outside the sentence.
    #[error("word {word} has head {head}, but the sentence has {words} words; use 0 for the root")]
    Head {
        /// The word, from 1.
        word: usize,
        /// The head of the word.
        head: usize,
        /// Words in the sentence.
        words: usize,
    },
    /// A multiword token is outside the sentence, out of order or overlapping.
    #[error(
        "multiword token {first}-{last} is out of place; ranges must ascend without overlap within \
         1-{words}"
    )]
    Range {
        /// The first word of the range.
        first: usize,
        /// The last word of the range.
        last: usize,
        /// Words in the sentence.
        words: usize,
    },
}
