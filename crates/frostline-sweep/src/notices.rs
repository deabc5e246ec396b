//! `--json`: what happens in a sweep, one JSON object per line, for programs that start sweeps or watch them.
//!
//! # To add an event of a sweep
//!
//! A variant of `Notice` in `crates/frostline-sweep/src/notices.rs`, sent when it happens, and in
//! `crates/frostline-watch/src/changes.rs` if it can be seen in the folder.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use frostline_record::{Cell, EpochRow, Event, Job, Loaded, Record, StepEvent};
use serde::Serialize;

use crate::decision::Decision;
use crate::executor::Observer;
use crate::output::{self, OutputKind};
use crate::snapshot::CellState;

/// Something that happened. Cells are named by their id, and by the title that people read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Notice {
    /// A command begins with a sweep.
    Begin {
        /// The sweep's folder.
        folder: String,
        /// All cells.
        cells: usize,
        /// Number of cells that are recorded already.
        done: usize,
    },
    /// A process has begun a cell.
    Started {
        /// The cell.
        #[serde(flatten)]
        cell: CellName,
        /// The process that had begun it before and has died.
        from: Option<String>,
    },
    /// Data and model of a cell are in place.
    Loaded {
        /// The cell.
        #[serde(flatten)]
        cell: CellName,
        /// Optimiser steps that it takes.
        steps: u64,
        /// The step from which a checkpoint resumes it; 0 if there is none.
        resumed: u64,
        /// All parameters.
        parameters: u64,
        /// Number of parameters that learn.
        trainable: u64,
    },
    /// A point of the loss curve.
    Step {
        /// The cell.
        #[serde(flatten)]
        cell: CellName,
        /// Optimiser steps taken so far.
        step: u64,
        /// Steps in all.
        steps: u64,
        /// The running epoch, counted from 1 over all stages.
        epoch: u32,
        /// Mean loss since the point before, in nats.
        loss_nats: f64,
        /// Subwords per second of training time.
        tokens_per_s: f64,
        /// Expected time to the cell's end, in seconds.
        left_s: f64,
        /// Peak resident memory of the worker, in MiB.
        peak_rss_mib: Option<f64>,
    },
    /// An epoch ended.
    Epoch {
        /// The cell.
        #[serde(flatten)]
        cell: CellName,
        /// Counted from 1 over all stages.
        epoch: u32,
        /// Accuracy on dev, in [0, 1].
        dev_accuracy: f64,
    },
    /// A cell is recorded.
    Done {
        /// The cell.
        #[serde(flatten)]
        cell: CellName,
        /// Accuracy of each split of the headline task, in [0, 1]; empty if another process recorded it.
        accuracy: BTreeMap<String, f64>,
        /// The cell's time in seconds; missing if another process recorded it.
        total_s: Option<f64>,
    },
    /// A cell has failed.
    Failed {
        /// The cell.
        #[serde(flatten)]
        cell: CellName,
        /// Why.
        error: String,
        /// Whether it will be run again.
        again: bool,
    },
    /// A cell is no longer run by the process that had begun it.
    Left {
        /// The cell.
        #[serde(flatten)]
        cell: CellName,
    },
    /// A round of a sweep that grows until its question is answered has been judged.
    Decision(Decision),
    /// A person has stopped the command, or a signal has.
    Interrupted,
    /// The command ends with the sweep.
    End {
        /// All cells.
        cells: usize,
        /// Number of cells that are recorded.
        done: usize,
        /// Number of cells that have failed.
        failed: usize,
    },
}

/// A cell in a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CellName {
    /// The cell's id.
    pub id: String,
    /// The cell's title.
    pub cell: String,
}

impl CellName {
    /// Returns the name of a cell.
    #[must_use]
    pub fn of_cell(cell: &Cell) -> Self {
        Self { id: cell.id.clone(), cell: cell.title() }
    }
}

impl Notice {
    /// Writes it to standard output as a line.
    ///
    /// # Errors
    /// If standard output is closed or full.
    pub fn print(&self) -> io::Result<()> {
        let line = serde_json::to_string(self).expect("plain data always serialises");
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// Prints the notice if the command line asks for JSON. If no program reads it, it is lost and the work continues.
    pub(crate) fn print_if_asked(&self) {
        if output::output_kind() == OutputKind::Json {
            let _ = self.print();
        }
    }

    /// Returns the notice for the state that a cell has reached, if that is an end of its run.
    #[must_use]
    pub fn of_state(cell: CellName, state: &CellState) -> Option<Self> {
        Some(match state {
            CellState::Done { accuracy, total_s, .. } => {
                Self::Done { cell, accuracy: accuracy.iter().cloned().collect(), total_s: Some(*total_s) }
            }
            CellState::Failed { error } => Self::Failed { cell, error: error.clone(), again: false },
            CellState::LeftBehind { .. } | CellState::Waiting => Self::Left { cell },
            CellState::Running { .. } => return None,
        })
    }
}

/// Prints what it is told of.
#[derive(Default)]
pub(crate) struct Notices {
    /// The titles of the cells that run, by id.
    titles: BTreeMap<String, String>,
}

impl Notices {
    fn cell_name(&self, id: &str) -> CellName {
        CellName { id: id.into(), cell: self.titles.get(id).cloned().unwrap_or_default() }
    }

