//! What a run reads of a split: its examples, and the cached output of the encoder's constant prefix
//! where there is one.

use crate::Dataset;

/// A dataset, and the output of the encoder's constant prefix for it where that is cached.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The examples.
    pub data: &'a Dataset,
    /// What goes into the block above the prefix.
    pub prefix: Option<Prefix<'a>>,
}

impl<'a> From<&'a Dataset> for View<'a> {
    fn from(data: &'a Dataset) -> Self {
        Self { data, prefix: None }
    }
}

/// The hidden states above a constant prefix.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<'a> {
    /// Blocks of the prefix.
    pub blocks: usize,
    /// H.
    pub hidden: usize,
    /// \\[subwords of the dataset, H\\], in the order of its sentences.
    pub rows: &'a [f32],
    /// The first row of each sentence, see [`Dataset::starts`].
    pub starts: &'a [usize],
}

impl Prefix<'_> {
    /// The rows of some sentences, one after the other.
    pub(crate) fn gather(&self, data: &Dataset, sentences: &[usize]) -> Vec<f32> {
        let hidden = self.hidden;
        let mut out = Vec::new();
        for &sentence in sentences {
            let first = self.starts[sentence] * hidden;
            out.extend_from_slice(&self.rows[first..][..data.examples[sentence].ids.len() * hidden]);
        }
        out
    }
}
