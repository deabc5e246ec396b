//! Scores: the counts of one scored split, from which every accuracy follows.

use serde::{Deserialize, Serialize};

/// Counts of one scored split; every accuracy is computed from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Mean cross-entropy over the scored words whose tags occur in train, in nats.
    pub loss_nats: f64,
    /// Sentences.
    pub sentences: u64,
    /// All words, scored or not.
    pub words: u64,
    /// Words with the right tag.
    pub correct: u64,
    /// Words lost to truncation; they count as wrong.
    pub truncated: u64,
    /// Words that yielded no subword; they count as wrong.
    pub vanished: u64,
    /// Words that have a label position but a tag that train lacks; they count as wrong.
    pub unseen: u64,
    /// The tags that train lacks, sorted.
    pub unseen_tags: Vec<String>,
    /// Entities, if the labels come from an IOB2 layer.
    pub entities: Option<Entities>,
}

/// Counts of entities; an entity is correct if its words and its type are correct.
///
/// # Source
/// Tjong Kim Sang and De Meulder, 2003: the shared task of CoNLL-2003.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entities {
    /// In the data.
    pub gold: u64,
    /// Predicted.
    pub predicted: u64,
    /// Predicted and in the data.
    pub correct: u64,
}

impl Entities {
    /// Returns the harmonic mean of precision and recall, in [0, 1]; 0 if nothing is right.
    #[must_use]
    pub fn f1(&self) -> f64 {
        ratio_or_zero(2 * self.correct, self.gold + self.predicted)
    }
}

impl Score {
    /// Returns the headline accuracy, in [0, 1]: right words over all words.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        ratio_or_zero(self.correct, self.words)
    }

    /// Returns the original study's accuracy, in [0, 1]: right words over words that have a label position and
    /// a tag that occurs in train.
    #[must_use]
    pub fn study_accuracy(&self) -> f64 {
        ratio_or_zero(self.correct, self.words - self.truncated - self.vanished - self.unseen)
    }
}

fn ratio_or_zero(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
