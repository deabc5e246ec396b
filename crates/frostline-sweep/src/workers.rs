//! Worker processes on this machine. Each runs one cell at a time, so that a crash affects only one cell.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use frostline_record::{Event, Job, MadeBy, Record, SCHEMA, read_record};

use crate::args::SweepArgs;
use crate::executor::{Executor, Observer};
use crate::fault::{Blame as _, INTERRUPTED, Result, environment};
use crate::outcome::Outcome;
use crate::place;
use crate::program::Program;
use crate::units::clock;
use crate::worker::{Message, Worker};

/// How long a worker may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(3);

/// What happens when a cell fails.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Failures {
    /// Whether no further cell is started once one has failed for good.
    pub stop: bool,
    /// How often a failed cell is run again before its error is recorded.
    pub retries: u32,
    /// The longest time that a cell may take.
    pub time_limit: Option<Duration>,
}

impl Failures {
    /// As the command line says.
    pub(crate) fn of(args: &SweepArgs) -> Self {
        let time_limit = args.cell_minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes));
        Self { stop: args.fail_fast, retries: args.retry, time_limit }
    }
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
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.map_or(cores / count, |threads| threads as usize).max(1);
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

    fn run(&self, jobs: Vec<Job>, observer: &mut dyn Observer) -> Result<Outcome> {
        for number in 1..=self.count {
            let _ = frostline_files::remove(&self.logs.join(format!("worker-{number}.log")));
        }
        let (sender, messages) = channel();
        listen_for_interrupts(sender.clone()).environment()?;
        let mut round = Round {
            settings: self,
            queue: jobs.into(),
            workers: Vec::new(),
            outcome: Outcome::default(),
            retried: HashMap::new(),
            kill_at: None,
            sender,
            observer,
        };
        round.run(&messages)?;
        Ok(round.outcome)
    }
}

/// The running round, which is notified of Ctrl-C.
static RUNNING: Mutex<Option<Sender<Message>>> = Mutex::new(None);

/// Whether the handler is installed; a process can have only one.
static LISTENING: AtomicBool = AtomicBool::new(false);

fn listen_for_interrupts(sender: Sender<Message>) -> std::result::Result<(), ctrlc::Error> {
    let running = || RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    *running() = Some(sender);
    if LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(move || match &*running() {
        Some(sender) if sender.send(Message::Interrupt).is_ok() => {}
        // Between rounds, and while the report is written, there are no workers to stop.
        _ => std::process::exit(INTERRUPTED.into()),
    })
}

/// The execution of one list of jobs.
struct Round<'a> {
    settings: &'a LocalWorkers<'a>,
    queue: VecDeque<Job>,
    /// The worker with number N is at N - 1; `None` if it has ended.
    workers: Vec<Option<Worker>>,
    outcome: Outcome,
    /// How often each cell was run again, by id.
    retried: HashMap<String, u32>,
    /// The time at which workers that have not ended by themselves are killed.
    kill_at: Option<Instant>,
    sender: Sender<Message>,
    observer: &'a mut dyn Observer,
}

