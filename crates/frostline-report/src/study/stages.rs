//! What each stage of a cell came to, task by task, over cells that differ only in their seed. A plain sweep, one
//! stage of one task that tags words, has none: the other numbers show it.

use frostline_record::{EpochRow, Outcome, Score, Settings, StageOutcome, Unit};
use serde::Serialize;

use crate::study::cells::{CellView, Done};
use crate::study::comparison::SplitComparison;
use crate::study::hardware::Hardware;
use frostline_score::{Judged, MeanInterval, MeanStd, ShareInterval};

/// One stage.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StageStats {
    pub name: String,
    /// What was frozen to its end.
    pub policy: String,
    pub total_parameters: u64,
    pub trainable_parameters: u64,
    pub epochs: usize,
    pub steps: u64,
    /// Time of its training steps.
    pub train_s: Option<MeanStd>,
    /// The headline's task first, the others by name.
    pub tasks: Vec<TaskStats>,
}

/// A task at the end of a stage.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TaskStats {
    pub task: String,
    pub unit: Unit,
    pub metric: ScoredBy,
    /// Whether the stage learned from it.
    pub learned: bool,
    pub dev: Option<TaskScores>,
    pub test: Option<TaskScores>,
}

impl TaskStats {
    /// Returns its scores on a split.
    pub fn on(&self, split: &str) -> Option<&TaskScores> {
        if split == "dev" { self.dev.as_ref() } else { self.test.as_ref() }
    }

    /// Returns what the stage changed of its score on a split.
    pub fn change_on(&self, split: &str) -> Option<&StageChange> {
        self.on(split)?.change.as_ref()
    }
}

/// What a task is scored by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScoredBy {
    /// Right words or sentences over all.
    Accuracy,
    /// The F1 of entities, all counting the same.
    EntityF1,
}

impl ScoredBy {
    pub const fn of(score: &Score) -> Self {
        if score.entities.is_some() { Self::EntityF1 } else { Self::Accuracy }
    }

    /// Returns the name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::EntityF1 => "entity F1",
        }
    }
}

/// A score's number by its own metric, in [0, 1].
pub(crate) fn score_value(score: &Score) -> f64 {
    score.entities.map_or_else(|| score.accuracy(), |entities| entities.f1())
}

/// A task's scores on one split.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TaskScores {
    /// Words or sentences in the split.
    pub units: u64,
    pub score: MeanStd,
    /// 95 % Wilson interval of a mean accuracy at this number of words or sentences.
    pub interval: Option<ShareInterval>,
    /// Every seed's score, in the cells' order.
    pub seeds: Vec<f64>,
    /// Against the stage before, each cell with itself.
    pub change: Option<StageChange>,
}

/// A score after a stage compared with the same cell's before it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StageChange {
    /// After minus before.
    pub points: MeanInterval,
    /// The same as a share of the score before.
    pub relative: Option<MeanStd>,
    /// The share of what was wrong before that is gone.
    pub error_reduction: Option<MeanStd>,
    /// Cells whose predictions are stored for both.
    pub compared: usize,
    /// Number of these cells whose predictions are equal bit for bit.
    pub identical: usize,
    /// The stage compared with the one before it, if the task is scored by its accuracy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SplitComparison>,
}

impl StageChange {
    /// After minus before with a 95 % interval: over seeds and sentences if there is a verdict, else Student's over
    /// seeds.
    pub fn difference(&self) -> MeanInterval {
        match self.judged() {
            Some(judged) => MeanInterval { interval: Some(judged.interval), ..self.points },
            None => self.points,
        }
    }

    /// What was found, if predictions could be compared.
    pub fn judged(&self) -> Option<&Judged> {
        self.verdict.as_ref()?.judged()
    }

    /// The verdict in words, if there is one.
    pub fn describe(&self) -> Option<String> {
        self.judged().and(self.verdict.as_ref()).map(SplitComparison::words)
    }
}

/// The stages of cells that differ only in their seed; none if there is nothing beyond the plain.
pub(crate) fn summarize_stages(members: &[&CellView]) -> Vec<StageStats> {
    let cells: Vec<(&Settings, &Done)> =
        members.iter().filter_map(|view| Some((&view.cell.settings, view.done()?))).collect();
    let Some((settings, first)) = cells.first() else { return Vec::new() };
    if is_plain(&first.result) {
        return Vec::new();
    }
    let settings = settings.in_stages().unwrap_or_default();
    let done: Vec<&Outcome> = cells.iter().map(|(_, done)| &done.result).collect();
    let machine = |done: &Done| Hardware::of(&done.made_by);
    let same_hardware = cells.iter().all(|(_, done)| machine(done) == machine(cells[0].1));
    let stages = first.result.stages.iter().enumerate();
    let stages = stages.map(|(at, stage)| {
        let train_s: Vec<f64> = cells.iter().filter_map(|(_, done)| train_s(done, at)).collect();
        let stats = of_stage(at, stage, settings.get(at).map(|(_, s)| s), &done);
        let train_s = MeanStd::of(&train_s).filter(|_| same_hardware);
        StageStats { train_s, ..stats }
    });
    stages.collect()
}

