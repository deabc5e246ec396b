//! The worth of each block if a grid froze every set of blocks: what freezing it costs, with the error of that.
//! What was frozen follows from the accounts of parameters, not from policies' names. A seed that lacks a set is
//! left out.

use std::collections::BTreeMap;

use frostline_record::{Accounts, Outcome, Unit};
use frostline_score::shapley::{cluster_error, coefficient, effects, shapley};
use frostline_score::{MeanInterval, MeanStd};
use serde::Serialize;

use crate::study::prediction_file::check_bytes;
use crate::study::predictions::is_right_label;
use crate::study::tagged::{Expected, Tagged};
use crate::study::{CellView, StoredPredictions, Study, distinct};

/// Half the width of a normal distribution's 95 % interval, in standard errors.
const NORMAL: f64 = 1.959_964;

/// All sets of blocks in a language under one combination of further axes.
#[derive(Clone, Debug)]
pub(super) struct Lattice<'a> {
    pub lang: String,
    pub extras: Vec<String>,
    pub blocks: usize,
    /// Cells by set, for each seed that has all of them.
    seeds: Vec<Vec<&'a CellView>>,
}

/// Standard errors of a lattice's Shapley values from the sentences of dev, by language and further axes; or
/// why there are none.
pub(super) type SentenceErrors = BTreeMap<(String, Vec<String>), Result<Vec<f64>, String>>;

/// What freezing a block costs. Losses are in shares of 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct BlockWorth {
    pub lang: String,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    pub block: usize,
    /// The Shapley value of the loss in accuracy on dev, a mean over seeds.
    pub shapley_loss: f64,
    pub standard_error: Option<f64>,
    /// 95 % interval of the loss.
    pub interval: Option<[f64; 2]>,
    /// What the error is over: `seeds` or `sentences`.
    pub error_over: Option<&'static str>,
    /// The mean loss with the block frozen minus that with it free: the effect in a linear model.
    pub regression_loss: f64,
    pub regression_error: Option<f64>,
    pub seeds: usize,
}

impl Lattice<'_> {
    /// Accuracy of a set on dev, over seeds.
    pub fn accuracy(&self, set: usize) -> Option<MeanStd> {
        MeanStd::of(&self.seeds.iter().map(|cells| accuracy(cells[set])).collect::<Vec<_>>())
    }

    /// How many sets there are.
    pub fn sets(&self) -> usize {
        1 << self.blocks
    }

    /// How many seeds have all of them.
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// What freezing each set costs, seed by seed.
    fn games(&self) -> Vec<Vec<f64>> {
        let game = |cells: &Vec<&CellView>| {
            let free = accuracy(cells[0]);
            cells.iter().map(|view| free - accuracy(view)).collect()
        };
        self.seeds.iter().map(game).collect()
    }

    /// The worth of each block, from the lowest.
    pub fn worths(&self, from_sentences: &SentenceErrors) -> Vec<BlockWorth> {
        let games = self.games();
        let by_seed: Vec<Vec<f64>> = games.iter().map(|game| shapley(game)).collect();
        let linear = effects(&games);
        let sampled = from_sentences.get(&(self.lang.clone(), self.extras.clone()));
        let sampled = sampled.and_then(|errors| errors.as_ref().ok());
        (0..self.blocks)
            .map(|block| {
                let values: Vec<f64> = by_seed.iter().map(|values| values[block]).collect();
                let over_seeds = MeanInterval::of(&values).zip(MeanStd::of(&values));
                let (mean, stat) = over_seeds.expect("a lattice has a seed");
                let of_seeds = stat.std.map(|std| std / (values.len() as f64).sqrt());
                let sampled = sampled.filter(|_| of_seeds.is_none()).map(|errors| errors[block]);
                let around = |error: f64| [mean.mean - NORMAL * error, mean.mean + NORMAL * error];
                BlockWorth {
                    lang: self.lang.clone(),
                    extras: self.extras.clone(),
                    block,
                    shapley_loss: mean.mean,
                    standard_error: of_seeds.or(sampled),
                    interval: mean.interval.or(sampled.map(around)),
                    error_over: of_seeds.map(|_| "seeds").or(sampled.map(|_| "sentences")),
                    regression_loss: linear[block].value,
                    regression_error: linear[block].error,
                    seeds: values.len(),
                }
            })
            .collect()
    }
}

/// A cell's accuracy on dev.
pub(super) fn accuracy(view: &CellView) -> f64 {
    view.done().and_then(|done| done.score("dev")).map_or(0.0, |dev| dev.accuracy())
}