impl Round<'_> {
    fn run(&mut self, messages: &Receiver<Message>) -> Result<()> {
        for number in 1..=self.settings.count.min(self.queue.len()) {
            self.workers.push(None);
            self.spawn(number)?;
        }
        while self.workers.iter().any(Option::is_some) {
            match messages.recv_timeout(Duration::from_millis(100)) {
                Ok(Message::Event(number, event)) => self.handle(number, *event)?,
                Ok(Message::InvalidLine(number, line)) => self.kill_for_invalid_line(number, &line),
                Ok(Message::Ended(number)) => self.worker_ended(number)?,
                Ok(Message::Interrupt) => self.interrupt(),
                Err(RecvTimeoutError::Timeout) => self.kill_overdue(),
                Err(RecvTimeoutError::Disconnected) => unreachable!("this round holds a sender"),
            }
        }
        Ok(())
    }

    fn spawn(&mut self, number: usize) -> Result<()> {
        let LocalWorkers { program, threads, logs, .. } = self.settings;
        let worker = Worker::spawn(number, program, *threads, logs, self.sender.clone());
        self.workers[number - 1] = Some(worker.environment()?);
        Ok(())
    }

    fn worker(&mut self, number: usize) -> &mut Worker {
        self.workers[number - 1].as_mut().expect("a worker that sent a message exists")
    }

    /// Sends a worker its next job, or closes its input if there is none.
    fn assign(&mut self, number: usize) {
        // A message may have been sent before the worker was killed; a job would never reach it.
        if self.worker(number).kill_reason.is_some() {
            return;
        }
        let next = self.queue.pop_front();
        match next {
            Some(job) => {
                self.observer.started(&job);
                self.worker(number).send(job);
            }
            None => {
                self.worker(number).close_input();
                if self.workers.iter().flatten().all(|worker| worker.job.is_none()) {
                    self.kill_at.get_or_insert(Instant::now() + GRACE);
                }
            }
        }
    }

    fn handle(&mut self, number: usize, event: Event) -> Result<()> {
        let job = self.worker(number).job.clone();
        let is_current = |id: &str| job.as_ref().is_some_and(|job| job.cell.id == id);
        match event {
            Event::Ready(made_by) => {
                let code = &self.settings.program.about.code;
                if made_by.code != *code {
                    return environment(format!(
                        "the program {} was replaced while this sweep ran (its code was {code}, and is {} now); run the sweep again",
                        self.settings.program.path.display(),
                        made_by.code
                    ));
                }
                self.worker(number).made_by = Some(made_by);
                self.assign(number);
            }
            Event::Done { id } if is_current(&id) => {
                let job = job.expect("the id is the job's");
                self.finish(number, &job, None)?;
                self.assign(number);
            }
            Event::Failed { id, error } if is_current(&id) => {
                let job = job.expect("the id is the job's");
                self.finish(number, &job, Some(error))?;
                self.assign(number);
            }
            progress if progress.id().is_some_and(is_current) => self.observer.progress(&progress),
            other => self.kill_for_invalid_line(number, &format!("{other:?}")),
        }
        Ok(())
    }

    /// Ends a job. The outcome is decided by its record, not by the worker's message.
    fn finish(&mut self, number: usize, job: &Job, error: Option<String>) -> Result<()> {
        let made_by = self.worker(number).made_by.clone();
        self.worker(number).job = None;
        let record = read_record(job.folder.as_ref()).ok().flatten();
        let record = record.filter(|record| record.cell.id == job.cell.id);
        let error = match (&record, error) {
            (_, Some(_)) if self.outcome.interrupted => return Ok(()),
            (Some(record), None) => record.error.clone(),
            (None, None) if !job.verify => Some("the worker reported success but wrote no record".into()),
            (_, error) => error,
        };
        match error {
            None => {
                self.outcome.done += 1;
                self.observer.done(&job.cell, record.as_ref());
            }
            Some(error) if self.may_retry(job) => {
                self.observer.retried(&job.cell, &error);
                self.queue.push_back(job.clone());
            }
            Some(error) => {
                if !job.verify && record.is_none_or(|record| record.error.is_none()) {
                    self.write_failure(job, made_by, &error)?;
                }
                self.observer.failed(&job.cell, &error);
                self.outcome.failed.push((job.cell.title(), error));
                if self.settings.failures.stop {
                    self.outcome.not_started += self.queue.len();
                    self.queue.clear();
                }
            }
        }
        Ok(())
    }

    /// Whether a failed job is to be run again, which it then counts.
    fn may_retry(&mut self, job: &Job) -> bool {
        let retried = self.retried.entry(job.cell.id.clone()).or_default();
        *retried += 1;
        *retried <= self.settings.failures.retries
    }

    /// Writes a failed cell's record with its error, for a worker that could not write it.
    fn write_failure(&self, job: &Job, made_by: Option<MadeBy>, error: &str) -> Result<()> {
        let about = &self.settings.program.about;
        let unknown = MadeBy {
            version: about.version.clone(),
            code: about.code.clone(),
            revision: self.settings.program.revision.clone(),
            backend: job.cell.backend.clone(),
            device: String::new(),
            isa: about.isa.clone(),
            threads: self.settings.threads,
        };
        let record = Record {
            schema: SCHEMA,
            cell: job.cell.clone(),
            result: None,
            timing: None,
            made_by: made_by.unwrap_or(unknown),
            error: Some(error.into()),
        };
        record.write(job.folder.as_ref()).environment()
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
    fn worker_ended(&mut self, number: usize) -> Result<()> {
        let Some(mut worker) = self.workers[number - 1].take() else {
            return Ok(());
        };
        let status = worker.reap();
        if self.outcome.interrupted {
            return Ok(());
        }
        let log_tail = worker.log_tail();
        // Another worker would write the same line, and there is no cell that could fail instead.
        if worker.job.is_none()
            && !self.queue.is_empty()
            && let Some(reason) = &worker.kill_reason
        {
            return environment(format!("{reason}\n(its log: {})", place::shown(worker.log())));
        }
        if worker.made_by.is_none() {
            return environment(format!(
                "a worker could not start ({}): {}",
                exit_text(status),
                if log_tail.is_empty() { "its log is empty" } else { &log_tail }
            ));
        }
        if let Some(job) = worker.job.clone() {
            let mut error = worker.kill_reason.take().unwrap_or_else(|| crash_text(status, &log_tail));
            if !log_tail.is_empty() {
                error = format!("{error}\n{log_tail}");
            }
            error = format!("{error}\n(its log: {})", place::shown(worker.log()));
            let finished = stored_without_error(&job);
            self.workers[number - 1] = Some(worker);
            self.finish(number, &job, (!finished).then_some(error))?;
            self.workers[number - 1] = None;
        }
        if !self.queue.is_empty() {
            self.spawn(number)?;
        }
        Ok(())
    }

    /// The first Ctrl-C closes the workers' inputs, which makes them end; the second kills them.
    fn interrupt(&mut self) {
        if self.outcome.interrupted {
            for worker in self.workers.iter_mut().flatten() {
                worker.kill();
            }
            return;
        }
        self.outcome.interrupted = true;
        self.queue.clear();
        self.kill_at = Some(Instant::now() + GRACE);
        self.observer.interrupted();
        for worker in self.workers.iter_mut().flatten() {
            worker.close_input();
        }
    }

    /// Kills workers that were told to end and did not, and those whose cell takes too long.
    fn kill_overdue(&mut self) {
        if let Some(limit) = self.settings.failures.time_limit {
            for worker in self.workers.iter_mut().flatten().filter(|worker| worker.works_for() > limit) {
                worker
                    .kill_reason
                    .get_or_insert(format!("it took longer than {}", clock(limit.as_secs_f64())));
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

/// What allocators say where memory runs out: Rust's, then those of GPU backends.
const OUT_OF_MEMORY: [&str; 5] = [
    "memory allocation of",
    "can't allocate buffer of size",
    "BufferTooBig",
    "CUDA_ERROR_OUT_OF_MEMORY",
    "Out of Memory",
];

/// Describes a crash. The allocator's own message is what tells that memory ran out.
fn crash_text(status: Option<ExitStatus>, log_tail: &str) -> String {
    let how = exit_text(status);
    let Some(at) = OUT_OF_MEMORY.iter().position(|message| log_tail.contains(message)) else {
        return format!("the worker crashed: {how}");
    };
    let of = if at == 0 { "memory" } else { "the GPU's memory" };
    format!(
        "{of} ran out ({how}); raise `train.accumulate`, which takes the same step in parts, or lower \
         `eval.batch_tokens` or --jobs"
    )
}

/// Describes how a process ended.
fn exit_text(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)) {
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (abort)",
            9 => {
                " (killed; perhaps memory ran out: raise `train.accumulate`, or lower `eval.batch_tokens` or --jobs)"
            }
            11 => " (segmentation fault)",
            15 => " (terminated)",
            _ => "",
        };
        return format!("signal {signal}{name}");
    }
    match status.and_then(|status| status.code()) {
        Some(code) => format!("exit code {code}"),
        None => "no exit status".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_for_lack_of_memory_says_of_which() {
        let text = |log: &str| crash_text(None, log);
        assert!(text("memory allocation of 640 bytes failed").starts_with("memory ran out"));
        let cuda = "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")";
        let wgpu = "called `Result::unwrap()` on an `Err` value: can't allocate buffer of size: 4096";
        for log in [cuda, wgpu] {
            assert!(
                text(log).starts_with("the GPU's memory ran out (no exit status); raise `train.acc"),
                "{log}"
            );
        }
        assert_eq!(text("something else"), "the worker crashed: no exit status");
    }
}
