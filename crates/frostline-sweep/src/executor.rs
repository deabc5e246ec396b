//! The interface between a sweep and the processes that run its jobs. An [`Executor`] takes the jobs of a round and
//! reports to an [`Observer`]. It decides on which machine and in which process a cell is trained, but changes
//! nothing about the cell.
//!
//! # To add an executor
//!
//! The trait is in `crates/frostline-sweep/src/executor.rs`; `LocalWorkers` (`workers.rs`) implements it. An
//! executor pulls the jobs of a round one by one (`Jobs` in `jobs.rs`, which claims them), reports to an
//! `Observer`, and gives an `Outcome`. The record in a cell's folder decides what became of a job, so the executor
//! reads it, and writes one with the error if a worker could not. It is made in `sweep` (`sweep.rs`) and `work`
//! (`work.rs`); there is only one, and its options are in `request.rs`. Retries, failures as records, and Ctrl-C are
//! in `Round` (`workers.rs`), for local workers alone.

use frostline_record::{Cell, Event, Job, Record};

use crate::fault::CommandResult;
use crate::jobs::Jobs;
use crate::outcome::Outcome;

/// Runs jobs. Each job writes a record into its own folder.
pub trait Executor {
    /// The number of cells that can run at the same time.
    fn parallelism(&self) -> usize;

    /// Runs all jobs until each is done or failed, or a person interrupts the sweep. The record in a job's folder
    /// decides the job's outcome. If a job failed and left no record, the executor writes one with the error, unless
    /// the job only verifies.
    ///
    /// # Errors
    /// If no job can run at all. A failed job is part of the outcome.
    fn run(&self, jobs: &mut dyn Jobs, observer: &mut dyn Observer) -> CommandResult<Outcome>;
}

/// Is notified of the progress of jobs.
pub trait Observer {
    /// A worker has started a job, perhaps one that it has taken over from a process that died.
    fn job_started(&mut self, job: &Job, from: Option<&str>);
    /// A running cell has reported progress.
    fn cell_progressed(&mut self, event: &Event);
    /// A cell is done; `record` is `None` if the job writes no record.
    fn cell_done(&mut self, cell: &Cell, record: Option<&Record>);
    /// A cell has failed.
    fn cell_failed(&mut self, cell: &Cell, error: &str);
    /// A cell has failed and will be run again.
    fn cell_retried(&mut self, cell: &Cell, error: &str);
    /// A cell was recorded by another process, with an error if it failed there.
    fn cell_recorded_elsewhere(&mut self, cell: &Cell, error: Option<&str>);
    /// A cell that was run here has passed to another process.
    fn cell_lost(&mut self, cell: &Cell);
    /// The user has interrupted the sweep.
    fn sweep_interrupted(&mut self);
}

/// All of them are told, in order.
impl Observer for Vec<Box<dyn Observer + '_>> {
    fn job_started(&mut self, job: &Job, from: Option<&str>) {
        self.iter_mut().for_each(|observer| observer.job_started(job, from));
    }

    fn cell_progressed(&mut self, event: &Event) {
        self.iter_mut().for_each(|observer| observer.cell_progressed(event));
    }

    fn cell_done(&mut self, cell: &Cell, record: Option<&Record>) {
        self.iter_mut().for_each(|observer| observer.cell_done(cell, record));
    }

    fn cell_failed(&mut self, cell: &Cell, error: &str) {
        self.iter_mut().for_each(|observer| observer.cell_failed(cell, error));
    }

    fn cell_retried(&mut self, cell: &Cell, error: &str) {
        self.iter_mut().for_each(|observer| observer.cell_retried(cell, error));
    }

    fn cell_recorded_elsewhere(&mut self, cell: &Cell, error: Option<&str>) {
        self.iter_mut().for_each(|observer| observer.cell_recorded_elsewhere(cell, error));
    }

    fn cell_lost(&mut self, cell: &Cell) {
        self.iter_mut().for_each(|observer| observer.cell_lost(cell));
    }

    fn sweep_interrupted(&mut self) {
        self.iter_mut().for_each(|observer| observer.sweep_interrupted());
    }
}