/// Every language and combination of further axes of which some seed has all sets of blocks.
pub(super) fn find_lattices(study: &Study) -> Vec<Lattice<'_>> {
    let places =
        study.langs().into_iter().flat_map(|lang| study.extras().into_iter().map(move |e| (lang, e)));
    places.filter_map(|(lang, extras)| find_lattice(study, lang, extras)).collect()
}

fn find_lattice<'a>(study: &'a Study, lang: &str, extras: &[String]) -> Option<Lattice<'a>> {
    let mut found: BTreeMap<(u64, usize, usize), &CellView> = BTreeMap::new();
    let cells = study.cells.iter().filter(|view| view.cell.settings.lang == lang && view.extras == extras);
    for view in cells {
        let Some((blocks, set)) = view.done().and_then(|done| frozen_set(&done.result)) else { continue };
        found.entry((view.cell.settings.seed, blocks, set)).or_insert(view);
    }
    let blocks = found.keys().map(|(_, blocks, _)| *blocks).max()?;
    let seeds = distinct(found.keys().map(|(seed, ..)| *seed)).into_iter();
    let seeds = seeds.filter_map(|seed| {
        (0..1_usize << blocks).map(|set| found.get(&(seed, blocks, set)).copied()).collect::<Option<Vec<_>>>()
    });
    let seeds: Vec<Vec<&CellView>> = seeds.collect();
    (!seeds.is_empty()).then(|| Lattice { lang: lang.into(), extras: extras.to_vec(), blocks, seeds })
}

/// The best of the sets of frozen blocks that were run, of one number of blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct BestSet {
    pub lang: String,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    /// The blocks, counted from the input.
    pub frozen: Vec<usize>,
    /// Accuracy on dev over seeds.
    pub accuracy: MeanStd,
    /// How many sets of this many blocks were run.
    pub of: usize,
}

/// For each number of frozen blocks the best set of those that were run, if some were run of every number
/// and several of one.
pub(super) fn best_sets(study: &Study) -> Vec<BestSet> {
    let places =
        study.langs().into_iter().flat_map(|lang| study.extras().into_iter().map(move |e| (lang, e)));
    places.flat_map(|(lang, extras)| best_of(study, lang, extras)).collect()
}

fn best_of(study: &Study, lang: &str, extras: &[String]) -> Vec<BestSet> {
    let mut depth = 0;
    let mut sets: BTreeMap<usize, MeanStd> = BTreeMap::new();
    for group in study.groups_of(lang).filter(|group| group.extras == extras) {
        let done = study.members(group).find_map(CellView::done);
        let Some((blocks, set)) = done.and_then(|done| frozen_set(&done.result)) else { continue };
        let Some(dev) = &group.dev else { continue };
        depth = depth.max(blocks);
        sets.entry(set).or_insert(dev.accuracy);
    }
    let of_size = |size: usize| sets.iter().filter(move |(set, _)| set.count_ones() as usize == size);
    let best = |size: usize| {
        // Among equals the one nearest the input.
        let (&set, accuracy) = of_size(size).rev().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))?;
        Some(BestSet {
            lang: lang.into(),
            extras: extras.to_vec(),
            frozen: (0..depth).filter(|block| set >> block & 1 == 1).collect(),
            accuracy: *accuracy,
            of: of_size(size).count(),
        })
    };
    let all: Option<Vec<BestSet>> = (0..=depth).map(best).collect();
    all.filter(|all| all.iter().any(|best| best.of > 1)).unwrap_or_default()
}

/// How many blocks there are and which of them were frozen, if that is all that was: embeddings and head
/// learned, each block did so wholly or not at all, and there was one stage.
pub(super) fn frozen_set(result: &Outcome) -> Option<(usize, usize)> {
    let [stage] = result.stages.as_slice() else { return None };
    stage.tasks.get(&result.headline)?.scores.get("dev")?;
    frozen_blocks(&stage.accounts)
}

fn frozen_blocks(accounts: &Accounts) -> Option<(usize, usize)> {
    let (mut blocks, mut set) = (0, 0);
    for row in &accounts.groups {
        let learns = row.trainable == row.total;
        match row.group.strip_prefix("block ").map(str::parse::<usize>) {
            Some(Ok(block)) if block < usize::BITS as usize - 1 && (learns || row.trainable == 0) => {
                blocks = blocks.max(block + 1);
                set |= usize::from(!learns) << block;
            }
            None if learns => {}
            _ => return None,
        }
    }
    (blocks > 0).then_some((blocks, set))
}

