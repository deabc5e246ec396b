//! The confusion matrix, and precision, recall and F1 of every tag with their averages.
//!
//! A word without a prediction lowers its gold tag's recall. A word whose gold tag is outside the tag
//! set lowers the predicted tag's precision. Neither is dropped.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::tally::{Prediction, WordOutcome};

/// Counts of (gold tag, predicted tag) over one set of tags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// The names of the tags; indices refer to them.
    pub tags: Vec<String>,
    /// `counts[gold][predicted]`.
    pub counts: Vec<Vec<u64>>,
    /// Per gold tag, the words without a prediction.
    pub missed: Vec<u64>,
    /// Per predicted tag, the words whose gold tag is not in `tags`.
    pub spurious: Vec<u64>,
    /// Words with a gold tag outside `tags` and without a prediction.
    pub outside: u64,
}

/// Precision, recall and F1 of one tag, or an average of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prf {
    /// Correct over predicted; 0 if nothing was predicted.
    pub precision: f64,
    /// Correct over gold; 0 if there is no gold.
    pub recall: f64,
    /// Harmonic mean of both; 0 if both are 0.
    pub f1: f64,
}

impl Prf {
    /// Computes the scores from counts; F1 as `2·correct / (gold + predicted)`, so that it is rounded
    /// only once.
    #[must_use]
    pub fn from_counts(correct: u64, predicted: u64, gold: u64) -> Self {
        let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
        Self {
            precision: ratio(correct, predicted),
            recall: ratio(correct, gold),
            f1: ratio(2 * correct, predicted + gold),
        }
    }
}

/// One tag's counts and scores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TagScore {
    /// The tag's name.
    pub tag: String,
    /// Words with this gold tag.
    pub support: u64,
    /// Words with this predicted tag.
    pub predicted: u64,
    /// Number of words whose gold and predicted tags are both this tag.
    pub correct: u64,
    /// The scores.
    pub prf: Prf,
}

/// Averages over the tags that occur in gold or prediction, as in scikit-learn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Averages {
    /// Over words: every word has the same weight.
    pub micro: Prf,
    /// Over tags: every tag has the same weight.
    pub macro_avg: Prf,
    /// Over tags, weighted by support.
    pub weighted: Prf,
}

impl Confusion {
    /// Returns an empty matrix over these tags.
    #[must_use]
    pub fn new<S: Into<String>>(tags: impl IntoIterator<Item = S>) -> Self {
        let tags: Vec<String> = tags.into_iter().map(Into::into).collect();
        let n = tags.len();
        Self { tags, counts: vec![vec![0; n]; n], missed: vec![0; n], spurious: vec![0; n], outside: 0 }
    }

