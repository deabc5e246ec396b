//! The settings of an alignment.

use serde::{Deserialize, Serialize};

/// Which of a word's subwords carries the word's label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelPolicy {
    /// The first subword, as in the BERT paper and in the original study.
    #[default]
    First,
    /// The last subword. A word whose last subword was cut off is truncated; an earlier subword does
    /// not take its place.
    Last,
    /// Every subword that is kept; a word is truncated if none is.
    All,
}

/// Settings for turning words into positions.
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
    /// The maximum number of positions in one window, including special tokens. Default 128.
    pub max_length: usize,
    /// Which subword carries a word's label. Default [`LabelPolicy::First`].
    pub labels: LabelPolicy,
    /// How many positions a window shares with the previous one, for
    /// [`crate::Aligner::align_windows`]; `None`, the default, truncates a long sentence.
    pub stride: Option<usize>,
    /// Whether to lowercase every form as Python's `str.lower()` does, before tokenization. Default
    /// false.
    pub lowercase: bool,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self { max_length: 128, labels: LabelPolicy::First, stride: None, lowercase: false }
    }
}
