//! Cells that differ in nothing but their seed, with the numbers that several topics need.

use frostline_record::{Load, Score, Timing};
use frostline_score::{MeanStd, ShareInterval};
use serde::Serialize;

use crate::study::cells::{BASELINE, CellResult, CellView, Done, distinct, value_of_each};
use crate::study::epochs::{self, EpochStats};
use crate::study::forecast::StepForecast;
use crate::study::hardware::Hardware;
use crate::study::place::{Placed, placed};
use crate::study::stages::{self, StageStats, score_value};

placed!(struct CellGroup);

impl CellGroup {
    /// Whether the plan names the group's policy so.
    pub fn has_name(&self, policy: &str) -> bool {
        self.policy == policy || self.other_names.iter().any(|name| name == policy)
    }

    /// Whether a cell is one of the group's.
    pub fn holds(&self, view: &CellView) -> bool {
        self.place() == view.place()
    }

    /// Its scores on a split.
    pub fn on(&self, split: &str) -> Option<&SplitStats> {
        if split == "dev" { self.dev.as_ref() } else { self.test.as_ref() }
    }

    /// All names of the policy: `first-3 = first-50%`.
    pub fn names(&self) -> String {
        self.all_names().collect::<Vec<_>>().join(" = ")
    }

    /// The policy's name, then its other names.
    pub fn all_names(&self) -> impl Iterator<Item = &str> {
        [&self.policy].into_iter().chain(&self.other_names).map(String::as_str)
    }

    /// Whether its cells have several stages, which may freeze different parts.
    pub fn is_staged(&self) -> bool {
        self.stages.len() > 1
    }

    /// Whether everything was frozen from start to end, the heads too.
    pub fn learns_nothing(&self) -> bool {
        let in_all = self.stages.iter().all(|stage| stage.trainable_parameters == 0);
        in_all && self.parameters.as_ref().is_some_and(|parameters| parameters.trainable == 0)
    }

    /// How many of its cells ran while the machine was busy with other work: `2 of 3`; nothing if none is known to have.
    pub fn busy_words(&self) -> Option<String> {
        (self.busy > 0).then(|| format!("{} of {}", self.busy, self.watched))
    }

    /// How much learns, if this is the same from start to end; cells of several stages have it stage by stage.
    pub fn plain_parameters(&self) -> Option<&ParameterCounts> {
        self.parameters.as_ref().filter(|_| !self.is_staged())
    }
}

/// Cells that differ only in their seed, in numbers. Accuracies and shares are in [0, 1].
#[derive(Clone, Debug)]
pub(crate) struct CellGroup {
    pub lang: String,
    pub policy: String,
    /// Other names of the policy in the plan, which freeze the same parameters of this encoder.
    pub other_names: Vec<String>,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    pub seeds_planned: usize,
    pub seeds_done: usize,
    pub seeds_failed: usize,
    pub parameters: Option<ParameterCounts>,
    pub forecast: Option<StepForecast>,
    /// Optimiser steps of a cell.
    pub steps: Option<u64>,
    pub dev: Option<SplitStats>,
    pub test: Option<SplitStats>,
    /// The score on dev minus the baseline's, paired by seed.
    pub dev_gain: Option<MeanStd>,
    /// If all of its cells ran on the same hardware.
    pub times: Option<GroupTimes>,
    /// Times by hardware, in the cells' order.
    pub times_by: Vec<(Hardware, GroupTimes)>,
    /// Cells of which it is known how busy the machine was, and how many of them ran while it was busy with other work.
    pub watched: usize,
    pub busy: usize,
    pub epochs: Vec<EpochStats>,
    /// Task by task; empty if a cell is one stage of one task that tags words.
    pub stages: Vec<StageStats>,
}

/// How much learns; the same for all seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ParameterCounts {
    pub total: u64,
    pub trainable: u64,
    pub trainable_share: f64,
    pub saving: f64,
}

/// Scores on one split over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SplitStats {
    /// Words in the split.
    pub words: u64,
    pub accuracy: MeanStd,
    /// What the task is scored by: the F1 of entities, or else accuracy.
    #[serde(skip)]
    pub score: MeanStd,
    /// 95 % Wilson interval of the mean accuracy at this number of words; absent for another score.
    pub accuracy_interval: Option<ShareInterval>,
    pub study_accuracy: MeanStd,
    pub loss_nats: MeanStd,
    /// Every seed's accuracy over all words, in the cells' order.
    pub seeds: Vec<f64>,
}

/// Times and speeds over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GroupTimes {
    pub load_s: MeanStd,
    /// Computing a constant prefix, finding it or waiting for it; part of no training time.
    pub prefix_s: MeanStd,
    pub train_s: MeanStd,
    pub eval_s: MeanStd,
    pub total_s: MeanStd,
    pub step_ms_median: MeanStd,
    /// What a mean step was predicted to take, over the cells for which it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_step_ms: Option<MeanStd>,
    pub samples_per_s: MeanStd,
    pub steps_per_s: MeanStd,
    pub tokens_per_s: MeanStd,
    pub peak_rss_mib_max: f64,
}

/// Groups by language, then in the order of the plan.
pub(crate) fn groups(cells: &[CellView]) -> Vec<CellGroup> {
    let langs = distinct(cells.iter().map(|view| view.place().lang));
    let mut places = distinct(cells.iter().map(Placed::place));
    places.sort_by_key(|place| langs.iter().position(|lang| *lang == place.lang));
    let members = |place| cells.iter().filter(|view| view.place() == place).collect::<Vec<_>>();
    places.into_iter().map(|place| summarize_group(&members(place), cells)).collect()
}

