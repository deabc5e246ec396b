//! Whether scores of blocks before training tell what freezing costs: their rank correlation with what each block's freezing cost,
//! and what is lost by choosing blocks by them.

use std::collections::{BTreeMap, BTreeSet};

use frostline_record::{BlockScore, Policy, rank_blocks};
use frostline_score::rank::{chance_correlation, rank_correlation};
use frostline_score::shapley::shapley;
use frostline_score::{MeanInterval, MeanStd};
use serde::Serialize;

use super::worth::{accuracy, frozen_set};
use crate::study::{CellView, Study};

/// A way to choose the blocks that learn, against all sets of as many blocks. Losses are in shares of 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct BlockChoice {
    pub lang: String,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    /// The name of a score, or of a rule that needs none.
    pub chosen_by: &'static str,
    /// Spearman's correlation of the score with what freezing each block cost.
    pub rank_correlation: Option<MeanInterval>,
    /// Dev accuracy lost by the chosen set compared with the best set of the same size, averaged over all sizes.
    pub regret: Option<MeanStd>,
    /// The same for half of the blocks.
    pub regret_of_half: Option<MeanStd>,
    /// Whether what freezing a block cost is its Shapley value, or else the loss with it alone frozen.
    pub over_all_sets: bool,
    pub blocks: usize,
    pub seeds: usize,
}

impl BlockChoice {
    /// The correlation that one in twenty random orders reaches.
    pub fn chance(&self) -> Option<f64> {
        chance_correlation(self.blocks)
    }
}

/// The cells of one seed, by the set of blocks that they froze.
type SeedCells<'a> = BTreeMap<usize, &'a CellView>;

/// The sets of blocks of a language under one combination of further axes.
struct SetGrid<'a> {
    blocks: usize,
    /// Whether each seed has every set, or else only each block alone and none.
    over_all_sets: bool,
    seeds: Vec<SeedCells<'a>>,
}

/// The choices of each language and combination of further axes for which the sweep has scores.
pub(super) fn block_choices(study: &Study) -> Vec<BlockChoice> {
    let places =
        study.langs().into_iter().flat_map(|lang| study.extras().into_iter().map(move |e| (lang, e)));
    places.flat_map(|(lang, extras)| choices_of(study, lang, extras)).collect()
}

fn choices_of(study: &Study, lang: &str, extras: &[String]) -> Vec<BlockChoice> {
    let Some(grid) = SetGrid::of(study, lang, extras) else { return Vec::new() };
    let scores: Vec<BTreeMap<BlockScore, Vec<f64>>> =
        grid.seeds.iter().map(|cells| scores_of_seed(study, cells, grid.blocks)).collect();
    let names: BTreeSet<BlockScore> = scores.iter().flat_map(|scores| scores.keys().copied()).collect();
    let named =
        |score: &BlockScore| scores.iter().map(|all| all.get(score).cloned()).collect::<Option<Vec<_>>>();
    let scored: Vec<(BlockScore, Vec<Vec<f64>>)> =
        names.into_iter().filter_map(|score| Some((score, named(&score)?))).collect();
    if scored.is_empty() {
        return Vec::new();
    }
    let losses = grid.losses();
    let choice = |chosen_by, rank_correlation, [regret, regret_of_half]: [Option<MeanStd>; 2]| BlockChoice {
        lang: lang.into(),
        extras: extras.to_vec(),
        chosen_by,
        rank_correlation,
        regret,
        regret_of_half,
        over_all_sets: grid.over_all_sets,
        blocks: grid.blocks,
        seeds: grid.seeds.len(),
    };
    let by_score = |(score, values): &(BlockScore, Vec<Vec<f64>>)| {
        let each = values.iter().zip(&losses).map(|(values, losses)| rank_correlation(values, losses));
        let each: Option<Vec<f64>> = each.collect();
        let correlation = each.and_then(|each| MeanInterval::of(&each)).map(|mean| MeanInterval {
            interval: mean.interval.map(|ends| ends.map(|end| end.clamp(-1.0, 1.0))),
            ..mean
        });
        let orders: Vec<Vec<usize>> = values.iter().map(|values| rank_blocks(values)).collect();
        let frozen = |seed: usize, size: usize| Some(as_set(orders[seed].iter().rev().take(size)));
        choice(score.name(), correlation, grid.regrets(|seed, size| grid.accuracy(seed, frozen(seed, size)?)))
    };
    let mut all: Vec<BlockChoice> = scored.iter().map(by_score).collect();
    let lowest = |seed: usize, size: usize| grid.accuracy(seed, (1 << size) - 1);
    all.push(choice("the lowest blocks frozen", None, grid.regrets(lowest)));
    let every_other = every_other_block(grid.blocks);
    let alternating = |seed: usize, size: usize| {
        grid.accuracy(seed, every_other).filter(|_| every_other.count_ones() as usize == size)
    };
    all.push(choice("every other block frozen", None, grid.regrets(alternating)));
    all.push(choice("at random", None, grid.regrets(|seed, size| grid.mean_accuracy(seed, size))));
    // Without every set there is no best one to compare with.
    all.retain(|one| one.rank_correlation.is_some() || one.regret.is_some() || one.regret_of_half.is_some());
    all
}

