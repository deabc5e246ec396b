//! Owns the way from records to groups: cells that differ in nothing but their seed, in numbers.
//!
//! Refuses to mix: groups differ in language, policy or any further axis of the grid.

use std::collections::{BTreeMap, BTreeSet};

use frostline_record::{Cell, MadeBy, Outcome, Precision, PrefixState, Record, Score, Sweep, Timing};
use serde::Serialize;

use crate::epoch::{self, CurvePoint, EpochStats};
use crate::paired::Paired;
use crate::prefix::PrefixStats;
use crate::stages::{self, StageStats};
use frostline_score::{MeanStd, ShareInterval};

/// The policy that freezes nothing: what the others are compared with.
pub(crate) const BASELINE: &str = "none";

/// A cell and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct CellView {
    pub cell: Cell,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    pub state: State,
}

/// What became of a cell.
#[derive(Clone, Debug)]
pub(crate) enum State {
    Done(Box<Done>),
    Failed { error: String, made_by: MadeBy },
    Missing,
}

/// A cell that has a result.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub result: Outcome,
    pub timing: Option<Timing>,
    pub made_by: MadeBy,
}

impl CellView {
    fn new(cell: &Cell, axes: &[String], record: Option<&Record>) -> Self {
        let settings = serde_json::to_value(&cell.settings).unwrap_or_default();
        Self {
            cell: cell.clone(),
            extras: axes.iter().map(|axis| setting(&settings, axis)).collect(),
            state: record.map_or(State::Missing, State::of),
        }
    }

    pub fn done(&self) -> Option<&Done> {
        match &self.state {
            State::Done(done) => Some(done),
            _ => None,
        }
    }

    pub fn made_by(&self) -> Option<&MadeBy> {
        match &self.state {
            State::Done(done) => Some(&done.made_by),
            State::Failed { made_by, .. } => Some(made_by),
            State::Missing => None,
        }
    }

    /// What its linear layers were computed in, which is not always what was asked for.
    pub fn computed_in(&self) -> Option<Precision> {
        self.made_by().map(|by| by.computes_in(self.cell.settings.train.precision))
    }

    /// Whether both differ in nothing but what is frozen.
    pub fn is_twin_of(&self, other: &Self) -> bool {
        self.cell.settings.lang == other.cell.settings.lang
            && self.cell.settings.seed == other.cell.settings.seed
            && self.extras == other.extras
    }
}

impl State {
    fn of(record: &Record) -> Self {
        match (&record.result, &record.error) {
            (Some(result), None) => Self::Done(Box::new(Done {
                result: result.clone(),
                timing: record.timing.clone(),
                made_by: record.made_by.clone(),
            })),
            (_, error) => Self::Failed {
                error: error
                    .clone()
                    .unwrap_or_else(|| "the record holds neither a result nor an error".into()),
                made_by: record.made_by.clone(),
            },
        }
    }

    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed { .. } => "failed",
            Self::Missing => "missing",
        }
    }
}

impl Group {
    /// Whether a cell is one of these.
    pub fn holds(&self, view: &CellView) -> bool {
        let settings = &view.cell.settings;
        settings.lang == self.lang && settings.policy == self.policy && view.extras == self.extras
    }
}

impl Done {
    /// The selected epoch's score on a split.
    pub fn score(&self, split: &str) -> Option<&Score> {
        self.result.scores().get(split)
    }
}

/// Cells that differ only in their seed, in numbers. Accuracies, shares and savings are in [0, 1].
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Group {
    pub lang: String,
    pub policy: String,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    pub seeds_planned: usize,
    pub seeds_done: usize,
    pub seeds_failed: usize,
    pub parameters: Option<Parameters>,
    /// Optimiser steps of a cell.
    pub steps: Option<u64>,
    pub dev: Option<SplitStats>,
    pub test: Option<SplitStats>,
    /// Dev accuracy over all words minus the baseline's, paired by seed.
    pub dev_accuracy_gain: Option<MeanStd>,
    /// Share of the baseline's training time that is saved, paired by seed.
    pub train_time_saving: Option<MeanStd>,
    pub cost: Option<CostStats>,
    pub times: Option<Times>,
    pub prefix: Option<PrefixStats>,
    pub epochs: Vec<EpochStats>,
    pub train_loss: Vec<CurvePoint>,
    /// Task by task; empty where a cell is one stage of one task that tags words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageStats>,
}

