//! The source of an executor's jobs: one at a time, when a worker is free.

use std::collections::VecDeque;

use frostline_record::{Cell, Job};

use crate::fault::CommandResult;

/// The jobs of a round.
pub trait Jobs {
    /// The next job. Who gets it ends it with [`Jobs::close_job`].
    ///
    /// # Errors
    /// If the sweep's folder cannot be read or written.
    fn next(&mut self) -> CommandResult<NextJob>;

    /// The number of jobs that were not handed out, as far as it is known.
    fn unstarted_jobs(&self) -> usize;

    /// Whether a job that was handed out has passed to another process, so that it should be stopped.
    fn is_lost(&self, job: &Job) -> bool;

    /// Ends a job that was handed out.
    fn close_job(&mut self, job: &Job, end: JobEnd);
}

/// The answer to the question for the next job.
#[derive(Debug)]
pub enum NextJob {
    /// This one, perhaps taken over from a process that has died.
    Job(Box<Job>, Option<String>),
    /// A cell of the round that was recorded by another process, with its error if it failed.
    Elsewhere(Box<Cell>, Option<String>),
    /// Other processes run all that are left. Ask again: they may die.
    Wait,
    /// There is none.
    Finished,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// The record is in place.
    Recorded,
    /// The record is in place, and is an error.
    Failed,
    /// It was stopped; any process may go on with it.
    Stopped,
    /// It has passed to another process.
    Lost,
}

/// Jobs that no other process can have.
#[derive(Debug)]
pub struct Queue(VecDeque<Job>);

impl From<Vec<Job>> for Queue {
    fn from(jobs: Vec<Job>) -> Self {
        Self(jobs.into())
    }
}

impl Jobs for Queue {
    fn next(&mut self) -> CommandResult<NextJob> {
        Ok(self.0.pop_front().map_or(NextJob::Finished, |job| NextJob::Job(Box::new(job), None)))
    }

    fn unstarted_jobs(&self) -> usize {
        self.0.len()
    }

    fn is_lost(&self, _job: &Job) -> bool {
        false
    }

    fn close_job(&mut self, _job: &Job, _end: JobEnd) {}
}