fn summarize_group(members: &[&CellView], all: &[CellView]) -> CellGroup {
    let done: Vec<&Done> = members.iter().filter_map(|view| view.done()).collect();
    let settings = &members[0].cell.settings;
    let failed = members.iter().filter(|view| matches!(view.state, CellResult::Failed { .. })).count();
    let times_by = times_by(&done);
    let loads: Vec<Load> = done.iter().filter_map(|done| done.timing.as_ref()?.load).collect();
    CellGroup {
        lang: settings.lang.to_string(),
        policy: settings.policy.to_string(),
        other_names: Vec::new(),
        extras: members[0].extras.clone(),
        seeds_planned: members.len(),
        seeds_done: done.len(),
        seeds_failed: failed,
        parameters: done.first().map(|done| count_parameters(done)),
        forecast: StepForecast::of(&done),
        steps: done.first().map(|done| done.result.steps),
        dev: summarize_split(&done, "dev"),
        test: summarize_split(&done, "test"),
        dev_gain: MeanStd::of(&gains_on_dev(members, all)),
        times: times_of_one_machine(&times_by),
        times_by,
        watched: loads.len(),
        busy: loads.iter().filter(|load| load.is_busy()).count(),
        epochs: epochs::summarize_epochs(&done),
        stages: stages::summarize_stages(members),
    }
}

/// Scores on dev minus the baseline's, of each member whose seed has a baseline.
fn gains_on_dev(members: &[&CellView], all: &[CellView]) -> Vec<f64> {
    let score = |done: &Done| done.score("dev").map(score_value);
    let gain = |view: &&CellView| Some(score(view.done()?)? - score(baseline_of(view, all)?)?);
    members.iter().filter_map(gain).collect()
}

/// The finished cell that differs only in freezing nothing.
fn baseline_of<'a>(view: &CellView, all: &'a [CellView]) -> Option<&'a Done> {
    all.iter()
        .filter(|other| other.cell.settings.policy == BASELINE && other.is_twin_of(view))
        .find_map(CellView::done)
}

fn count_parameters(done: &Done) -> ParameterCounts {
    let accounts = done.result.accounts();
    let share = if accounts.total == 0 { 0.0 } else { accounts.trainable as f64 / accounts.total as f64 };
    ParameterCounts {
        total: accounts.total,
        trainable: accounts.trainable,
        trainable_share: share,
        saving: 1.0 - share,
    }
}

fn summarize_split(done: &[&Done], name: &str) -> Option<SplitStats> {
    let scores: Vec<&Score> = done.iter().filter_map(|done| done.score(name)).collect();
    let words = scores.first()?.words;
    let seeds = value_of_each(&scores, |score| score.accuracy());
    let accuracy = MeanStd::of(&seeds)?;
    let is_accuracy = scores.iter().all(|score| score.entities.is_none());
    Some(SplitStats {
        words,
        accuracy,
        score: MeanStd::of(&value_of_each(&scores, score_value))?,
        accuracy_interval: ShareInterval::of(accuracy.mean, words).filter(|_| is_accuracy),
        study_accuracy: MeanStd::of(&value_of_each(&scores, |score| score.study_accuracy()))?,
        loss_nats: MeanStd::of(&value_of_each(&scores, |score| score.loss_nats))?,
        seeds,
    })
}

fn times_by(done: &[&Done]) -> Vec<(Hardware, GroupTimes)> {
    let machine = |done: &Done| done.timing.as_ref().map(|_| Hardware::of(&done.made_by));
    let machines = distinct(done.iter().filter_map(|done| machine(done)));
    let of = |hardware: Hardware| {
        let here = done.iter().filter(|done| machine(done).as_ref() == Some(&hardware));
        let timings: Vec<&Timing> = here.filter_map(|done| done.timing.as_ref()).collect();
        summarize_times(&timings).map(|times| (hardware, times))
    };
    machines.into_iter().filter_map(of).collect()
}

/// The times of the only hardware.
fn times_of_one_machine(times_by: &[(Hardware, GroupTimes)]) -> Option<GroupTimes> {
    match times_by {
        [(_, times)] => Some(times.clone()),
        _ => None,
    }
}

fn summarize_times(timings: &[&Timing]) -> Option<GroupTimes> {
    let stat = |get: fn(&Timing) -> f64| MeanStd::of(&value_of_each(timings, get));
    let seconds = |get: fn(&Timing) -> f64| stat(get).map(|stat| stat.times(1e-3));
    let predicted: Vec<f64> = timings.iter().filter_map(|timing| timing.predicted_step_ms).collect();
    Some(GroupTimes {
        load_s: seconds(|t| t.load_ms)?,
        prefix_s: seconds(|t| t.prefix.fill_ms)?,
        train_s: seconds(|t| t.train_ms)?,
        eval_s: seconds(|t| t.eval_ms)?,
        total_s: seconds(|t| t.total_ms)?,
        step_ms_median: stat(|t| t.step_ms_median)?,
        predicted_step_ms: MeanStd::of(&predicted),
        samples_per_s: stat(|t| t.samples_per_s)?,
        steps_per_s: stat(|t| t.steps_per_s)?,
        tokens_per_s: stat(|t| t.tokens_per_s)?,
        peak_rss_mib_max: timings.iter().map(|t| t.peak_rss_mib).fold(0.0, f64::max),
    })
}
