//! The outcome of every word, and the two accuracies computed from it.
//!
//! Defines which word counts in which accuracy. The unit is the word, not the subword.

use serde::{Deserialize, Serialize};

/// A tagger's prediction for one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prediction {
    /// The tag with this index.
    Tag(usize),
    /// None: the word was cut off at the end of a truncated sentence.
    Truncated,
    /// None: the tokenizer produced no subword for the word.
    Vanished,
}

/// One word: its gold tag and its prediction.
///
/// `gold` is `None` if the gold tag never occurs in training, so that it has no index and no prediction can be
/// correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WordOutcome {
    /// Index of the gold tag among the tags of the training data.
    pub gold: Option<usize>,
    /// The tagger's prediction.
    pub predicted: Prediction,
}

impl WordOutcome {
    /// Returns a word that was tagged.
    #[must_use]
    pub const fn tagged(gold: Option<usize>, predicted: usize) -> Self {
        Self { gold, predicted: Prediction::Tag(predicted) }
    }

    /// Returns a word lost to truncation.
    #[must_use]
    pub const fn truncated(gold: Option<usize>) -> Self {
        Self { gold, predicted: Prediction::Truncated }
    }

    /// Returns a word without any subword.
    #[must_use]
    pub const fn vanished(gold: Option<usize>) -> Self {
        Self { gold, predicted: Prediction::Vanished }
    }

    /// Returns whether the tagger's tag is the gold tag.
    #[must_use]
    pub const fn is_correct(&self) -> bool {
        matches!((self.gold, self.predicted), (Some(g), Prediction::Tag(p)) if g == p)
    }
}

/// Counts of [`WordOutcome`]s; they add up over sentences, batches and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tally {
    /// All words.
    pub words: u64,
    /// Words that were tagged: `words - truncated - vanished`.
    pub scored: u64,
    /// Words tagged with their gold tag.
    pub correct: u64,
    /// Words lost to truncation.
    pub truncated: u64,
    /// Words without any subword.
    pub vanished: u64,
    /// Words whose gold tag never occurs in training, tagged or not.
    pub unseen: u64,
    /// Number of the `unseen` words that were tagged, necessarily wrongly.
    pub unseen_scored: u64,
}

impl Tally {
    /// Counts one word.
    pub fn add(&mut self, word: WordOutcome) {
        self.words += 1;
        self.unseen += u64::from(word.gold.is_none());
        match word.predicted {
            Prediction::Tag(_) => {
                self.scored += 1;
                self.unseen_scored += u64::from(word.gold.is_none());
                self.correct += u64::from(word.is_correct());
            }
            Prediction::Truncated => self.truncated += 1,
            Prediction::Vanished => self.vanished += 1,
        }
    }

    /// Adds the counts of `other`.
    pub const fn merge(&mut self, other: &Self) {
        self.words += other.words;
        self.scored += other.scored;
        self.correct += other.correct;
        self.truncated += other.truncated;
        self.vanished += other.vanished;
        self.unseen += other.unseen;
        self.unseen_scored += other.unseen_scored;
    }

    /// Returns the headline accuracy: correct words over *all* words.
    ///
    /// Words lost to truncation, words without subwords and words with a tag unseen in training count
    /// as wrong. NaN if there is no word.
    #[must_use]
    pub fn accuracy_all_words(&self) -> f64 {
        self.correct as f64 / self.words as f64
    }

    /// Returns the original study's accuracy: correct words over the positions that have a label.
    ///
    /// A word without a position, and a word whose gold tag is unseen in training (label -100 in
    /// Hugging Face), is not counted. NaN if no position has a label.
    #[must_use]
    pub fn accuracy_labelled(&self) -> f64 {
        self.correct as f64 / self.labelled() as f64
    }

    /// Returns the number of positions that have a label: the denominator of [`Tally::accuracy_labelled`].
    #[must_use]
    pub const fn labelled(&self) -> u64 {
        self.scored - self.unseen_scored
    }
}

impl Extend<WordOutcome> for Tally {
    fn extend<I: IntoIterator<Item = WordOutcome>>(&mut self, words: I) {
        words.into_iter().for_each(|word| self.add(word));
    }
}

impl FromIterator<WordOutcome> for Tally {
    fn from_iter<I: IntoIterator<Item = WordOutcome>>(words: I) -> Self {
        let mut tally = Self::default();
        tally.extend(words);
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_counts_where_it_should() {
        let tally: Tally = [
            WordOutcome::tagged(Some(0), 0),
            WordOutcome::tagged(Some(1), 0),
            WordOutcome::tagged(None, 0),
            WordOutcome::truncated(Some(1)),
            WordOutcome::truncated(None),
            WordOutcome::vanished(Some(0)),
        ]
        .into_iter()
        .collect();
        let expected =
            Tally { words: 6, scored: 3, correct: 1, truncated: 2, vanished: 1, unseen: 2, unseen_scored: 1 };
        assert_eq!(tally, expected);
        assert_eq!(tally.accuracy_all_words(), 1.0 / 6.0);
        assert_eq!(tally.accuracy_labelled(), 0.5);
        let mut twice = tally;
        twice.merge(&tally);
        assert_eq!((twice.words, twice.unseen_scored), (12, 2));
        assert_eq!(twice.accuracy_all_words(), tally.accuracy_all_words());
    }

    #[test]
    fn the_accuracy_of_no_words_is_nan() {
        assert!(Tally::default().accuracy_all_words().is_nan());
        assert!(Tally::default().accuracy_labelled().is_nan());
    }
}
