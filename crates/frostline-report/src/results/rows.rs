//! The rows of `results.csv`: each epoch of each task. A cell without an epoch has one row per task, and a cell without a
//! result has one row, so that none is missing silently.

use frostline_record::{EpochRow, EpochTiming, Score, StageOutcome, Unit};

use crate::study::{CellView, Done};

/// A row.
pub(super) struct ResultRow<'a> {
    /// The sweep's name.
    pub sweep: &'a str,
    pub synthetic: bool,
    pub view: &'a CellView,
    /// The task, if the cell has a result.
    pub reached: Option<TaskOfCell<'a>>,
    /// The epoch, if the cell has any.
    pub epoch: Option<TaskEpoch<'a>>,
}

/// A task of a cell with a result.
#[derive(Clone, Copy)]
pub(super) struct TaskOfCell<'a> {
    pub done: &'a Done,
    pub task: &'a str,
}

/// A task's epoch.
#[derive(Clone, Copy)]
pub(super) struct TaskEpoch<'a> {
    pub row: &'a EpochRow,
    pub stage: &'a StageOutcome,
    pub score: &'a Score,
    pub time: Option<&'a EpochTiming>,
}

impl<'a> TaskOfCell<'a> {
    pub fn is_headline(self) -> bool {
        self.task == self.done.result.headline
    }

    /// What its accuracies count.
    pub fn unit(self) -> Option<&'static str> {
        Some(match self.done.result.tasks.get(self.task)?.unit {
            Unit::Words => "words",
            Unit::Sentences => "sentences",
        })
    }

    /// Returns the task's score on a split at the end of the cell.
    pub fn score(self, split: &str) -> Option<&'a Score> {
        self.done.result.last().tasks.get(self.task)?.scores.get(split)
    }
}

/// The rows of a cell, the headline task's first within an epoch.
pub(super) fn rows_of_cell<'a>(sweep: &'a str, synthetic: bool, view: &'a CellView) -> Vec<ResultRow<'a>> {
    let row = |reached, epoch| ResultRow { sweep, synthetic, view, reached, epoch };
    let Some(done) = view.done() else { return vec![row(None, None)] };
    let result = &done.result;
    if result.epochs.is_empty() {
        let tasks = result.last().tasks.keys();
        return tasks.map(|task| row(Some(TaskOfCell { done, task }), None)).collect();
    }
    let mut rows = Vec::new();
    for (at, of) in result.epochs.iter().enumerate() {
        let Some(stage) = result.stages.get((of.stage as usize).wrapping_sub(1)) else { continue };
        let time = done.timing.as_ref().and_then(|timing| timing.epochs.get(at));
        let others = of.others.iter().map(|(task, score)| (task.as_str(), score));
        rows.extend([(result.headline.as_str(), &of.dev)].into_iter().chain(others).map(|(task, score)| {
            let epoch = TaskEpoch { row: of, stage, score, time };
            row(Some(TaskOfCell { done, task }), Some(epoch))
        }));
    }
    rows
}
