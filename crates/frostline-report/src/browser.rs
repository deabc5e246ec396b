//! Sentences with the predictions of cells, for a reader who looks for sentences on which two policies differ. How they are
//! looked through is the renderer's.

/// The sentences of a study's dev splits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Browser {
    /// The names of tags, which everything below counts from 0.
    pub tags: Vec<String>,
    pub texts: Vec<BrowserText>,
    /// How many cells were left out so that the page stays small, of how many.
    pub left_out: [usize; 2],
}

/// The sentences of a split on which at least two of its cells differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrowserText {
    pub title: String,
    /// Whether the forms of words are known: published records have none.
    pub has_words: bool,
    /// All sentences of the split.
    pub total: usize,
    pub sentences: Vec<BrowserSentence>,
    pub cells: Vec<BrowserCell>,
}

/// A sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrowserSentence {
    /// Empty if it has none.
    pub id: String,
    /// Empty if forms are not known.
    pub forms: Vec<String>,
    pub gold: Vec<u16>,
}

/// A cell's predictions that are not the gold tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrowserCell {
    /// The policy, with the values of further axes if there are any.
    pub name: String,
    pub policy: String,
    pub seed: u64,
    /// By place of the word among all words of the sentences, in rising order; nothing if there is no prediction.
    pub wrong: Vec<(usize, Option<u16>)>,
}
