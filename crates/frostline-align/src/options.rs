//! Owns the settings of an alignment. Refuses settings that cannot hold a sentence; knows no
//! tokenizer file.

use serde::{Deserialize, Serialize};

/// Which of a word's subwords speaks for the word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelPolicy {
    /// The first subword: the choice of the BERT paper and of the study.
    #[default]
    First,
    /// The last subword. A word whose last subword was cut off is truncated: an earlier one does
    /// not speak in its place.
    Last,
    /// Every subword that is kept; a word is truncated when none is.
    All,
}

/// How words become positions.
///
/// ```
/// use frostline_align::{AlignOptions, LabelPolicy};
///
/// let options = AlignOptions { max_length: 256, ..AlignOptions::default() };
/// assert_eq!((options.labels, options.stride), (LabelPolicy::First, None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlignOptions {
    /// The most positions of one window, special tokens included. Default 128.
    pub max_length: usize,
    /// Which subword speaks for a word. Default [`LabelPolicy::First`].
    pub labels: LabelPolicy,
    /// How many positions a window shares with the one before it, for
    /// [`crate::Aligner::align_windows`]; `None`, the default, cuts a long sentence short.
    pub stride: Option<usize>,
    /// Lowercase every form as Python's `str.lower()` does, before the tokenizer sees it. Default
    /// false.
    pub lowercase: bool,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self { max_length: 128, labels: LabelPolicy::First, stride: None, lowercase: false }
    }
}
