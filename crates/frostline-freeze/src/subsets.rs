//! Policies that freeze a set of blocks and nothing else, for studies over many such sets.

use crate::{Policy, PolicyError};

impl Policy {
    /// The most blocks of which [`Policy::subsets`] names all sets: 256 of them.
    pub const MOST_SUBSET_BLOCKS: usize = 8;

    /// Returns the names of the policies that freeze only a set of blocks, one for each set: `none` first,
    /// `all` last, sets with fewer blocks before sets with more.
    ///
    /// # Errors
    /// If the encoder has more than [`Policy::MOST_SUBSET_BLOCKS`] blocks.
    pub fn subsets(depth: usize) -> Result<Vec<String>, PolicyError> {
        if depth > Self::MOST_SUBSET_BLOCKS {
            let reason = format!(
                "`{}` of {depth} blocks would be 2^{depth} policies; it is for encoders of at most {} blocks; `{}` \
                 searches among them",
                Self::SUBSETS,
                Self::MOST_SUBSET_BLOCKS,
                Self::GREEDY
            );
            return Err(PolicyError::new(reason, Some(depth)));
        }
        let blocks = |set: &usize| (0..depth).filter(|block| set >> block & 1 == 1).collect::<Vec<_>>();
        let mut sets: Vec<Vec<usize>> = (0..1_usize << depth).map(|set| blocks(&set)).collect();
        sets.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        Ok(sets.iter().map(|set| Self::of_blocks(set, depth)).collect())
    }

    /// Returns the name of the policy that freezes these blocks of `depth`, in ascending order, and nothing
    /// else.
    #[must_use]
    pub fn of_blocks(blocks: &[usize], depth: usize) -> String {
        match blocks.len() {
            0 => "none".into(),
            all if all == depth => "all".into(),
            _ => format!("blocks-{}", blocks.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Group, ResolvedPolicy};

    fn frozen_blocks(name: &str, depth: usize) -> Vec<usize> {
        let policy = ResolvedPolicy::parse(name, depth).unwrap();
        (0..depth).filter(|&block| policy.freezes_group(Group::Block(block))).collect()
    }

    #[test]
    fn subsets_are_all_sets_of_blocks_once() {
        let names = Policy::subsets(3).unwrap();
        let expected =
            ["none", "blocks-0", "blocks-1", "blocks-2", "blocks-0.1", "blocks-0.2", "blocks-1.2", "all"];
        assert_eq!(names, expected);
        let sets: BTreeSet<Vec<usize>> =
            Policy::subsets(6).unwrap().iter().map(|name| frozen_blocks(name, 6)).collect();
        assert_eq!(sets.len(), 64);
        let error = Policy::subsets(12).unwrap_err().to_string();
        assert!(error.starts_with("`subsets` of 12 blocks would be 2^12 policies; it is for"), "{error}");
    }
}
