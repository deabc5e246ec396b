//! The input of a forward pass.

use frostline_kernels::{Index, Pack, Picked, Shared, share};

use crate::EncoderConfig;

/// A packed batch.
#[derive(Clone, Debug)]
pub struct PackedInput {
    /// The compact row of every subword, N.
    pub(crate) ids: Index,
    /// Row of the position table for each subword, N.
    pub(crate) positions: Index,
    /// The boundaries of the sentences.
    pub(crate) pack: Pack,
    /// The rows of which an output is asked for.
    pub(crate) labels: Picked,
}

impl PackedInput {
    /// Creates the input for sentences of these subwords, given as compact rows. The heads' outputs are
    /// computed at `label_rows`, which are below N. A sentence's first position depends on the encoder's
    /// family.
    ///
    /// # Panics
    /// If there are not as many ids as the pack has rows.
    #[must_use]
    pub fn new(config: &EncoderConfig, pack: Pack, ids: Vec<u32>, label_rows: Vec<u32>) -> Self {
        assert_eq!(ids.len(), pack.len(), "one id for each row of the pack");
        let first = config.first_position as u32;
        let positions = pack.offsets().windows(2).flat_map(|pair| first..first + (pair[1] - pair[0]) as u32);
        let positions = positions.collect::<Vec<u32>>().into();
        let labels = pack.pick(label_rows);
        let mut input = Self { ids: ids.into(), positions, pack, labels };
        share(input.shared());
        input
    }

    /// Returns the sentences.
    #[must_use]
    pub fn pack(&self) -> &Pack {
        &self.pack
    }

    /// Returns the rows of which an output is asked for, M.
    #[must_use]
    pub fn label_rows(&self) -> &Picked {
        &self.labels
    }

    /// Returns the compact row of every subword, N.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Gives each subword another row, for a word table with other rows.
    pub fn renumber(&mut self, to: impl Fn(u32) -> u32) {
        self.ids = self.ids.iter().map(|&row| to(row)).collect::<Vec<u32>>().into();
    }

    /// Returns the numbers that a device needs, to be transferred with others.
    pub fn shared(&mut self) -> impl Iterator<Item = Shared<'_>> {
        let Self { ids, positions, pack, labels } = self;
        let own = [Shared::Index(ids), Shared::Index(positions)];
        own.into_iter().chain(pack.shared()).chain(labels.shared())
    }
}