/// The scores that the sweep has for a seed, each with a value for each block.
fn scores_of_seed(study: &Study, cells: &SeedCells<'_>, blocks: usize) -> BTreeMap<BlockScore, Vec<f64>> {
    let id = cells.get(&0).map(|view| view.cell.id.as_str());
    let found = study.sweep.block_scores.iter().find(|scores| Some(scores.cell.as_str()) == id);
    let mut scores = found.map(|found| found.scores.clone()).unwrap_or_default();
    scores.retain(|_, values| values.len() == blocks);
    scores
}

fn as_set<'a>(blocks: impl Iterator<Item = &'a usize>) -> usize {
    blocks.fold(0, |set, block| set | 1 << block)
}

/// The blocks that the policy `alternating` freezes: the lowest one, and every other one above it.
fn every_other_block(blocks: usize) -> usize {
    (0..blocks).step_by(2).fold(0, |set, block| set | 1 << block)
}

impl<'a> SetGrid<'a> {
    /// The seeds that have every set of blocks; if none has, those that have each block alone.
    fn of(study: &'a Study, lang: &str, extras: &[String]) -> Option<Self> {
        let mut seeds: BTreeMap<u64, SeedCells<'a>> = BTreeMap::new();
        let mut blocks = 0;
        let cells =
            study.cells.iter().filter(|view| view.cell.settings.lang == lang && view.extras == extras);
        for view in cells {
            let Some((depth, set)) = view.done().and_then(|done| frozen_set(&done.result)) else { continue };
            blocks = blocks.max(depth);
            seeds.entry(view.cell.settings.seed).or_default().entry(set).or_insert(view);
        }
        let all: Vec<SeedCells<'a>> = seeds.into_values().collect();
        let with = |wanted: &[usize]| -> Vec<SeedCells<'a>> {
            all.iter().filter(|cells| wanted.iter().all(|set| cells.contains_key(set))).cloned().collect()
        };
        let alone: Vec<usize> = std::iter::once(0).chain((0..blocks).map(|block| 1 << block)).collect();
        let is_small = (2..=Policy::MOST_SUBSET_BLOCKS).contains(&blocks);
        let whole = if is_small { with(&Vec::from_iter(0..1 << blocks)) } else { Vec::new() };
        if !whole.is_empty() {
            return Some(Self { blocks, over_all_sets: true, seeds: whole });
        }
        let seeds = with(&alone);
        (blocks > 1 && !seeds.is_empty()).then_some(Self { blocks, over_all_sets: false, seeds })
    }

    fn accuracy(&self, seed: usize, set: usize) -> Option<f64> {
        Some(accuracy(self.seeds[seed].get(&set)?))
    }

    /// What freezing each block cost, seed by seed.
    fn losses(&self) -> Vec<Vec<f64>> {
        let of_seed = |cells: &SeedCells<'_>| {
            let lost = |set: usize| accuracy(cells[&0]) - accuracy(cells[&set]);
            if self.over_all_sets {
                shapley(&(0..1 << self.blocks).map(lost).collect::<Vec<_>>())
            } else {
                (0..self.blocks).map(|block| lost(1 << block)).collect()
            }
        };
        self.seeds.iter().map(of_seed).collect()
    }

    /// The sets of one size.
    fn sets_of(&self, size: usize) -> impl Iterator<Item = usize> {
        (0..1_usize << self.blocks).filter(move |set| set.count_ones() as usize == size)
    }

    /// The mean accuracy of all sets of a size.
    fn mean_accuracy(&self, seed: usize, size: usize) -> Option<f64> {
        let all: Option<Vec<f64>> = self.sets_of(size).map(|set| self.accuracy(seed, set)).collect();
        all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// The accuracy of the set of a size that is best in the mean over seeds, for each seed.
    fn best(&self, size: usize) -> Option<Vec<f64>> {
        let of_set =
            |set| (0..self.seeds.len()).map(|seed| self.accuracy(seed, set)).collect::<Option<Vec<f64>>>();
        let sum = |values: &Vec<f64>| values.iter().sum::<f64>();
        self.sets_of(size).filter_map(of_set).max_by(|a, b| sum(a).total_cmp(&sum(b)))
    }

    /// What the choice of a set loses, which has this accuracy for a seed and a number of frozen blocks: in the mean over all
    /// sizes, and for half of the blocks. Nothing unless every set was run.
    fn regrets(&self, chosen: impl Fn(usize, usize) -> Option<f64>) -> [Option<MeanStd>; 2] {
        if !self.over_all_sets {
            return [None, None];
        }
        let lost = |sizes: std::ops::Range<usize>| {
            let count = sizes.len() as f64;
            let mut sums = vec![0.0; self.seeds.len()];
            for size in sizes {
                let best = self.best(size)?;
                for (seed, sum) in sums.iter_mut().enumerate() {
                    *sum += (best[seed] - chosen(seed, size)?) / count;
                }
            }
            MeanStd::of(&sums)
        };
        // As many as `alternating` freezes.
        let half = self.blocks.div_ceil(2);
        [lost(1..self.blocks), lost(half..half + 1)]
    }
}
