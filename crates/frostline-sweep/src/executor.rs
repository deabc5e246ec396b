//! Where a sweep's jobs run. An [`Executor`] takes all jobs of a round and reports to an [`Observer`]; it decides
//! on which machine and in which process a cell is trained, and nothing about the cell.

use frostline_record::{Cell, Event, Job, Record};

use crate::fault::Result;
use crate::outcome::Outcome;

/// Runs jobs, each of which ends as a record in its own folder.
pub trait Executor {
    /// Cells that can run at the same time.
    fn parallelism(&self) -> usize;

    /// Runs all jobs until each is done or failed, or a person interrupts.
    ///
    /// # Errors
    /// Where no job can run at all; a job that fails is part of the outcome.
    fn run(&self, jobs: Vec<Job>, observer: &mut dyn Observer) -> Result<Outcome>;
}

/// Follows the jobs while they run.
pub trait Observer {
    /// A worker takes a job.
    fn started(&mut self, job: &Job);
    /// A running cell reports progress.
    fn progress(&mut self, event: &Event);
    /// A cell is done; `record` is missing where none was asked for.
    fn done(&mut self, cell: &Cell, record: Option<&Record>);
    /// A cell failed.
    fn failed(&mut self, cell: &Cell, error: &str);
    /// A person interrupted the sweep.
    fn interrupted(&mut self);
}
