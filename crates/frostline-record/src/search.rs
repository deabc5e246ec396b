//! Words in a plan for a search over sets of blocks.

use frostline_freeze::Policy;

/// The words for many sets of blocks in a plan.
const ALL_SETS: [&str; 2] = [Policy::SUBSETS, Policy::GREEDY];

/// Returns whether a policy may come of a search over sets of blocks that is among these.
pub(crate) fn may_come<T: AsRef<str>>(name: &str, all: &[T]) -> bool {
    let is_set = ["none", "all"].contains(&name) || name.strip_prefix("blocks-").is_some_and(are_blocks);
    is_set && all.iter().any(|other| stands_for_sets(other.as_ref()))
}

/// Returns whether these are numbers of blocks as a search names them: joined by dots, each once, the lowest
/// first.
fn are_blocks(name: &str) -> bool {
    let numbers: Option<Vec<usize>> = name.split('.').map(|number| number.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.is_sorted_by(|a, b| a < b))
}

/// Returns whether this word means a search over sets of blocks.
pub(crate) fn stands_for_sets(name: &str) -> bool {
    ALL_SETS.contains(&name)
}