    /// Returns the matrix of these (gold, predicted) names, tags in ascending order.
    #[must_use]
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let tags: BTreeSet<&str> = pairs.iter().flat_map(|&(g, p)| [g, p]).collect();
        let index: Vec<&str> = tags.into_iter().collect();
        let mut matrix = Self::new(index.iter().copied());
        for (gold, predicted) in pairs {
            matrix.add(index.binary_search(&gold).ok(), index.binary_search(&predicted).ok());
        }
        matrix
    }

    /// Counts one word; `None` is a gold tag outside the tag set, or no prediction.
    ///
    /// # Panics
    /// If an index is not below the number of tags.
    pub fn add(&mut self, gold: Option<usize>, predicted: Option<usize>) {
        match (gold, predicted) {
            (Some(g), Some(p)) => self.counts[g][p] += 1,
            (Some(g), None) => self.missed[g] += 1,
            (None, Some(p)) => self.spurious[p] += 1,
            (None, None) => self.outside += 1,
        }
    }

    /// Counts one [`WordOutcome`].
    ///
    /// # Panics
    /// If an index is not below the number of tags.
    pub fn add_outcome(&mut self, word: WordOutcome) {
        let predicted = match word.predicted {
            Prediction::Tag(tag) => Some(tag),
            Prediction::Truncated | Prediction::Vanished => None,
        };
        self.add(word.gold, predicted);
    }

    /// Returns the number of words counted.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.counts.iter().flatten().sum::<u64>()
            + self.missed.iter().sum::<u64>()
            + self.spurious.iter().sum::<u64>()
            + self.outside
    }

    /// Returns the number of words whose gold and predicted tags agree.
    #[must_use]
    pub fn correct(&self) -> u64 {
        (0..self.tags.len()).map(|t| self.counts[t][t]).sum()
    }

    /// Counts and scores of every tag, in the order of `tags`.
    #[must_use]
    pub fn per_tag(&self) -> Vec<TagScore> {
        let score = |t: usize| {
            let support = self.counts[t].iter().sum::<u64>() + self.missed[t];
            let predicted = self.counts.iter().map(|row| row[t]).sum::<u64>() + self.spurious[t];
            let correct = self.counts[t][t];
            TagScore {
                tag: self.tags[t].clone(),
                support,
                predicted,
                correct,
                prf: Prf::from_counts(correct, predicted, support),
            }
        };
        (0..self.tags.len()).map(score).collect()
    }

    /// Micro, macro and weighted averages. All 0 if nothing was counted.
    #[must_use]
    pub fn averages(&self) -> Averages {
        let mut tags = self.per_tag();
        tags.retain(|t| t.support + t.predicted > 0);
        let sum = |f: fn(&TagScore) -> u64| tags.iter().map(f).sum::<u64>();
        Averages {
            micro: Prf::from_counts(sum(|t| t.correct), sum(|t| t.predicted), sum(|t| t.support)),
            macro_avg: mean_of(&tags, |_| 1.0),
            weighted: mean_of(&tags, |t| t.support as f64),
        }
    }

    /// Returns at most `most` confusions (gold, predicted, words), most frequent first; correct words are
    /// omitted.
    #[must_use]
    pub fn worst(&self, most: usize) -> Vec<(&str, &str, u64)> {
        let mut cells: Vec<(usize, usize, u64)> = Vec::new();
        for (g, row) in self.counts.iter().enumerate() {
            let wrong = row.iter().enumerate().filter(|&(p, &n)| p != g && n > 0);
            cells.extend(wrong.map(|(p, &n)| (g, p, n)));
        }
        // The sort is stable: ties stay in the order of the tags.
        cells.sort_by_key(|&(_, _, n)| std::cmp::Reverse(n));
        cells.truncate(most);
        cells.into_iter().map(|(g, p, n)| (self.tags[g].as_str(), self.tags[p].as_str(), n)).collect()
    }
}

fn mean_of(tags: &[TagScore], weight: fn(&TagScore) -> f64) -> Prf {
    let total: f64 = tags.iter().map(weight).sum();
    let mean = |f: fn(&Prf) -> f64| {
        let sum: f64 = tags.iter().map(|t| weight(t) * f(&t.prf)).sum();
        if total == 0.0 { 0.0 } else { sum / total }
    };
    Prf { precision: mean(|s| s.precision), recall: mean(|s| s.recall), f1: mean(|s| s.f1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_and_spurious_words_lower_recall_and_precision() {
        let mut m = Confusion::new(["A", "B", "C"]);
        m.add(Some(0), Some(0));
        m.add(Some(0), Some(1));
        m.add_outcome(WordOutcome::truncated(Some(0)));
        m.add_outcome(WordOutcome::tagged(None, 1));
        m.add_outcome(WordOutcome::vanished(None));
        assert_eq!((m.words(), m.correct()), (5, 1));
        let tags = m.per_tag();
        assert_eq!((tags[0].support, tags[0].predicted), (3, 1));
        assert_eq!(tags[0].prf, Prf::from_counts(1, 1, 3));
        assert_eq!((tags[1].support, tags[1].predicted), (0, 2));
        assert_eq!(m.worst(9), vec![("A", "B", 1)]);
        // C never occurs, so no average includes it.
        assert_eq!(m.averages().macro_avg.f1, tags[0].prf.f1 / 2.0);
    }

    #[test]
    fn names_become_sorted_tags() {
        let m = Confusion::from_pairs([("b", "a"), ("b", "b"), ("c", "b")]);
        assert_eq!(m.tags, ["a", "b", "c"]);
        assert_eq!(m.counts, [[0, 0, 0], [1, 1, 0], [0, 1, 0]]);
    }
}
