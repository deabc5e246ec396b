//! The policies `subsets` and `greedy` of a grid: all sets of frozen blocks, or a greedy search that freezes one
//! more block in each round.

use std::collections::{BTreeMap, BTreeSet};

use frostline_freeze::Policy;
use frostline_record::{Cell, Plan, Record};
use toml::Value;

use crate::fault::{Blame as _, CommandResult};
use crate::units::count_noun;

/// A greedy search. Each round tries every block that is not frozen yet together with those that are, and freezes
/// the one with the highest dev accuracy (a mean over the grid) permanently.
#[derive(Debug)]
pub(crate) struct SetSearch {
    depth: usize,
    /// The permanently frozen blocks, in ascending order.
    frozen: Vec<usize>,
}

/// Whether a plan has `subsets` or `greedy` among its policies.
pub(crate) fn asks_for_sets(plan: &Plan) -> bool {
    let policies = plan.grid.get("policy").map_or(&[][..], Vec::as_slice);
    policies.iter().any(|value| matches!(value.as_str(), Some(Policy::SUBSETS | Policy::GREEDY)))
}

/// Replaces `subsets` and `greedy` among the plan's policies by sets of blocks: all sets, or those of the first
/// round. `depths` are the numbers of blocks of its encoders.
pub(crate) fn expand_sets(plan: &mut Plan, depths: &BTreeSet<usize>) -> CommandResult<Option<SetSearch>> {
    let policies = plan.grid.get("policy").cloned().unwrap_or_default();
    let is = |word: &&str| policies.iter().any(|value| value.as_str() == Some(word));
    let words: Vec<&str> = [Policy::SUBSETS, Policy::GREEDY].into_iter().filter(is).collect();
    let Some(word) = words.first() else { return Ok(None) };
    let &depth = match Vec::from_iter(depths).as_slice() {
        [depth] => *depth,
        _ => {
            let depths: Vec<String> = depths.iter().map(ToString::to_string).collect();
            let error = anyhow::anyhow!(
                "`{word}` needs encoders of one depth, but the plan's have {} blocks; run them as separate plans",
                depths.join(" and ")
            );
            return Err(error).blame_plan();
        }
    };
    if words.contains(&Policy::SUBSETS) {
        replace_word(plan, Policy::SUBSETS, Policy::subsets(depth).blame_plan()?);
    }
    Ok(words.contains(&Policy::GREEDY).then(|| {
        let search = SetSearch { depth, frozen: Vec::new() };
        let none = Policy::of_blocks(&[], depth);
        replace_word(
            plan,
            Policy::GREEDY,
            std::iter::once(none).chain(search.round_candidates().into_keys()),
        );
        search
    }))
}

/// Inserts policies that the plan does not have yet, in place of `word` or at the end.
fn replace_word(plan: &mut Plan, word: &str, names: impl IntoIterator<Item = String>) {
    let all = plan.grid.entry("policy".into()).or_default();
    let place = all.iter().position(|value| value.as_str() == Some(word));
    all.retain(|value| value.as_str() != Some(word));
    let names: Vec<Value> = names.into_iter().map(Value::from).filter(|name| !all.contains(name)).collect();
    let place = place.unwrap_or(all.len());
    all.splice(place..place, names);
}

impl SetSearch {
    /// Returns this round's policies, each with the block that it adds.
    fn round_candidates(&self) -> BTreeMap<String, usize> {
        let tried = (0..self.depth).filter(|block| !self.frozen.contains(block));
        tried.map(|block| (Policy::of_blocks(&self.with_block(block), self.depth), block)).collect()
    }

    fn with_block(&self, block: usize) -> Vec<usize> {
        let mut set = self.frozen.clone();
        set.push(block);
        set.sort_unstable();
        set
    }

    /// Returns the number of sets in the whole search.
    pub(crate) fn count_sets(&self) -> usize {
        1 + self.depth * (self.depth + 1) / 2
    }

    /// Returns whether a round follows the current one.
    pub(crate) fn has_next_round(&self) -> bool {
        self.frozen.len() + 1 < self.depth
    }

    /// Freezes the best block of this round permanently and adds the policies of the next round to the plan. Returns
    /// false if the search is complete, or cannot continue because a cell of this round has no result.
    pub(crate) fn next_round(
        &mut self,
        plan: &mut Plan,
        named: &[(&Policy, &Cell)],
        record: impl Fn(&Cell) -> Option<Record>,
    ) -> bool {
        let candidates = self.round_candidates();
        let mut found: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (policy, cell) in named {
            let Some(block) = candidates.get(policy.as_str()) else { continue };
            let Some(accuracy) = record(cell).as_ref().and_then(dev_accuracy) else {
                say!("greedy    stops here: {} has no result", cell.title());
                return false;
            };
            found.entry(*block).or_default().push(accuracy);
        }
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        // Among equal blocks, the one nearest the input.
        let best =
            found.iter().rev().map(|(block, all)| (*block, mean(all))).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((block, accuracy)) = best else { return false };
        self.frozen = self.with_block(block);
        say!(
            "greedy    {} tried; freezing block {block} is best, dev {:.2} %; frozen: {}",
            count_noun(found.len(), "block"),
            accuracy * 100.0,
            self.frozen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        );
        let next = self.round_candidates();
        let more = !next.is_empty();
        replace_word(plan, Policy::GREEDY, next.into_keys());
        more
    }
}

/// The dev accuracy of the headline task at the end of a cell.
fn dev_accuracy(record: &Record) -> Option<f64> {
    let result = record.result.as_ref()?;
    Some(result.stages.last()?.tasks.get(&result.headline)?.scores.get("dev")?.accuracy())
}