/// How much learns; the same for all seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Parameters {
    pub total: u64,
    pub trainable: u64,
    pub trainable_share: f64,
    pub saving: f64,
}

/// What a step was predicted to cost, and how that turned out.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CostStats {
    pub gflop_per_step: MeanStd,
    /// How many times as fast as the baseline a step should be.
    pub predicted_speedup: MeanStd,
    /// The baseline's median step time over this one's, paired by seed.
    pub measured_speedup: Option<MeanStd>,
}

/// Scores on one split over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SplitStats {
    /// Words in the split.
    pub words: u64,
    pub accuracy: MeanStd,
    /// 95 % Wilson interval of the mean accuracy at this number of words.
    pub accuracy_interval: Option<ShareInterval>,
    pub study_accuracy: MeanStd,
    pub loss_nats: MeanStd,
    /// Every seed's accuracy over all words, in the cells' order.
    pub seeds: Vec<f64>,
}

/// Times and speeds over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Times {
    pub load_s: MeanStd,
    /// Computing a constant prefix, finding it or waiting for it; part of no training time.
    pub prefix_s: MeanStd,
    pub train_s: MeanStd,
    pub eval_s: MeanStd,
    pub total_s: MeanStd,
    pub step_ms_median: MeanStd,
    pub samples_per_s: MeanStd,
    pub steps_per_s: MeanStd,
    pub tokens_per_s: MeanStd,
    pub peak_rss_mib_max: f64,
}

/// The cells of a sweep in its order with their records, and how many records belong to none.
pub(crate) fn cells(sweep: &Sweep, records: &[Record]) -> (Vec<CellView>, usize) {
    let axes: Vec<String> = sweep.plan.extra_axes().iter().map(|&a| a.into()).collect();
    let by_id: BTreeMap<&str, &Record> =
        records.iter().map(|record| (record.cell.id.as_str(), record)).collect();
    let known: BTreeSet<&str> = sweep.cells.iter().map(|cell| cell.id.as_str()).collect();
    let strays = records.iter().filter(|record| !known.contains(record.cell.id.as_str())).count();
    let cells = sweep
        .cells
        .iter()
        .map(|cell| CellView::new(cell, &axes, by_id.get(cell.id.as_str()).copied()))
        .collect();
    (cells, strays)
}

/// Groups by language, then in the order of the plan.
pub(crate) fn groups(cells: &[CellView]) -> Vec<Group> {
    let langs = distinct(cells.iter().map(|view| view.cell.settings.lang.clone()));
    let keys = distinct(cells.iter().map(|view| {
        let settings = &view.cell.settings;
        (settings.lang.clone(), settings.policy.clone(), view.extras.clone())
    }));
    let mut groups = Vec::new();
    for lang in &langs {
        for (_, policy, extras) in keys.iter().filter(|key| key.0 == *lang) {
            let members: Vec<&CellView> = cells
                .iter()
                .filter(|view| {
                    let settings = &view.cell.settings;
                    settings.lang == *lang && settings.policy == *policy && view.extras == *extras
                })
                .collect();
            groups.push(group(&members, cells));
        }
    }
    groups
}

fn group(members: &[&CellView], all: &[CellView]) -> Group {
    let done: Vec<&Done> = members.iter().filter_map(|view| view.done()).collect();
    let settings = &members[0].cell.settings;
    let failed = members.iter().filter(|view| matches!(view.state, State::Failed { .. })).count();
    let Paired { gains, savings, speedups } = Paired::of(members, all);
    Group {
        lang: settings.lang.clone(),
        policy: settings.policy.clone(),
        extras: members[0].extras.clone(),
        seeds_planned: members.len(),
        seeds_done: done.len(),
        seeds_failed: failed,
        parameters: done.first().map(|done| parameters(done)),
        steps: done.first().map(|done| done.result.steps),
        dev: split(&done, "dev"),
        test: split(&done, "test"),
        dev_accuracy_gain: MeanStd::of(&gains),
        train_time_saving: MeanStd::of(&savings),
        cost: cost(&done, &speedups),
        times: times(&done),
        prefix: PrefixStats::of(&done),
        epochs: epoch::epochs(&done),
        train_loss: epoch::curve(&done),
        stages: stages::of(members),
    }
}

