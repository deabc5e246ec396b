//! Worker processes on this machine. Each runs one cell at a time, so that a crash affects only one cell.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use frostline_files::claim::Commit;
use frostline_record::{Event, Job, MadeBy, Record, SCHEMA, read_record};

use crate::crash::{Crash, exit_text};
use crate::executor::{Executor, Observer};
use crate::fault::{Blame as _, CommandResult, environment_fault};
use crate::interrupts::{self, StopRequest};
use crate::jobs::{JobEnd, Jobs, NextJob};
use crate::memory::{MemoryKind, what_fits};
use crate::outcome::Outcome;
use crate::place;
use crate::program::Program;
use crate::request::Failures;
use crate::units::format_clock;
use crate::worker::{WorkerMessage, WorkerProcess, last_lines};

/// The time between two looks at workers whose time may be over, and at jobs that may have become free.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a worker may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(3);

/// The time in which a worker must end its step and store a checkpoint: a little less than batch systems usually give.
const STOP_GRACE: Duration = Duration::from_secs(25);

/// The same before a time limit, of which jobs are told earlier.
const LIMIT_GRACE: Duration = Duration::from_secs(60);

/// How long after a worker's end by a signal this process may get its own: engines signal the processes of a job one after
/// the other, and take moments for that.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);

/// The threads of each of so many workers: those that were asked for, or their share of the cores.
pub(crate) fn shared_threads(workers: usize, asked: Option<u32>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or(cores / workers, |threads| threads as usize).max(1)
}

/// Runs jobs in worker processes on this machine.
#[derive(Debug)]
pub struct LocalWorkers<'a> {
    program: &'a Program,
    count: usize,
    threads: usize,
    logs: PathBuf,
    failures: Failures,
}

impl<'a> LocalWorkers<'a> {
    /// `count` workers, at least one, with `threads` threads each. If `threads` is `None`, the workers share the
    /// cores equally.
    #[must_use]
    pub fn new(program: &'a Program, count: usize, threads: Option<u32>, logs: PathBuf) -> Self {
        let count = count.max(1);
        let threads = shared_threads(count, threads);
        Self { program, count, threads, logs, failures: Failures::default() }
    }

    /// The same workers, with another way to deal with cells that fail.
    #[must_use]
    pub fn with_failures(self, failures: Failures) -> Self {
        Self { failures, ..self }
    }
}

impl Executor for LocalWorkers<'_> {
    fn parallelism(&self) -> usize {
        self.count
    }

    fn run(&self, jobs: &mut dyn Jobs, observer: &mut dyn Observer) -> CommandResult<Outcome> {
        for number in 1..=self.count {
            let _ = frostline_files::remove(&self.logs.join(format!("worker-{number}.log")));
        }
        // Memory is needed for the cells.
        self.program.stop_assistant();
        let (sender, messages) = channel();
        interrupts::notify_round(sender.clone()).blame_environment()?;
        let mut round = LocalRound {
            settings: self,
            jobs,
            retries: VecDeque::new(),
            ends: false,
            workers: Vec::new(),
            outcome: Outcome::default(),
            retried: HashMap::new(),
            kill_at: None,
            sender,
            observer,
        };
        round.run_round(&messages)?;
        Ok(round.outcome)
    }
}

/// The execution of one list of jobs.
struct LocalRound<'a> {
    settings: &'a LocalWorkers<'a>,
    jobs: &'a mut dyn Jobs,
    /// Failed jobs that are run again when no other is left.
    retries: VecDeque<Job>,
    /// Whether no further job is started.
    ends: bool,
    /// The worker with number N is at N - 1; `None` if it has ended.
    workers: Vec<Option<WorkerProcess>>,
    outcome: Outcome,
    /// How often each cell was run again, by id.
    retried: HashMap<String, u32>,
    /// The time at which workers that have not ended by themselves are killed.
    kill_at: Option<Instant>,
    sender: Sender<WorkerMessage>,
    observer: &'a mut dyn Observer,
}