    fn report_loaded(&self, loaded: &Loaded) {
        let Loaded { steps, resumed, accounts, .. } = loaded;
        Notice::Loaded {
            cell: self.cell_name(&loaded.id),
            steps: *steps,
            resumed: *resumed,
            parameters: accounts.total,
            trainable: accounts.trainable,
        }
        .print_if_asked();
    }

    fn report_step(&self, step: &StepEvent) {
        Notice::Step {
            cell: self.cell_name(&step.id),
            step: step.step,
            steps: step.steps,
            epoch: step.epoch,
            loss_nats: step.loss_nats,
            tokens_per_s: step.tokens_per_s,
            left_s: step.left_s,
            peak_rss_mib: step.peak_rss_mib,
        }
        .print_if_asked();
    }

    fn report_epoch(&self, id: &str, row: &EpochRow) {
        Notice::Epoch { cell: self.cell_name(id), epoch: row.epoch, dev_accuracy: row.dev.accuracy() }
            .print_if_asked();
    }
}

impl Observer for Notices {
    fn job_started(&mut self, job: &Job, from: Option<&str>) {
        self.titles.insert(job.cell.id.clone(), job.cell.title());
        Notice::Started { cell: CellName::of_cell(&job.cell), from: from.map(Into::into) }.print_if_asked();
    }

    fn cell_progressed(&mut self, event: &Event) {
        match event {
            Event::Loaded(loaded) => self.report_loaded(loaded),
            Event::Step(step) => self.report_step(step),
            Event::Epoch { id, row } => self.report_epoch(id, row),
            Event::Prefix(_)
            | Event::Dev { .. }
            | Event::Ready(_)
            | Event::Done { .. }
            | Event::Late { .. }
            | Event::Failed { .. }
            | Event::Answer(_)
            | Event::Refused { .. } => {}
        }
    }

    fn cell_done(&mut self, cell: &Cell, record: Option<&Record>) {
        let state = record.map(CellState::of_record);
        let notice = state.and_then(|state| Notice::of_state(CellName::of_cell(cell), &state));
        notice.unwrap_or_else(|| recorded_notice(cell)).print_if_asked();
    }

    fn cell_failed(&mut self, cell: &Cell, error: &str) {
        Notice::Failed { cell: CellName::of_cell(cell), error: error.into(), again: false }.print_if_asked();
    }

    fn cell_retried(&mut self, cell: &Cell, error: &str) {
        Notice::Failed { cell: CellName::of_cell(cell), error: error.into(), again: true }.print_if_asked();
    }

    fn cell_recorded_elsewhere(&mut self, cell: &Cell, error: Option<&str>) {
        match error {
            Some(error) => self.cell_failed(cell, error),
            None => recorded_notice(cell).print_if_asked(),
        }
    }

    fn cell_lost(&mut self, cell: &Cell) {
        Notice::Left { cell: CellName::of_cell(cell) }.print_if_asked();
    }

    fn sweep_interrupted(&mut self) {
        Notice::Interrupted.print_if_asked();
    }
}

fn recorded_notice(cell: &Cell) -> Notice {
    Notice::Done { cell: CellName::of_cell(cell), accuracy: BTreeMap::new(), total_s: None }
}

/// Reports only the cells that fail.
pub(crate) struct OnlyFaults;

impl Observer for OnlyFaults {
    fn job_started(&mut self, _: &Job, _: Option<&str>) {}
    fn cell_progressed(&mut self, _: &Event) {}
    fn cell_done(&mut self, _: &Cell, _: Option<&Record>) {}

    fn cell_failed(&mut self, cell: &Cell, error: &str) {
        note!("{}: FAILED: {error}", cell.title());
    }

    fn cell_retried(&mut self, cell: &Cell, error: &str) {
        note!("{}: failed, will be run again: {error}", cell.title());
    }

    fn cell_recorded_elsewhere(&mut self, cell: &Cell, error: Option<&str>) {
        if let Some(error) = error {
            note!("{}: FAILED: {error}, by another process", cell.title());
        }
    }

    fn cell_lost(&mut self, _: &Cell) {}
    fn sweep_interrupted(&mut self) {}
}
