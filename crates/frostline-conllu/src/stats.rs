//! Counts of the sentences, words, ranges and empty nodes of a text. Sentences with faults count too.

use crate::sentence::Sentence;

/// Counts of sentences and rows. Add sentences to it one after another.
///
/// # Units
/// Numbers of sentences and of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Stats {
    /// Sentences with at least one row.
    pub sentences: u64,
    /// Syntactic words: rows whose ID is an integer.
    pub words: u64,
    /// Multiword ranges.
    pub ranges: u64,
    /// Empty nodes.
    pub empty_nodes: u64,
}

impl Stats {
    /// Adds a sentence to the counts.
    pub fn add(&mut self, sentence: &Sentence<'_>) {
        self.sentences += u64::from(!sentence.is_empty());
        self.words += sentence.words().count() as u64;
        self.ranges += sentence.ranges().count() as u64;
        self.empty_nodes += sentence.empty_nodes().count() as u64;
    }
}

impl<'s, 'a: 's> FromIterator<&'s Sentence<'a>> for Stats {
    fn from_iter<I: IntoIterator<Item = &'s Sentence<'a>>>(sentences: I) -> Self {
        let mut stats = Stats::default();
        sentences.into_iter().for_each(|sentence| stats.add(sentence));
        stats
    }
}
