//! What can be wrong with the data given to this crate.
//!
//! Owns the one error type. Refuses errors for settings out of range: those are bugs of the caller
//! and panic, as each function says.

/// Data that cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// Two paired samples differ in length.
    #[error(
        "paired samples must have one value each per item, but hold {a} and {b}; \
         score both systems on the same items"
    )]
    Unpaired {
        /// Length of the first sample.
        a: usize,
        /// Length of the second sample.
        b: usize,
    },
    /// A sample without a value.
    #[error("nothing to compare: {what} is empty; give at least one value")]
    Empty {
        /// Which sample.
        what: &'static str,
    },
    /// A value that is not a finite number.
    #[error("value {index} of {what} is {value}, not a finite number; leave failed runs out")]
    NotFinite {
        /// Which sample.
        what: &'static str,
        /// Index of the value, from 0.
        index: usize,
        /// The value as text.
        value: String,
    },
    /// Gold and system do not spell the same text.
    #[error(
        "gold and system spell different texts: after {shared} equal characters, gold goes on \
         {gold:?} (sentence {gold_sentence}) and system {system:?} (sentence {system_sentence}); \
         segmentation may differ, characters may not"
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
        /// What is wrong with it.
        fault: SentenceFault,
    },
}

/// What is wrong with one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SentenceFault {
    /// There is no word in it.
    #[error("no words; remove the sentence from both sides")]
    NoWords,
    /// A token is spelt with nothing but spaces.
    #[error("word {word} has an empty form; every token must spell something")]
    EmptyForm {
        /// The word, from 1.
        word: usize,
    },
    /// A head points outside of the sentence.
    #[error("word {word} has head {head}, but the sentence has {words} words; use 0 for the root")]
    Head {
        /// The word, from 1.
        word: usize,
        /// Its head.
        head: usize,
        /// Words in the sentence.
        words: usize,
    },
    /// A multiword token does not fit.
    #[error(
        "multiword token {first}-{last} does not fit; ranges must ascend without overlap inside \
         1-{words}"
    )]
    Range {
        /// Its first word.
        first: usize,
        /// Its last word.
        last: usize,
        /// Words in the sentence.
        words: usize,
    },
}
