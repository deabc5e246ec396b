//! One worker process that runs cells: it reads requests and writes events; its standard error goes to a log.

use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use frostline_record::{Event, Job, MadeBy, Request};

use crate::gpu;
use crate::program::Program;

/// How much of a log is read after a crash: a backtrace may follow its reason.
const LOG_END: u64 = 64 << 10;

/// A message to the round that runs all workers. Workers are numbered from 1.
#[derive(Debug)]
pub(crate) enum WorkerMessage {
    /// A worker wrote an event.
    Event(usize, Box<Event>),
    /// A worker wrote a line that is not an event.
    InvalidLine(usize, String),
    /// A worker closed its output.
    Ended(usize),
    /// The user pressed Ctrl-C, or the system asks this process to end.
    Interrupt,
}

/// A running worker.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    log: PathBuf,
    log_start: u64,
    /// The worker's version, code and machine, once it has reported them.
    pub made_by: Option<MadeBy>,
    /// The job it is working on.
    pub job: Option<Job>,
    /// When it was given this job.
    job_started: Instant,
    /// Why it was killed.
    pub kill_reason: Option<String>,
}

impl WorkerProcess {
    /// Starts a worker in its own process group, so that Ctrl-C at the terminal reaches only this
    /// program. Its output is sent as [`WorkerMessage`]s with this number.
    pub(crate) fn spawn(
        number: usize,
        program: &Program,
        threads: usize,
        logs: &Path,
        sender: Sender<WorkerMessage>,
    ) -> anyhow::Result<Self> {
        let log = logs.join(format!("worker-{number}.log"));
        let file = frostline_files::append(&log)?.into_file();
        let log_start = file.metadata().map_or(0, |about| about.len());
        let mut command = program.worker_command();
        command
            .args(["--threads", &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file);
        command.envs(gpu::device_variable(program.backend, program.about.gpus, number));
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        #[cfg(windows)]
        {
            const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
            std::os::windows::process::CommandExt::creation_flags(&mut command, CREATE_NEW_PROCESS_GROUP);
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("the worker {} cannot be started", program.path.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("the output is a pipe");
        std::thread::spawn(move || read_events(number, BufReader::new(stdout), &sender));
        let job_started = Instant::now();
        Ok(Self { child, stdin, log, log_start, made_by: None, job: None, job_started, kill_reason: None })
    }

    /// Sends the worker a job. If the worker has ended, [`WorkerMessage::Ended`] follows.
    pub(crate) fn send_job(&mut self, job: Job) {
        self.send_request(&Request::Run(Box::new(job.clone())));
        self.job = Some(job);
        self.job_started = Instant::now();
    }

    /// How long it has been working on its job.
    pub(crate) fn works_for(&self) -> Duration {
        if self.job.is_some() { self.job_started.elapsed() } else { Duration::ZERO }
    }

    /// Asks the worker to store a checkpoint of its cell, and to end.
    pub(crate) fn ask_to_stop(&mut self) {
        self.send_request(&Request::Stop);
    }

    fn send_request(&mut self, request: &Request) {
        let line = serde_json::to_string(request).expect("plain data always serialises") + "\n";
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// Closes the worker's input, which makes it end.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Whether it can be given jobs.
    pub(crate) fn is_open(&self) -> bool {
        self.stdin.is_some()
    }

    /// Kills the worker.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Waits for the worker to end and returns its exit status. A worker that does not end within two seconds is
    /// killed.
    pub(crate) fn wait_for_exit(&mut self) -> Option<ExitStatus> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(2) {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.kill();
        self.child.wait().ok()
    }

    /// The end of what it wrote to its log.
    pub(crate) fn log_end(&self) -> String {
        let mut text = Vec::new();
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = frostline_files::open(&self.log).map_err(|error| error.reason)?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(self.log_start.max(end.saturating_sub(LOG_END))))?;
            file.read_to_end(&mut text)?;
            Ok(text)
        };
        String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
    }

    /// Returns the path of the worker's log.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log
    }
}

/// Ends the worker, which must not outlive the sweep.
impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.close_input();
        if let Ok(None) = self.child.try_wait() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

/// The last lines of a log.
pub(crate) fn last_lines(log: &str) -> String {
    let tail = &log[log.floor_char_boundary(log.len().saturating_sub(4096))..];
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

fn read_events(number: usize, mut lines: impl std::io::BufRead, sender: &Sender<WorkerMessage>) {
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let message = match serde_json::from_slice(&line) {
            Ok(event) => WorkerMessage::Event(number, Box::new(event)),
            Err(_) => WorkerMessage::InvalidLine(number, String::from_utf8_lossy(&line).trim_end().into()),
        };
        if sender.send(message).is_err() {
            return;
        }
        line.clear();
    }
    let _ = sender.send(WorkerMessage::Ended(number));
}
