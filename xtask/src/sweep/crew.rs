//! The workers of a sweep: each takes one cell at a time, and a crash costs one cell.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use frostline_record::{Event, Job, MadeBy, Record, SCHEMA, read_record, write_atomically};

use crate::args::SweepArgs;
use crate::fault::{Blame as _, INTERRUPTED, Result, environment};
use crate::runner::Runner;
use crate::sweep::outcome::Outcome;
use crate::sweep::progress::Screen;
use crate::sweep::study::Study;
use crate::sweep::worker::{News, Worker};
use crate::workspace;

/// How long a worker may take to end after its input closed.
const GRACE: Duration = Duration::from_secs(3);

/// How many workers, and how they are started.
#[derive(Debug)]
pub(crate) struct Crew<'a> {
    runner: &'a Runner,
    size: usize,
    threads: usize,
    logs: PathBuf,
}

impl<'a> Crew<'a> {
    /// As many workers as asked for; the cores are shared among them.
    pub(crate) fn new(runner: &'a Runner, study: &Study, args: &SweepArgs, logs: PathBuf) -> Self {
        let size = study.plan.jobs.max(1);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = args.threads.map_or(cores / size, |threads| threads as usize).max(1);
        Self { runner, size, threads, logs }
    }

    /// Workers at a time.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Works on all jobs until each is done or failed, or a person stops it.
    ///
    /// # Errors
    /// Where a worker cannot be started at all.
    pub(crate) fn work(&self, jobs: Vec<Job>, screen: &mut Screen) -> Result<Outcome> {
        for number in 1..=self.size {
            let _ = std::fs::remove_file(self.logs.join(format!("worker-{number}.log")));
        }
        let (tell, news) = channel();
        hear_interrupts(tell.clone()).environment()?;
        let mut shift = Shift {
            crew: self,
            queue: jobs.into(),
            workers: Vec::new(),
            outcome: Outcome::default(),
            end_by: None,
            tell,
            screen,
        };
        shift.run(&news)?;
        Ok(shift.outcome)
    }
}

/// Who hears of Ctrl-C: the shift at work.
static AT_WORK: Mutex<Option<Sender<News>>> = Mutex::new(None);

/// A process can have one handler only.
static HEARS: AtomicBool = AtomicBool::new(false);

fn hear_interrupts(tell: Sender<News>) -> std::result::Result<(), ctrlc::Error> {
    let at_work = || AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    *at_work() = Some(tell);
    if HEARS.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(move || match &*at_work() {
        Some(tell) if tell.send(News::Interrupt).is_ok() => {}
        // Between rounds, and while the report is written, no shift is there to end in order.
        _ => std::process::exit(INTERRUPTED.into()),
    })
}

/// The work on one list of jobs.
struct Shift<'a> {
    crew: &'a Crew<'a>,
    queue: VecDeque<Job>,
    /// By number, counted from 1; `None` where it has ended.
    workers: Vec<Option<Worker>>,
    outcome: Outcome,
    /// When those that have not ended by themselves are ended by force.
    end_by: Option<Instant>,
    tell: Sender<News>,
    screen: &'a mut Screen,
}