/// For lattices of one seed: the error that the sentences of dev give, from the stored predictions.
pub(super) fn sentence_errors(study: &Study, stored: &mut StoredPredictions<'_>) -> SentenceErrors {
    let alone =
        find_lattices(study).into_iter().filter(|lattice| stored.can_read() && lattice.seeds.len() == 1);
    let alone: Vec<Lattice<'_>> = alone.collect();
    let errors = alone.into_iter().map(|lattice| {
        let errors = errors_of(&lattice, stored);
        ((lattice.lang, lattice.extras), errors)
    });
    errors.collect()
}

fn errors_of(lattice: &Lattice<'_>, stored: &mut StoredPredictions<'_>) -> Result<Vec<f64>, String> {
    let mut sizes: Vec<f64> = Vec::new();
    let mut parts: Vec<Vec<f64>> = Vec::new();
    for (set, view) in lattice.seeds[0].iter().enumerate() {
        let file = view.done().and_then(|done| done.result.predictions().get("dev"));
        let file = file.ok_or_else(|| format!("{} stored none", view.cell.title()))?;
        let place = || format!("{}/{}", view.cell.folder(), file.file);
        let text = stored.text(&view.cell, file).ok_or_else(|| format!("{}: it is not there", place()))?;
        let text = check_bytes(text, file).map_err(|why| format!("{}: {why}", place()))?;
        let (counts, right) = by_sentence(&text, view).map_err(|why| format!("{}: {why}", place()))?;
        if set == 0 {
            parts = vec![vec![0.0; counts.len()]; lattice.blocks];
            sizes = counts;
        } else if counts != sizes {
            return Err(format!("{}: the other cells have other sentences", place()));
        }
        for (block, parts) in parts.iter_mut().enumerate() {
            let weight = -coefficient(block, lattice.blocks, set);
            parts.iter_mut().zip(&right).for_each(|(part, right)| *part += weight * right);
        }
    }
    let errors = parts.iter().map(|parts| cluster_error(parts, &sizes)).collect::<Option<_>>();
    errors.ok_or_else(|| "dev has a single sentence".into())
}

/// Words and right ones of each sentence of a cell's predictions for dev.
fn by_sentence(text: &str, view: &CellView) -> Result<(Vec<f64>, Vec<f64>), String> {
    let done = view.done().ok_or("the cell has no result")?;
    let score = done.score("dev").ok_or("its record has no score of dev")?;
    let facts = done.result.facts();
    if facts.unit == Unit::Sentences {
        let right: Vec<f64> =
            text.lines().skip(1).map(|line| f64::from(u8::from(is_right_label(line, &facts.tags)))).collect();
        if (right.len() as u64, right.iter().sum::<f64>() as u64) != (score.words, score.correct) {
            return Err("it has other counts than its record".into());
        }
        return Ok((vec![1.0; right.len()], right));
    }
    let (_, text, predictions) = Tagged::one(text, &facts.tags, Expected::of(score, facts, "dev"))?;
    let is_right = |at: &usize| predictions.predicted[*at] == Some(text.words[*at].gold);
    let sentences = || text.ranges().map(|(_, words)| words);
    Ok((
        sentences().map(|words| words.len() as f64).collect(),
        sentences().map(|words| words.filter(is_right).count() as f64).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use frostline_record::AccountRow;

    use super::*;

    #[test]
    fn what_was_frozen_follows_from_the_accounts() {
        let accounts = |rows: &[(&str, u64, u64)]| Accounts {
            groups: rows
                .iter()
                .map(|&(group, total, trainable)| AccountRow { group: group.into(), total, trainable })
                .collect(),
            ..Accounts::default()
        };
        let of = |rows: &[(&str, u64, u64)]| frozen_blocks(&accounts(rows));
        let around = |blocks: &[(&'static str, u64, u64)]| {
            let mut rows = vec![("embeddings", 9, 9)];
            rows.extend(blocks);
            rows.push(("head", 3, 3));
            of(&rows)
        };
        assert_eq!(around(&[("block 0", 5, 5), ("block 1", 5, 0), ("block 2", 5, 0)]), Some((3, 0b110)));
        assert_eq!(around(&[("block 0", 5, 5), ("block 1", 5, 5)]), Some((2, 0)));
        assert_eq!(around(&[("block 0", 5, 2)]), None, "a part of a block");
        assert_eq!(of(&[("embeddings", 9, 0), ("block 0", 5, 5)]), None, "frozen embeddings");
        assert_eq!(of(&[("head", 9, 9)]), None, "no blocks");
    }
}
