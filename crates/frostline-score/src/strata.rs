//! Accuracy by familiarity of the word and by length of the sentence.
//!
//! A word is known, unknown or ambiguous according to the training data. Words are compared as they
//! are spelled: to ignore case, lowercase both the training and the evaluation words.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::tally::{Tally, WordOutcome};

/// How a word occurs in the training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Familiarity {
    /// The word does not occur.
    Unknown,
    /// The word occurs with only one tag.
    Unambiguous,
    /// The word occurs with several tags.
    Ambiguous,
}

impl Familiarity {
    /// All values, unknown words first.
    pub const ALL: [Self; 3] = [Self::Unknown, Self::Unambiguous, Self::Ambiguous];

    /// Returns the name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unambiguous => "unambiguous",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// Returns the value with this name, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The words of the training data and whether each has one tag or several.
#[derive(Clone, Debug, Default)]
pub struct Lexicon {
    /// The word's tag, or `None` if it was seen with several.
    words: HashMap<String, Option<String>>,
}

impl Lexicon {
    /// Returns the lexicon of these (word, tag) pairs.
    pub fn new<W: AsRef<str>, T: AsRef<str>>(pairs: impl IntoIterator<Item = (W, T)>) -> Self {
        let mut words: HashMap<String, Option<String>> = HashMap::new();
        for (word, tag) in pairs {
            let (word, tag) = (word.as_ref(), tag.as_ref());
            match words.get_mut(word) {
                None => {
                    words.insert(word.to_owned(), Some(tag.to_owned()));
                }
                Some(only) if only.as_deref().is_some_and(|held| held != tag) => *only = None,
                Some(_) => {}
            }
        }
        Self { words }
    }

    /// Returns the familiarity of `word`.
    #[must_use]
    pub fn familiarity(&self, word: &str) -> Familiarity {
        match self.words.get(word) {
            None => Familiarity::Unknown,
            Some(None) => Familiarity::Ambiguous,
            Some(Some(_)) => Familiarity::Unambiguous,
        }
    }
}

/// One tally per familiarity; `known` is the sum of `unambiguous` and `ambiguous`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByFamiliarity {
    /// Words of the training data.
    pub known: Tally,
    /// Words that do not occur in training.
    pub unknown: Tally,
    /// Known words with several tags.
    pub ambiguous: Tally,
    /// Known words with one tag.
    pub unambiguous: Tally,
}

impl ByFamiliarity {
    /// Counts one word.
    pub fn add(&mut self, familiarity: Familiarity, word: WordOutcome) {
        match familiarity {
            Familiarity::Unknown => return self.unknown.add(word),
            Familiarity::Ambiguous => self.ambiguous.add(word),
            Familiarity::Unambiguous => self.unambiguous.add(word),
        }
        self.known.add(word);
    }
}

/// One tally per range of sentence lengths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByLength {
    /// The ranges, shortest first; together they cover every length.
    pub buckets: Vec<LengthBucket>,
}

/// The sentences of one range of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LengthBucket {
    /// The fewest words.
    pub min_words: usize,
    /// The most words; `None` if there is no limit.
    pub max_words: Option<usize>,
    /// The number of sentences.
    pub sentences: u64,
    /// The tally of their words.
    pub tally: Tally,
}

impl Default for ByLength {
    /// Up to 10, 20, 30 and 40 words, and longer.
    fn default() -> Self {
        Self::new(&[10, 20, 30, 40])
    }
}

impl ByLength {
    /// Ranges that end at these lengths, and one more without a limit.
    ///
    /// # Panics
    /// If the lengths do not ascend.
    #[must_use]
    pub fn new(last_words: &[usize]) -> Self {
        assert!(last_words.is_sorted_by(|a, b| a < b), "lengths must ascend: {last_words:?}");
        let first = std::iter::once(0).chain(last_words.iter().map(|&last| last + 1));
        let last = last_words.iter().copied().map(Some).chain([None]);
        let bucket = |(min_words, max_words)| LengthBucket {
            min_words,
            max_words,
            sentences: 0,
            tally: Tally::default(),
        };
        Self { buckets: first.zip(last).map(bucket).collect() }
    }

    /// Counts one sentence: one outcome per word.
    pub fn add(&mut self, sentence: &[WordOutcome]) {
        let fits = |b: &&mut LengthBucket| b.max_words.is_none_or(|most| sentence.len() <= most);
        if let Some(bucket) = self.buckets.iter_mut().find(fits) {
            bucket.sentences += 1;
            bucket.tally.extend(sentence.iter().copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_familiarity_has_its_name() {
        for kind in Familiarity::ALL {
            assert_eq!(Familiarity::parse(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).expect("a name"), kind.name(), "JSON has the same name");
        }
        assert_eq!(Familiarity::parse("known"), None);
    }

    #[test]
    fn familiarity_follows_from_the_training_tags() {
        let lexicon = Lexicon::new([
            ("fly", "NOUN"),
            ("fly", "VERB"),
            ("fly", "NOUN"),
            ("sky", "NOUN"),
            ("sky", "NOUN"),
        ]);
        assert_eq!(lexicon.familiarity("fly"), Familiarity::Ambiguous);
        assert_eq!(lexicon.familiarity("sky"), Familiarity::Unambiguous);
        assert_eq!(lexicon.familiarity("Sky"), Familiarity::Unknown);
        let mut by = ByFamiliarity::default();
        for (word, tag) in [("fly", 0), ("sky", 1), ("xyz", 1)] {
            by.add(lexicon.familiarity(word), WordOutcome::tagged(Some(1), tag));
        }
        assert_eq!((by.known.words, by.known.correct), (2, 1));
        assert_eq!((by.unknown.correct, by.ambiguous.correct, by.unambiguous.correct), (1, 0, 1));
    }

    #[test]
    fn every_length_has_its_bucket() {
        let mut by = ByLength::new(&[1, 3]);
        for n in [0, 1, 2, 3, 4, 99] {
            by.add(&vec![WordOutcome::tagged(Some(0), 0); n]);
        }
        let seen: Vec<_> =
            by.buckets.iter().map(|b| (b.min_words, b.max_words, b.sentences, b.tally.words)).collect();
        assert_eq!(seen, [(0, Some(1), 2, 1), (2, Some(3), 2, 5), (4, None, 2, 103)]);
    }
}
