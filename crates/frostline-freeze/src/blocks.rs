//! The blocks of an encoder as policies see them: how many there are, which of them attend to a window alone, which have the same
//! weights, and their order by scores.

use std::collections::{BTreeMap, BTreeSet};

use crate::BlockScore;

/// The blocks of an encoder from the highest score to the lowest, by score.
pub type BlockOrders = BTreeMap<BlockScore, Vec<usize>>;

/// Returns the first block with the weights of a block, if `span` blocks use the weights of `cycle` blocks.
pub(crate) fn owner([span, cycle]: [usize; 2], block: usize) -> usize {
    let (span, cycle) = (span.max(1), cycle.max(1));
    block / span * span + block % span % cycle
}

/// The blocks of an encoder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    depth: usize,
    local: BTreeSet<usize>,
    /// For each block the first one with its weights; empty if each has weights of its own.
    owners: Vec<usize>,
    orders: BlockOrders,
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
        Self { depth, local, owners: Vec::new(), orders: BTreeMap::new() }
    }

    /// Returns these blocks with shared weights: each `span` blocks one after the other use a group of weights, which has the weights
    /// of `cycle` blocks. With 1 and 1, each block has weights of its own.
    #[must_use]
    pub fn with_sharing(self, [span, cycle]: [usize; 2]) -> Self {
        let owners: Vec<usize> = (0..self.depth).map(|block| owner([span, cycle], block)).collect();
        let is_shared = owners.iter().enumerate().any(|(block, owner)| block != *owner);
        Self { owners: if is_shared { owners } else { Vec::new() }, ..self }
    }

    /// Returns whether some blocks have the same weights.
    #[must_use]
    pub fn share_weights(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Returns the blocks in sets that have the same weights, if some do.
    pub(crate) fn sets_of_weights(&self) -> Vec<Vec<usize>> {
        let mut sets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (block, owner) in self.owners.iter().enumerate() {
            sets.entry(*owner).or_default().push(block);
        }
        sets.into_values().collect()
    }

    /// Returns these blocks with their order by scores, which policies such as `fisher-3` need.
    #[must_use]
    pub fn with_orders(self, orders: BlockOrders) -> Self {
        Self { orders, ..self }
    }

    /// Returns these blocks with some order by every score, to check policies before scores are known.
    #[must_use]
    pub fn in_any_order(self) -> Self {
        let order: Vec<usize> = (0..self.depth).collect();
        let orders = BlockScore::ALL.into_iter().map(|score| (score, order.clone())).collect();
        self.with_orders(orders)
    }

    /// Returns the blocks from the highest score to the lowest; `None` if the order is not known.
    ///
    /// # Errors
    /// If the known order is not one of all blocks.
    pub(crate) fn by_score(&self, score: BlockScore) -> Result<Option<&[usize]>, String> {
        let Some(order) = self.orders.get(&score) else { return Ok(None) };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        match sorted.into_iter().eq(0..self.depth) {
            true => Ok(Some(order)),
            false => Err(format!("{order:?} is no order of {} blocks", self.depth)),
        }
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
        Self { depth, local: BTreeSet::new(), owners: Vec::new(), orders: BTreeMap::new() }
    }
}
