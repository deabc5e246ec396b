//! What cells are compared by: a task's score on a split, measured time or memory. Scores are in points, times in seconds,
//! memory in MiB, and differences of the latter two in percent.

use frostline_record::Measure;

use crate::study::outcomes::After;
use crate::study::stages::{ScoredBy, score_at, score_value, train_s};
use crate::study::{CellView, Done};

/// What is measured of a cell.
pub(super) struct Gauge<'a> {
    measure: Measure,
    task: &'a str,
    /// `dev score`, `test entity F1 of ner`, `training time`, `peak memory`.
    pub name: String,
}

impl<'a> Gauge<'a> {
    /// The score of a task, or of the headline if none is named; its name is the metric by which these
    /// cells are scored by.
    pub fn new(measure: Measure, task: &'a str, cells: &[&CellView]) -> Self {
        let name = if measure == Measure::Memory { "peak memory" } else { "training time" };
        let mut gauge = Self { measure, task, name: name.into() };
        if let Some(split) = gauge.split() {
            let metric = cells.iter().find_map(|view| {
                let result = &view.done()?.result;
                Some(ScoredBy::of(score_at(result, 0, gauge.task(view.done()?), split)?))
            });
            let of = if task.is_empty() { String::new() } else { format!(" of `{task}`") };
            gauge.name = format!("{split} {}{of}", metric.unwrap_or(ScoredBy::Accuracy).name());
        }
        gauge
    }

    /// The split of a score.
    pub fn split(&self) -> Option<&'static str> {
        match self.measure {
            Measure::Dev => Some("dev"),
            Measure::Test => Some("test"),
            Measure::TrainTime | Measure::Memory => None,
        }
    }

    /// The task whose score it is.
    fn task<'b>(&self, done: &'b Done) -> &'b str
    where
        'a: 'b,
    {
        if self.task.is_empty() { &done.result.headline } else { self.task }
    }

    /// A cell at its end with its score in percent, or its time in seconds.
    pub fn end<'b>(&self, view: &'b CellView) -> Option<(After<'b>, f64)>
    where
        'a: 'b,
    {
        let done = view.done()?;
        let stage = done.result.stages.len().checked_sub(1)?;
        let value = match self.measure {
            Measure::TrainTime => done.timing.as_ref()?.train_ms * 1e-3,
            // No cell has it alone: a worker's peak is of all that it ran.
            Measure::Memory => return None,
            _ => self.after(done, stage)?,
        };
        Some((After { cell: &view.cell, stage, task: self.task(done) }, value))
    }

    /// The same after the stage of this name.
    pub fn stage<'b>(&self, view: &'b CellView, name: &str) -> Option<(After<'b>, f64)>
    where
        'a: 'b,
    {
        let done = view.done()?;
        let stage = done.result.stages.iter().position(|stage| stage.name == name)?;
        Some((After { cell: &view.cell, stage, task: self.task(done) }, self.after(done, stage)?))
    }

    /// A cell's score after a stage in percent, or the time of the stage in seconds.
    pub fn after(&self, done: &Done, stage: usize) -> Option<f64> {
        if self.measure == Measure::TrainTime {
            return train_s(done, stage);
        }
        Some(100.0 * score_value(score_at(&done.result, stage, self.task(done), self.split()?)?))
    }

    /// Returns the name with the unit of a value.
    pub fn titled(&self) -> String {
        format!("{}, {}", self.name, if self.split().is_some() { "%" } else { "s" })
    }

    /// What a difference is given in.
    pub fn difference_unit(&self) -> &'static str {
        if self.split().is_some() { "points" } else { "%" }
    }

    /// A minus B; for a time in percent of B.
    pub fn difference(&self, [a, b]: [f64; 2]) -> f64 {
        if self.split().is_some() { a - b } else { 100.0 * (a - b) / b }
    }
}