/// The time of a stage's training steps, in seconds.
pub(crate) fn train_s(done: &Done, at: usize) -> Option<f64> {
    let times = &done.timing.as_ref()?.epochs;
    let of_stage = done.result.epochs.iter().zip(times).filter(|(epoch, _)| epoch.stage as usize == at + 1);
    Some(of_stage.map(|(_, time)| time.train_ms * 1e-3).sum())
}

/// Whether a cell is one stage of one task, scored by the accuracy of words.
fn is_plain(result: &Outcome) -> bool {
    let facts = result.tasks.values();
    let entities = || result.last().tasks.values().flat_map(|task| task.scores.values());
    result.stages.len() == 1
        && result.tasks.len() == 1
        && facts.into_iter().all(|facts| facts.unit == Unit::Words)
        && entities().all(|score| score.entities.is_none())
}

fn of_stage(at: usize, stage: &StageOutcome, settings: Option<&Settings>, done: &[&Outcome]) -> StageStats {
    let result = done[0];
    let others = result.tasks.keys().filter(|name| **name != result.headline);
    let is_here = |row: &&EpochRow| row.stage as usize == at + 1;
    let tasks = [&result.headline].into_iter().chain(others).map(|name| {
        let learned = settings.is_some_and(|settings| learned_from(settings, name, stage));
        let dev = summarize_scores(at, name, "dev", done);
        let test = summarize_scores(at, name, "test", done);
        let scores = stage.tasks.get(name).and_then(|task| task.scores.values().next());
        TaskStats {
            task: name.clone(),
            unit: result.tasks[name].unit,
            metric: scores.map_or(ScoredBy::Accuracy, ScoredBy::of),
            learned,
            dev,
            test,
        }
    });
    StageStats {
        name: stage.name.clone(),
        policy: stage.policy.clone(),
        total_parameters: stage.accounts.total,
        trainable_parameters: stage.accounts.trainable,
        epochs: result.epochs.iter().filter(is_here).count(),
        steps: stage.steps,
        train_s: None,
        tasks: tasks.collect(),
    }
}

/// Whether a stage of these settings learned from a task: not if all of its parameters were frozen.
pub(crate) fn learned_from(settings: &Settings, task: &str, stage: &StageOutcome) -> bool {
    stage.accounts.trainable > 0
        && settings.train.epochs > 0
        && settings.tasks.get(task).is_some_and(|task| task.weight > 0.0)
}

/// A task's score on a split after a stage.
pub(crate) fn score_at<'a>(result: &'a Outcome, at: usize, task: &str, split: &str) -> Option<&'a Score> {
    result.stages.get(at)?.tasks.get(task)?.scores.get(split)
}

fn summarize_scores(at: usize, task: &str, split: &str, done: &[&Outcome]) -> Option<TaskScores> {
    let scores: Vec<&Score> = done.iter().filter_map(|result| score_at(result, at, task, split)).collect();
    let units = scores.first()?.words;
    let accuracy = ScoredBy::of(scores[0]) == ScoredBy::Accuracy;
    let seeds: Vec<f64> = scores.iter().map(|score| score_value(score)).collect();
    let score = MeanStd::of(&seeds)?;
    Some(TaskScores {
        units,
        score,
        interval: ShareInterval::of(score.mean, units).filter(|_| accuracy),
        seeds,
        change: change_at(at, task, split, done),
    })
}

fn change_at(at: usize, task: &str, split: &str, done: &[&Outcome]) -> Option<StageChange> {
    let before = at.checked_sub(1)?;
    let stored = |result: &Outcome, at: usize| {
        Some(result.stages.get(at)?.tasks.get(task)?.predictions.get(split)?.sha256.clone())
    };
    let pairs = done.iter().filter_map(|result| {
        let (old, new) = (score_at(result, before, task, split)?, score_at(result, at, task, split)?);
        Some((score_value(old), score_value(new)))
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let files = done.iter().filter_map(|result| stored(result, before).zip(stored(result, at)));
    let same: Vec<bool> = files.map(|(old, new)| old == new).collect();
    let over = |get: fn(f64, f64) -> Option<f64>| -> Vec<f64> {
        pairs.iter().filter_map(|&(old, new)| get(old, new)).collect()
    };
    Some(StageChange {
        points: MeanInterval::of(&over(|old, new| Some(new - old)))?,
        relative: MeanStd::of(&over(|old, new| (old > 0.0).then(|| (new - old) / old))),
        error_reduction: MeanStd::of(&over(|old, new| (old < 1.0).then(|| (new - old) / (1.0 - old)))),
        compared: same.len(),
        identical: same.iter().filter(|&&same| same).count(),
        verdict: None,
    })
}