impl Shift<'_> {
    fn run(&mut self, news: &Receiver<News>) -> Result<()> {
        for number in 1..=self.crew.size.min(self.queue.len()) {
            self.workers.push(None);
            self.hire(number)?;
        }
        while self.workers.iter().any(Option::is_some) {
            match news.recv_timeout(Duration::from_millis(100)) {
                Ok(News::Said(number, event)) => self.hear(number, *event)?,
                Ok(News::Babbled(number, line)) => self.cut_off(number, &line),
                Ok(News::Ended(number)) => self.part(number)?,
                Ok(News::Interrupt) => self.interrupt(),
                Err(RecvTimeoutError::Timeout) => self.enforce(),
                Err(RecvTimeoutError::Disconnected) => unreachable!("this shift holds a sender"),
            }
        }
        Ok(())
    }

    fn hire(&mut self, number: usize) -> Result<()> {
        let Crew { runner, threads, logs, .. } = self.crew;
        let worker = Worker::start(number, runner, *threads, logs, self.tell.clone());
        self.workers[number - 1] = Some(worker.environment()?);
        Ok(())
    }

    fn worker(&mut self, number: usize) -> &mut Worker {
        self.workers[number - 1].as_mut().expect("it speaks, so it is there")
    }

    /// Gives a worker its next job, or lets it go.
    fn employ(&mut self, number: usize) {
        // One that was cut off may have spoken before: it has ended by the time a job would reach it.
        if self.worker(number).complaint.is_some() {
            return;
        }
        let next = self.queue.pop_front();
        match next {
            Some(job) => {
                self.screen.start(&job);
                self.worker(number).give(job);
            }
            None => {
                self.worker(number).dismiss();
                if self.workers.iter().flatten().all(|worker| worker.job.is_none()) {
                    self.end_by.get_or_insert(Instant::now() + GRACE);
                }
            }
        }
    }

    fn hear(&mut self, number: usize, event: Event) -> Result<()> {
        let job = self.worker(number).job.clone();
        let ours = |id: &str| job.as_ref().is_some_and(|job| job.cell.id == id);
        match event {
            Event::Ready(made_by) => {
                let code = &self.crew.runner.about.code;
                if made_by.code != *code {
                    return environment(format!(
                        "the runner {} was swapped while this sweep ran (its code was {code}, and is {} now); run the sweep again",
                        self.crew.runner.path.display(),
                        made_by.code
                    ));
                }
                self.worker(number).made_by = Some(made_by);
                self.employ(number);
            }
            Event::Loaded(loaded) if ours(&loaded.id) => self.screen.loaded(&loaded),
            Event::Prefix(prefix) if ours(&prefix.id) => self.screen.prefix(&prefix),
            Event::Step(step) if ours(&step.id) => self.screen.step(&step),
            Event::Epoch { id, row } if ours(&id) => self.screen.epoch(&id, &row),
            Event::Done { id } if ours(&id) => {
                let job = job.expect("it is ours");
                self.settle(number, &job, None)?;
                self.employ(number);
            }
            Event::Failed { id, error } if ours(&id) => {
                let job = job.expect("it is ours");
                self.settle(number, &job, Some(error))?;
                self.employ(number);
            }
            other => self.cut_off(number, &format!("{other:?}")),
        }
        Ok(())
    }

    /// Writes down what became of a job: the record decides, not the worker's word.
    fn settle(&mut self, number: usize, job: &Job, error: Option<String>) -> Result<()> {
        let made_by = self.worker(number).made_by.clone();
        self.worker(number).job = None;
        let record = read_record(job.folder.as_ref()).ok().flatten();
        let record = record.filter(|record| record.cell.id == job.cell.id);
        let error = match (&record, error) {
            (_, Some(_)) if self.outcome.interrupted => return Ok(()),
            (Some(record), None) => record.error.clone(),
            (None, None) if !job.verify => Some("the worker said it was done, but left no record".into()),
            (_, error) => error,
        };
        match error {
            None => {
                self.outcome.done += 1;
                self.screen.done(&job.cell, record.as_ref());
            }
            Some(error) => {
                if !job.verify && record.is_none_or(|record| record.error.is_none()) {
                    self.write_failure(job, made_by, &error)?;
                }
                self.screen.failed(&job.cell, &error);
                self.outcome.failed.push((job.cell.title(), error));
            }
        }
        Ok(())
    }

    /// A failed cell is a record with its error, also where its worker could not write it.
    fn write_failure(&self, job: &Job, made_by: Option<MadeBy>, error: &str) -> Result<()> {
        let about = &self.crew.runner.about;
        let unknown = MadeBy {
            version: about.version.clone(),
            code: about.code.clone(),
            revision: self.crew.runner.revision.clone(),
            backend: job.cell.backend.clone(),
            device: String::new(),
            isa: about.isa.clone(),
            threads: self.crew.threads,
        };
        let record = Record {
            schema: SCHEMA,
            cell: job.cell.clone(),
            result: None,
            timing: None,
            made_by: made_by.unwrap_or(unknown),
            error: Some(error.into()),
        };
        let text = serde_json::to_string_pretty(&record).expect("plain data always serialises");
        let path = std::path::Path::new(&job.folder).join("record.json");
        write_atomically(&path, text.as_bytes()).environment()
    }

    /// A worker that breaks the protocol is ended; its cell fails with what it said.
    fn cut_off(&mut self, number: usize, line: &str) {
        if let Some(worker) = &mut self.workers[number - 1] {
            let line: String = line.chars().take(200).collect();
            worker.complaint = Some(format!("the worker said what is no event of this cell: {line}"));
            worker.kill();
        }
    }

    /// A worker has ended: by itself when there was no more to do, else by a crash.
    fn part(&mut self, number: usize) -> Result<()> {
        let Some(mut worker) = self.workers[number - 1].take() else {
            return Ok(());
        };
        let status = worker.bury();
        if self.outcome.interrupted {
            return Ok(());
        }
        let words = worker.last_words();
        // Another one would say the same, and there is no cell to fail for it.
        if worker.job.is_none()
            && !self.queue.is_empty()
            && let Some(complaint) = &worker.complaint
        {
            return environment(format!("{complaint}\n(its log: {})", workspace::shown(worker.log())));
        }
        if worker.made_by.is_none() {
            return environment(format!(
                "a worker could not start ({}): {}",
                how(status),
                if words.is_empty() { "it said nothing" } else { &words }
            ));
        }
        if let Some(job) = worker.job.clone() {
            let mut error =
                worker.complaint.take().unwrap_or_else(|| format!("the worker crashed: {}", how(status)));
            if !words.is_empty() {
                error = format!("{error}\n{words}");
            }
            error = format!("{error}\n(its log: {})", workspace::shown(worker.log()));
            let finished = stored_without_error(&job);
            self.workers[number - 1] = Some(worker);
            self.settle(number, &job, (!finished).then_some(error))?;
            self.workers[number - 1] = None;
        }
        if !self.queue.is_empty() {
            self.hire(number)?;
        }
        Ok(())
    }

    /// The first Ctrl-C closes the workers' inputs, upon which they end; the second ends all.
    fn interrupt(&mut self) {
        if self.outcome.interrupted {
            for worker in self.workers.iter_mut().flatten() {
                worker.kill();
            }
            return;
        }
        self.outcome.interrupted = true;
        self.queue.clear();
        self.end_by = Some(Instant::now() + GRACE);
        self.screen.interrupted();
        for worker in self.workers.iter_mut().flatten() {
            worker.dismiss();
        }
    }

    fn enforce(&mut self) {
        if self.end_by.is_some_and(|end| Instant::now() > end) {
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

/// How a process ended, in words.
fn how(status: Option<ExitStatus>) -> String {
    #[cfg(unix)]
    if let Some(signal) = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status)) {
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (abort)",
            9 => " (killed; perhaps memory ran out)",
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
