//! What taggers get and return: options, parts of sentences, tags with their probabilities.

use std::ops::Range;

use frostline_align::AlignError;
use frostline_record::Precision;

/// The tag of a word for which the tokenizer produces no subword, such as a zero-width space: `_`, as
/// CoNLL-U writes a missing value.
pub const NO_TAG: &str = "_";

/// The most words of a sentence that are read together. A longer sentence is read in parts, which overlap by
/// [`Tagger::context`](crate::Tagger::context) on either side, so that every word has as much context as in a window of
/// the whole.
pub const PART_WORDS: usize = 8192;

/// How a tagger is opened. By default, the settings stored in the model's folder apply.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The task whose head is used, for cells with several heads; by default the headline task.
    pub task: Option<String>,
    /// Whether to lowercase every word first. By default as in training if Frostline saved the model,
    /// otherwise false.
    pub lowercase: Option<bool>,
    /// The most positions in one window, special tokens included. By default as in training if
    /// Frostline saved the model, otherwise the encoder's maximum.
    pub max_length: Option<usize>,
    /// The precision of linear layers. By default as in training if Frostline saved the model,
    /// otherwise f32.
    pub precision: Option<Precision>,
    /// The backend: `flex`, `amx`, `ndarray`, `cuda` or `wgpu`, if this build contains it, or `auto`, the
    /// fastest on this machine; by default the first backend of the build.
    pub backend: Option<String>,
    /// The number of threads; by default one per core.
    pub threads: Option<usize>,
}

/// A word's predicted tag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer<'a> {
    /// The most probable label; [`NO_TAG`] if the tokenizer produces no subword for the word.
    pub tag: &'a str,
    /// The probability that the model gives it; 0 if there is no tag.
    pub probability: f32,
}

/// Words of a sentence: the words to tag, and their context.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The words of the part and of the context before and after it.
    pub words: Vec<&'a str>,
    /// The range of words to tag.
    pub own: Range<usize>,
}

/// A sentence that cannot be tokenized.
#[derive(Debug, thiserror::Error)]
#[error("sentence {}: {source}", .sentence + 1)]
pub struct SentenceError {
    /// The sentence's index in the input, from 0.
    pub sentence: usize,
    /// The tokenizer's error.
    pub source: AlignError,
}

impl<'a> Answer<'a> {
    /// The answer for a word without a subword.
    pub(crate) const NONE: Answer<'static> = Answer { tag: NO_TAG, probability: 0.0 };

    /// Returns the most probable of the labels; the first of several equally probable ones.
    pub(crate) fn best(labels: &'a [String], logits: &[f32]) -> Self {
        let best = highest_logit(logits);
        Self { tag: &labels[best], probability: softmax(logits)[best] }
    }
}

/// Returns the index of the highest logit; the first of several equal ones.
fn highest_logit(logits: &[f32]) -> usize {
    let mut best = 0;
    for (label, value) in logits.iter().enumerate() {
        if *value > logits[best] {
            best = label;
        }
    }
    best
}

/// Returns the softmax of the logits.
pub(crate) fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits.iter().map(|&value| f64::from(value - top).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| (power / sum) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_and_the_first_of_the_highest_wins() {
        let found = softmax(&[0.0, 2.0, 2.0, -90.0]);
        assert!((found.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert_eq!(found[1], found[2]);
        assert!((found[1] / found[0] - 2f32.exp()).abs() < 1e-4);
        assert_eq!(highest_logit(&[0.0, 2.0, 2.0, -90.0]), 1);
        assert_eq!(softmax(&[1e30, 0.0]), [1.0, 0.0]);
    }
}
