//! One worker process: jobs in, events out, its own words into a log.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use frostline_record::{Event, Job, MadeBy};

use crate::runner::Runner;

/// What reaches the one who waits for all workers.
#[derive(Debug)]
pub(crate) enum News {
    /// A worker said something.
    Said(usize, Box<Event>),
    /// A worker said something that is no event: the line.
    Babbled(usize, String),
    /// A worker's output closed; it says nothing more.
    Ended(usize),
    /// Ctrl-C.
    Interrupt,
}

/// A running worker.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    log: PathBuf,
    log_start: u64,
    /// Who it is, once it is up.
    pub made_by: Option<MadeBy>,
    /// What it is working on.
    pub job: Option<Job>,
    /// Why it was ended by force.
    pub complaint: Option<String>,
}

impl Worker {
    /// Starts a worker in a process group of its own, so that Ctrl-C at the terminal reaches only
    /// xtask. Its output arrives as [`News`] under this number.
    pub(crate) fn start(
        number: usize,
        runner: &Runner,
        threads: usize,
        logs: &Path,
        tell: Sender<News>,
    ) -> anyhow::Result<Self> {
        let log = logs.join(format!("worker-{number}.log"));
        let file = OpenOptions::new().create(true).append(true).open(&log);
        let file = file.with_context(|| log.display().to_string())?;
        let log_start = file.metadata().map_or(0, |about| about.len());
        let mut command = Command::new(&runner.path);
        command
            .args(["worker", "--threads", &threads.to_string()])
            .args(["--backend", &runner.backend.to_string()])
            .env("FROSTLINE_REVISION", &runner.revision)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command
            .spawn()
            .with_context(|| format!("the worker {} cannot be started", runner.path.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("the output is a pipe");
        std::thread::spawn(move || listen(number, BufReader::new(stdout), &tell));
        Ok(Self { child, stdin, log, log_start, made_by: None, job: None, complaint: None })
    }

    /// Hands it a job. Where the worker is gone, its end arrives as news.
    pub(crate) fn give(&mut self, job: Job) {
        let mut line = serde_json::to_string(&job).expect("plain data always serialises");
        line.push('\n');
        self.job = Some(job);
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush());
        }
    }

    /// Closes its input, upon which it ends.
    pub(crate) fn dismiss(&mut self) {
        self.stdin = None;
    }

    /// Ends it by force.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// How it ended. One that closed its output but lingers is ended by force.
    pub(crate) fn bury(&mut self) -> Option<ExitStatus> {
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

    /// The last lines it wrote to its log.
    pub(crate) fn last_words(&self) -> String {
        let mut text = Vec::new();
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.log)?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(self.log_start.max(end.saturating_sub(4096))))?;
            file.read_to_end(&mut text)?;
            Ok(text)
        };
        let text = read().unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }

    /// Where it logs.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }
}

/// A worker that is let go of must not outlive the sweep.
impl Drop for Worker {
    fn drop(&mut self) {
        self.dismiss();
        if let Ok(None) = self.child.try_wait() {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

fn listen(number: usize, mut lines: impl std::io::BufRead, tell: &Sender<News>) {
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let news = match serde_json::from_slice(&line) {
            Ok(event) => News::Said(number, Box::new(event)),
            Err(_) => News::Babbled(number, String::from_utf8_lossy(&line).trim_end().into()),
        };
        if tell.send(news).is_err() {
            return;
        }
        line.clear();
    }
    let _ = tell.send(News::Ended(number));
}