fn cost(done: &[&Done], speedups: &[f64]) -> Option<CostStats> {
    Some(CostStats {
        gflop_per_step: MeanStd::of(&over(done, |done| done.result.cost.gflop_per_step))?,
        predicted_speedup: MeanStd::of(&over(done, predicted_speedup))?,
        measured_speedup: MeanStd::of(speedups),
    })
}

/// What was predicted of a cell's steps as they were computed: with a constant prefix read or not.
fn predicted_speedup(done: &Done) -> f64 {
    let cost = &done.result.cost;
    match done.timing.as_ref().map(|timing| timing.prefix.state) {
        Some(PrefixState::Computed | PrefixState::Shared) => cost.predicted_speedup_cached,
        _ => cost.predicted_speedup,
    }
}

fn parameters(done: &Done) -> Parameters {
    let accounts = done.result.accounts();
    let share = if accounts.total == 0 { 0.0 } else { accounts.trainable as f64 / accounts.total as f64 };
    Parameters {
        total: accounts.total,
        trainable: accounts.trainable,
        trainable_share: share,
        saving: 1.0 - share,
    }
}

fn split(done: &[&Done], name: &str) -> Option<SplitStats> {
    let scores: Vec<&Score> = done.iter().filter_map(|done| done.score(name)).collect();
    let words = scores.first()?.words;
    let seeds = over(&scores, |score| score.accuracy());
    let accuracy = MeanStd::of(&seeds)?;
    Some(SplitStats {
        words,
        accuracy,
        accuracy_interval: ShareInterval::of(accuracy.mean, words),
        study_accuracy: MeanStd::of(&over(&scores, |score| score.study_accuracy()))?,
        loss_nats: MeanStd::of(&over(&scores, |score| score.loss_nats))?,
        seeds,
    })
}

fn times(done: &[&Done]) -> Option<Times> {
    let timings: Vec<&Timing> = done.iter().filter_map(|d| d.timing.as_ref()).collect();
    let stat = |get: fn(&Timing) -> f64| MeanStd::of(&over(&timings, get));
    let seconds = |get: fn(&Timing) -> f64| stat(get).map(|stat| stat.times(1e-3));
    Some(Times {
        load_s: seconds(|t| t.load_ms)?,
        prefix_s: seconds(|t| t.prefix.fill_ms)?,
        train_s: seconds(|t| t.train_ms)?,
        eval_s: seconds(|t| t.eval_ms)?,
        total_s: seconds(|t| t.total_ms)?,
        step_ms_median: stat(|t| t.step_ms_median)?,
        samples_per_s: stat(|t| t.samples_per_s)?,
        steps_per_s: stat(|t| t.steps_per_s)?,
        tokens_per_s: stat(|t| t.tokens_per_s)?,
        peak_rss_mib_max: timings.iter().map(|t| t.peak_rss_mib).fold(0.0, f64::max),
    })
}

pub(crate) fn over<T>(items: &[&T], get: impl Fn(&T) -> f64) -> Vec<f64> {
    items.iter().map(|item| get(item)).collect()
}

/// Each value once, in the order of first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// The setting at a dotted path, as a person writes it: `5e-5`, not `0.00005`.
fn setting(settings: &serde_json::Value, path: &str) -> String {
    let pointer = format!("/{}", path.replace('.', "/"));
    settings.pointer(&pointer).map_or_else(|| "?".into(), shown)
}

/// What an empty text is shown as.
pub(crate) const NOTHING: &str = "\"\"";

/// A setting's value as a person writes it.
pub(crate) fn shown(value: &serde_json::Value) -> String {
    match (value, value.as_f64()) {
        (serde_json::Value::String(text), _) if text.is_empty() => NOTHING.into(),
        (serde_json::Value::String(text), _) => text.clone(),
        (_, Some(small)) if small != 0.0 && small.abs() < 1e-3 => format!("{small:e}"),
        _ => value.to_string(),
    }
}
