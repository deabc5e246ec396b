//! Sets of frozen blocks that a grid asks for by a word: all of them, or a greedy search that freezes one
//! block more at a time.

use std::collections::{BTreeMap, BTreeSet};

use frostline_freeze::Policy;
use frostline_record::{Cell, Record};
use toml::Value;

use crate::fault::{Blame as _, Result};
use crate::sweep::study::Study;
use crate::units::counted;

/// A greedy search: in each round every block that is not frozen yet is tried beside those that are, and the one
/// with the highest dev accuracy, a mean over the grid, is frozen for good.
#[derive(Debug)]
pub(crate) struct Search {
    depth: usize,
    /// The blocks frozen for good, in ascending order.
    frozen: Vec<usize>,
}

impl Search {
    /// This round's policies, each with the block that it tries.
    fn candidates(&self) -> BTreeMap<String, usize> {
        let tried = (0..self.depth).filter(|block| !self.frozen.contains(block));
        tried.map(|block| (Policy::of_blocks(&self.with(block), self.depth), block)).collect()
    }

    fn with(&self, block: usize) -> Vec<usize> {
        let mut set = self.frozen.clone();
        set.push(block);
        set.sort_unstable();
        set
    }

    /// How many sets the whole search runs.
    pub(crate) fn sets(&self) -> usize {
        1 + self.depth * (self.depth + 1) / 2
    }
}

impl Study {
    /// Puts sets of blocks in the place of the words `subsets` and `greedy` among the grid's policies: all of
    /// them, or those of the first round. `depths` are the blocks of the study's encoders.
    pub(crate) fn name_sets(&mut self, depths: &BTreeSet<usize>) -> Result<()> {
        let words: Vec<&str> =
            [Policy::SUBSETS, Policy::GREEDY].into_iter().filter(|word| self.asks_for(word)).collect();
        let Some(word) = words.first() else { return Ok(()) };
        let &depth = match Vec::from_iter(depths).as_slice() {
            [depth] => *depth,
            _ => {
                let depths: Vec<String> = depths.iter().map(ToString::to_string).collect();
                let error = anyhow::anyhow!(
                    "`{word}` needs encoders of one depth, but the plan's have {} blocks; run them as plans of their \
                     own",
                    depths.join(" and ")
                );
                return Err(error).plan();
            }
        };
        for word in words {
            if word == Policy::SUBSETS {
                self.replace(word, Policy::subsets(depth).plan()?)?;
            } else {
                let search = Search { depth, frozen: Vec::new() };
                let none = Policy::of_blocks(&[], depth);
                self.replace(word, std::iter::once(none).chain(search.candidates().into_keys()))?;
                self.search = Some(search);
            }
        }
        Ok(())
    }

    fn asks_for(&self, word: &str) -> bool {
        let policies = self.plan.grid.get("policy").into_iter().flatten();
        policies.into_iter().any(|value| value.as_str() == Some(word))
    }

    /// Puts policies in the place of a word among the grid's, or at its end, those that it has not yet.
    fn replace(&mut self, word: &str, names: impl IntoIterator<Item = String>) -> Result<()> {
        let policies = &self.plan.grid["policy"];
        let place = policies.iter().position(|value| value.as_str() == Some(word));
        let mut all: Vec<Value> =
            policies.iter().filter(|value| value.as_str() != Some(word)).cloned().collect();
        let names: Vec<Value> =
            names.into_iter().map(Value::from).filter(|name| !all.contains(name)).collect();
        let place = place.unwrap_or(all.len()).min(all.len());
        all.splice(place..place, names);
        self.plan.grid.insert("policy".into(), all);
        self.settings = self.plan.expand().plan()?;
        Ok(())
    }

    /// Freezes the best block of this round for good and adds the policies of the next one; false where the
    /// search is over, or cannot go on because a cell of this round has no result.
    pub(crate) fn search_on(
        &mut self,
        cells: &[Cell],
        record: impl Fn(&Cell) -> Option<Record>,
    ) -> Result<bool> {
        let Some(search) = &mut self.search else { return Ok(false) };
        let candidates = search.candidates();
        let mut found: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for cell in cells {
            let Some(block) = candidates.get(&cell.settings.policy) else { continue };
            let Some(accuracy) = record(cell).as_ref().and_then(dev_accuracy) else {
                println!("greedy    stops here: {} has no result", cell.title());
                return Ok(false);
            };
            found.entry(*block).or_default().push(accuracy);
        }
        let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
        // Of equals the one nearest the input.
        let best =
            found.iter().rev().map(|(block, all)| (*block, mean(all))).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((block, accuracy)) = best else { return Ok(false) };
        search.frozen = search.with(block);
        println!(
            "greedy    {} tried; freezing block {block} is best, dev {:.2} %; frozen: {}",
            counted(found.len(), "block"),
            accuracy * 100.0,
            search.frozen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        );
        let next = search.candidates();
        if next.is_empty() {
            return Ok(false);
        }
        self.replace(Policy::GREEDY, next.into_keys())?;
        Ok(true)
    }
}

/// The headline's dev accuracy at the end of a cell.
fn dev_accuracy(record: &Record) -> Option<f64> {
    let result = record.result.as_ref()?;
    Some(result.stages.last()?.tasks.get(&result.headline)?.scores.get("dev")?.accuracy())
}
