//! The blocks of an encoder as policies see them: how many there are, and which of them attend to a window alone.

use std::collections::BTreeSet;

/// The blocks of an encoder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    depth: usize,
    local: BTreeSet<usize>,
}

impl Blocks {
    /// Returns this many blocks, of which these attend to a window around each subword alone.
    ///
    /// # Panics
    /// If a local block does not exist.
    #[must_use]
    pub fn new(depth: usize, local: impl IntoIterator<Item = usize>) -> Self {
        let local: BTreeSet<usize> = local.into_iter().collect();
        assert!(local.iter().all(|block| *block < depth), "local blocks {local:?} of {depth}");
        Self { depth, local }
    }

    /// Returns the number of blocks.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the blocks that attend to a window, or those that attend to the whole sentence; `None` if all blocks are of
    /// one kind.
    pub(crate) fn of_kind(&self, local: bool) -> Option<Vec<usize>> {
        let both = !self.local.is_empty() && self.local.len() < self.depth;
        both.then(|| (0..self.depth).filter(|block| self.local.contains(block) == local).collect())
    }
}

impl From<usize> for Blocks {
    /// Returns this many blocks of one kind.
    fn from(depth: usize) -> Self {
        Self { depth, local: BTreeSet::new() }
    }
}
