//! Packed batches: sentences concatenated in one matrix, without padding.

use std::ops::Range;
use std::sync::Arc;

use frostline_random::mix64;

use crate::numbers::Shared;
use crate::{Index, Rows};

/// Some rows of a packed matrix.
#[derive(Clone, Debug)]
pub struct Picked {
    /// Their numbers.
    pub rows: Index,
    /// Their identities.
    pub identities: Rows,
}

impl Picked {
    /// The numbers that a device needs, to be transferred with others.
    pub fn shared(&mut self) -> [Shared<'_>; 2] {
        [Shared::Index(&mut self.rows), Shared::Rows(&mut self.identities)]
    }
}

/// Where each sentence of a packed matrix begins and ends.
#[derive(Clone, Debug)]
pub struct Pack {
    offsets: Arc<[usize]>,
    /// The same numbers for kernels.
    pub(crate) boundaries: Index,
    pub(crate) rows: Rows,
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
        let boundaries = offsets.iter().map(|&offset| offset as u32).collect::<Vec<u32>>().into();
        Self { offsets: offsets.into(), boundaries, rows: Rows::new(identities) }
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

    /// The length of each sentence.
    pub fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// The rows of each sentence.
    pub fn sentence_rows(&self) -> impl Iterator<Item = Range<usize>> + Clone + '_ {
        self.offsets.windows(2).map(|pair| pair[0]..pair[1])
    }

    /// The length of the longest sentence, L.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// Some rows, with their identities.
    #[must_use]
    pub fn pick(&self, rows: Vec<u32>) -> Picked {
        Picked { identities: self.rows.select(&rows), rows: rows.into() }
    }

    /// The numbers that a device needs, to be transferred with others.
    pub fn shared(&mut self) -> [Shared<'_>; 2] {
        [Shared::Index(&mut self.boundaries), Shared::Rows(&mut self.rows)]
    }

    /// The rows' identities.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }
}
