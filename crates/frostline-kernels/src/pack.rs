//! Packed batches: sentences concatenated in one matrix, without padding.

use std::sync::Arc;

use frostline_random::mix64;

/// The identity of every row of a packed matrix, so that a row's dropout mask depends only on its
/// sentence and position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows(Arc<[u64]>);

impl Rows {
    /// Rows with these identities.
    #[must_use]
    pub fn new(identities: Vec<u64>) -> Self {
        Self(identities.into())
    }

    /// The identities.
    #[must_use]
    pub fn identities(&self) -> &[u64] {
        &self.0
    }

    /// The identities of some of the rows.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        Self(rows.iter().map(|&row| self.0[row as usize]).collect())
    }
}

/// Where each sentence of a packed matrix begins and ends.
#[derive(Clone, Debug)]
pub struct Pack {
    offsets: Arc<[usize]>,
    rows: Rows,
}

impl Pack {
    /// Sentences of these lengths, in this order; `sentences` has a number for each that identifies it
    /// in its dataset, independent of the batch.
    ///
    /// # Panics
    /// If the two differ in length or a sentence is empty.
    #[must_use]
    pub fn new(lengths: &[usize], sentences: &[u64]) -> Self {
        assert_eq!(lengths.len(), sentences.len(), "one number per sentence");
        let mut offsets = vec![0];
        let mut identities = Vec::with_capacity(lengths.iter().sum());
        for (&length, &sentence) in lengths.iter().zip(sentences) {
            assert!(length > 0, "sentence {sentence} has no subword");
            let key = mix64(sentence ^ 0x5E17_E4CE_0000_0000);
            identities.extend((0..length as u64).map(|position| mix64(key ^ position)));
            offsets.push(identities.len());
        }
        Self { offsets: offsets.into(), rows: Rows::new(identities) }
    }

    /// The number of rows, N.
    #[must_use]
    pub fn len(&self) -> usize {
        *self.offsets.last().expect("there is always a first offset")
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of sentences, B.
    #[must_use]
    pub fn sentences(&self) -> usize {
        self.offsets.len() - 1
    }

    /// First row of each sentence, and one past the last row; B + 1 numbers.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The length of the longest sentence, L.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    }

    /// The rows' identities.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }
}
