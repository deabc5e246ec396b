//! The most-frequent-tag baseline: each word gets its most frequent tag in training.
//!
//! Words are compared as they are spelled: to ignore case, lowercase both the training and the
//! evaluation words.

use std::collections::{BTreeMap, HashMap};

/// The most frequent tag of every training word, and the most frequent tag for all other words.
///
/// A tie goes to the tag that is more frequent over all training words, and then to the smaller
/// tag, so the result does not depend on the order of the training data.
#[derive(Clone, Debug)]
pub struct MostFrequentTag<T> {
    words: HashMap<String, T>,
    majority: Option<T>,
}

impl<T: Ord + Clone> MostFrequentTag<T> {
    /// Counts the `(word, tag)` pairs of the training data.
    pub fn fit<W: AsRef<str>>(pairs: impl IntoIterator<Item = (W, T)>) -> Self {
        let mut overall: BTreeMap<T, u64> = BTreeMap::new();
        let mut by_word: HashMap<String, BTreeMap<T, u64>> = HashMap::new();
        for (word, tag) in pairs {
            *overall.entry(tag.clone()).or_default() += 1;
            let word = word.as_ref();
            if !by_word.contains_key(word) {
                by_word.insert(word.to_owned(), BTreeMap::new());
            }
            if let Some(tags) = by_word.get_mut(word) {
                *tags.entry(tag).or_default() += 1;
            }
        }
        let words = by_word
            .into_iter()
            .filter_map(|(word, tags)| Some((word, most_frequent(&tags, &overall)?)))
            .collect();
        let majority = most_frequent(&overall, &overall);
        Self { words, majority }
    }

    /// Returns the tag of `word`, or the majority tag for an unseen word; `None` only without any training
    /// data.
    #[must_use]
    pub fn predict(&self, word: &str) -> Option<&T> {
        self.words.get(word).or(self.majority.as_ref())
    }

    /// Returns the most frequent tag over all training words.
    #[must_use]
    pub const fn majority(&self) -> Option<&T> {
        self.majority.as_ref()
    }

    /// Returns whether `word` occurs in the training data.
    #[must_use]
    pub fn contains(&self, word: &str) -> bool {
        self.words.contains_key(word)
    }
}

fn most_frequent<T: Ord + Clone>(tags: &BTreeMap<T, u64>, overall: &BTreeMap<T, u64>) -> Option<T> {
    let rank = |tag: &T, count: u64| (count, overall.get(tag).copied());
    let mut best: Option<(&T, u64)> = None;
    // With ascending tags and a strict comparison, the smaller tag wins a full tie.
    for (tag, &count) in tags {
        if best.is_none_or(|(held, most)| rank(tag, count) > rank(held, most)) {
            best = Some((tag, count));
        }
    }
    best.map(|(tag, _)| tag.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seen_words_get_their_tag_and_unseen_words_the_majority_tag() {
        let train = [
            ("fly", "VERB"),
            ("fly", "NOUN"),
            ("fly", "NOUN"),
            ("go", "VERB"),
            ("run", "VERB"),
            ("run", "NOUN"),
            ("see", "VERB"),
            ("see", "VERB"),
        ];
        let forward = MostFrequentTag::fit(train);
        let backward = MostFrequentTag::fit(train.into_iter().rev());
        for model in [forward, backward] {
            assert_eq!(model.predict("fly"), Some(&"NOUN"));
            assert_eq!(model.predict("run"), Some(&"VERB"), "the more frequent tag");
            assert_eq!(model.predict("xyzzy"), Some(&"VERB"));
            assert!(model.contains("go") && !model.contains("xyzzy"));
        }
    }

    #[test]
    fn a_full_tie_goes_to_the_smaller_tag_and_an_empty_model_predicts_none() {
        let tied = MostFrequentTag::fit([("a", 2), ("a", 1)]);
        assert_eq!(tied.predict("a"), Some(&1));
        assert_eq!(tied.majority(), Some(&1));
        let empty = MostFrequentTag::<usize>::fit(Vec::<(&str, usize)>::new());
        assert_eq!(empty.predict("a"), None);
    }
}