impl LocalRound<'_> {
    fn run_round(&mut self, messages: &Receiver<WorkerMessage>) -> CommandResult<()> {
        for number in 1..=self.settings.count.min(self.jobs.unstarted_jobs()) {
            self.workers.push(None);
            self.spawn_worker(number)?;
        }
        let mut look_at = Instant::now() + PAUSE;
        while self.workers.iter().any(Option::is_some) {
            match messages.recv_timeout(look_at.saturating_duration_since(Instant::now())) {
                Ok(WorkerMessage::Event(number, event)) => self.handle_event(number, *event)?,
                Ok(WorkerMessage::InvalidLine(number, line)) => self.kill_for_invalid_line(number, &line),
                Ok(WorkerMessage::Ended(number)) => self.worker_ended(number)?,
                Ok(WorkerMessage::Interrupt) => self.interrupt_workers(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => unreachable!("this round holds a sender"),
            }
            if Instant::now() >= look_at {
                self.look_around()?;
                look_at = Instant::now() + PAUSE;
            }
        }
        // The message may not have been read.
        if interrupts::listen_no_more().is_some() && !self.outcome.interrupted {
            self.interrupt_workers();
        }
        Ok(())
    }

    /// Whether this process is being stopped, even if the message was not read yet.
    fn is_stopping(&self) -> bool {
        self.outcome.interrupted || interrupts::first_request().is_some()
    }

    fn spawn_worker(&mut self, number: usize) -> CommandResult<()> {
        let LocalWorkers { program, threads, logs, .. } = self.settings;
        let worker = WorkerProcess::spawn(number, program, *threads, logs, self.sender.clone());
        self.workers[number - 1] = Some(worker.blame_environment()?);
        Ok(())
    }

    fn worker_mut(&mut self, number: usize) -> &mut WorkerProcess {
        self.workers[number - 1].as_mut().expect("a worker that sent a message exists")
    }

    /// Sends a worker its next job, or closes its input if there is none. It waits while other processes run all jobs that
    /// are left.
    fn assign_job(&mut self, number: usize) -> CommandResult<()> {
        // A message may have been sent before the worker was killed; a job would never reach it.
        if self.worker_mut(number).kill_reason.is_some() {
            return Ok(());
        }
        match self.next()? {
            NextJob::Job(job, from) => {
                self.observer.job_started(&job, from.as_deref());
                self.worker_mut(number).send_job(*job);
            }
            NextJob::Finished => {
                self.worker_mut(number).close_input();
                // One that is starting has not been told to end yet.
                if self
                    .workers
                    .iter()
                    .flatten()
                    .all(|worker| worker.job.is_none() && worker.made_by.is_some())
                {
                    self.kill_at.get_or_insert(Instant::now() + GRACE);
                }
            }
            NextJob::Wait | NextJob::Elsewhere(..) => {}
        }
        Ok(())
    }

    /// The next job, after those that other processes have run meanwhile were counted.
    fn next(&mut self) -> CommandResult<NextJob> {
        if self.ends {
            return Ok(NextJob::Finished);
        }
        loop {
            match self.jobs.next()? {
                NextJob::Elsewhere(cell, error) => {
                    self.observer.cell_recorded_elsewhere(&cell, error.as_deref());
                    match error {
                        None => self.outcome.elsewhere += 1,
                        Some(error) => self.outcome.failed.push((cell.title(), error)),
                    }
                }
                next @ NextJob::Job(..) => return Ok(next),
                next => {
                    let again = self.retries.pop_front();
                    return Ok(again.map_or(next, |job| NextJob::Job(Box::new(job), None)));
                }
            }
        }
    }

    /// Whether there may be a job for another worker.
    fn may_have_more(&self) -> bool {
        !self.ends && (self.jobs.unstarted_jobs() > 0 || !self.retries.is_empty())
    }

    /// Starts no further job.
    fn stop_assigning(&mut self) {
        self.ends = true;
        for job in self.retries.drain(..) {
            self.jobs.close_job(&job, JobEnd::Stopped);
        }
    }

    fn handle_event(&mut self, number: usize, event: Event) -> CommandResult<()> {
        let job = self.worker_mut(number).job.clone();
        let is_current = |id: &str| job.as_ref().is_some_and(|job| job.cell.id == id);
        match event {
            Event::Ready(made_by) => {
                let code = &self.settings.program.about.code;
                if made_by.code != *code {
                    return environment_fault(format!(
                        "the program {} was replaced while this sweep ran (its code was {code}, and is {} now); run the sweep again",
                        self.settings.program.path.display(),
                        made_by.code
                    ));
                }
                self.worker_mut(number).made_by = Some(made_by);
                self.assign_job(number)?;
            }
            Event::Done { id } if is_current(&id) => {
                let job = job.expect("the id is the job's");
                self.finish_job(number, &job, None)?;
                self.assign_job(number)?;
            }
            Event::Late { id } if is_current(&id) => {
                self.lose_job(number, &job.expect("the id is the job's"));
                self.assign_job(number)?;
            }
            Event::Failed { id, error } if is_current(&id) => {
                let job = job.expect("the id is the job's");
                let fits = match MemoryKind::exhausted_memory(&error) {
                    Some(_) => self.what_fits(&job),
                    None => String::new(),
                };
                self.finish_job(number, &job, Some(error + &fits))?;
                self.assign_job(number)?;
            }
            progress if progress.id().is_some_and(is_current) => self.observer.cell_progressed(&progress),
            other => self.kill_for_invalid_line(number, &format!("{other:?}")),
        }
        Ok(())
    }

    /// Ends a job. The outcome is decided by its record, not by the worker's message.
    fn finish_job(&mut self, number: usize, job: &Job, error: Option<String>) -> CommandResult<()> {
        let made_by = self.worker_mut(number).made_by.clone();
        self.worker_mut(number).job = None;
        let record = read_record(job.folder.as_ref()).ok().flatten();
        let record = record.filter(|record| record.cell.id == job.cell.id);
        let error = match (&record, error) {
            (_, Some(_)) if self.is_stopping() => {
                self.jobs.close_job(job, JobEnd::Stopped);
                return Ok(());
            }
            (Some(record), None) => record.error.clone(),
            (None, None) if !job.verify => Some("the worker reported success but wrote no record".into()),
            (_, error) => error,
        };
        match error {
            None => {
                self.jobs.close_job(job, JobEnd::Recorded);
                self.outcome.done += 1;
                self.observer.cell_done(&job.cell, record.as_ref());
            }
            Some(error) if self.may_retry(job) => {
                self.observer.cell_retried(&job.cell, &error);
                self.retries.push_back(job.clone());
            }
            Some(error) => {
                if !job.verify && self.write_failure(job, made_by, &error)? != Commit::Done {
                    self.lose_job(number, job);
                    return Ok(());
                }
                self.jobs.close_job(job, JobEnd::Failed);
                self.observer.cell_failed(&job.cell, &error);
                self.outcome.failed.push((job.cell.title(), error));
                if self.settings.failures.stop && !self.ends {
                    self.outcome.not_started += self.jobs.unstarted_jobs() + self.retries.len();
                    self.stop_assigning();
                }
            }
        }
        Ok(())
    }

    fn what_fits(&self, job: &Job) -> String {
        what_fits(self.settings.program, job, self.settings.threads)
    }

    /// Ends a job that has passed to another process.
    fn lose_job(&mut self, number: usize, job: &Job) {
        self.worker_mut(number).job = None;
        self.jobs.close_job(job, JobEnd::Lost);
        self.outcome.late += 1;
        self.observer.cell_lost(&job.cell);
    }

    /// Whether a failed job is to be run again, which it then counts.
    fn may_retry(&mut self, job: &Job) -> bool {
        let retried = self.retried.entry(job.cell.id.clone()).or_default();
        *retried += 1;
        *retried <= self.settings.failures.retries
    }

    /// Writes a failed cell's record with its error. No worker does: others would take the cell for failed for good while it is
    /// tried again.
    fn write_failure(&self, job: &Job, made_by: Option<MadeBy>, error: &str) -> CommandResult<Commit> {
        let about = &self.settings.program.about;
        let unknown = MadeBy {
            version: about.version.clone(),
            code: about.code.clone(),
            revision: self.settings.program.revision.clone(),
            backend: job.cell.backend.clone(),
            device: String::new(),
            isa: about.isa.clone(),
            bits: about.bits,
            threads: self.settings.threads,
            node: String::new(),
        };
        let record = Record {
            schema: SCHEMA,
            cell: job.cell.clone(),
            result: None,
            timing: None,
            made_by: made_by.unwrap_or(unknown),
            error: Some(error.into()),
        };
        record.write_claimed(job.folder.as_ref(), job.claim.as_ref()).blame_environment()
    }

    /// Kills a worker that violates the protocol; its cell fails with an error that quotes the line.
    fn kill_for_invalid_line(&mut self, number: usize, line: &str) {
        if let Some(worker) = &mut self.workers[number - 1] {
            let line: String = line.chars().take(200).collect();
            worker.kill_reason =
                Some(format!("the worker wrote a line that is not an event of this cell: {line}"));
            worker.kill();
        }
    }

    /// Handles the end of a worker: a regular one when there are no more jobs, otherwise a crash.
    fn worker_ended(&mut self, number: usize) -> CommandResult<()> {
        let Some(mut worker) = self.workers[number - 1].take() else {
            return Ok(());
        };
        let status = worker.wait_for_exit();
        let is_known =
            worker.kill_reason.is_some() || worker.job.as_ref().is_some_and(|job| self.jobs.is_lost(job));
        // A job is ended together with its workers and this process. That is no failure of the cell.
        if !is_known && interrupts::was_ended_from_outside(status) {
            interrupts::asked_within(SIGNAL_GRACE);
        }
        if self.is_stopping() {
            return Ok(());
        }
        let log = worker.log_end();
        let log_tail = last_lines(&log);
        // Another worker would write the same line, and there is no cell that could fail instead.
        if worker.job.is_none()
            && self.may_have_more()
            && let Some(reason) = &worker.kill_reason
        {
            return environment_fault(format!(
                "{reason}\n(its log: {})",
                place::shown_path(worker.log_path())
            ));
        }
        if worker.made_by.is_none() {
            return environment_fault(format!(
                "a worker could not start ({}): {}",
                exit_text(status),
                if log_tail.is_empty() { "its log is empty" } else { &log_tail }
            ));
        }
        if let Some(job) = worker.job.clone().filter(|job| self.jobs.is_lost(job)) {
            self.workers[number - 1] = Some(worker);
            self.lose_job(number, &job);
            self.workers[number - 1] = None;
        } else if let Some(job) = worker.job.clone() {
            let mut error = worker.kill_reason.take().unwrap_or_else(|| {
                let crash = Crash::from_exit(status, &log);
                crash.text + &if crash.lacks_memory { self.what_fits(&job) } else { String::new() }
            });
            if !log_tail.is_empty() {
                error = format!("{error}\n{log_tail}");
            }
            error = format!("{error}\n(its log: {})", place::shown_path(worker.log_path()));
            let finished = stored_without_error(&job);
            self.workers[number - 1] = Some(worker);
            self.finish_job(number, &job, (!finished).then_some(error))?;
            self.workers[number - 1] = None;
        }
        if self.may_have_more() {
            self.spawn_worker(number)?;
        }
        Ok(())
    }

    /// At the first request the workers store checkpoints and end; a second Ctrl-C kills them.
    fn interrupt_workers(&mut self) {
        if self.outcome.interrupted {
            for worker in self.workers.iter_mut().flatten() {
                worker.kill();
            }
            return;
        }
        self.outcome.interrupted = true;
        self.stop_assigning();
        let is_limit = interrupts::first_request() == Some(StopRequest::TimeLimit);
        self.kill_at = Some(Instant::now() + if is_limit { LIMIT_GRACE } else { STOP_GRACE });
        self.observer.sweep_interrupted();
        for worker in self.workers.iter_mut().flatten() {
            match worker.job {
                Some(_) => worker.ask_to_stop(),
                None => worker.close_input(),
            }
        }
    }

    /// What is done several times a second, however many events there are: workers whose time is over are killed, and idle ones
    /// are given a job that has become free.
    fn look_around(&mut self) -> CommandResult<()> {
        self.kill_overdue();
        for number in 1..=self.workers.len() {
            let idle =
                |worker: &WorkerProcess| worker.made_by.is_some() && worker.job.is_none() && worker.is_open();
            if self.workers[number - 1].as_ref().is_some_and(idle) {
                self.assign_job(number)?;
            }
        }
        Ok(())
    }

    /// Kills workers that were told to end and did not, and those whose cell takes too long or is another process's now.
    fn kill_overdue(&mut self) {
        for worker in self.workers.iter_mut().flatten() {
            if worker.job.as_ref().is_some_and(|job| self.jobs.is_lost(job)) {
                worker.kill();
            }
        }
        if let Some(limit) = self.settings.failures.time_limit {
            for worker in self.workers.iter_mut().flatten().filter(|worker| worker.works_for() > limit) {
                worker
                    .kill_reason
                    .get_or_insert(format!("it took longer than {}", format_clock(limit.as_secs_f64())));
                worker.kill();
            }
        }
        if self.kill_at.is_some_and(|end| Instant::now() > end) {
            for worker in self.workers.iter_mut().flatten() {
                worker.kill();
            }
        }
    }
}

fn stored_without_error(job: &Job) -> bool {
    read_record(job.folder.as_ref())
        .ok()
        .flatten()
        .is_some_and(|record| record.cell.id == job.cell.id && record.error.is_none())
}
