//! The worker program: `frostline`, started as separate processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, bail, ensure};
use frostline_record::{
    About, Answer, Cell, CellFacts, Forecast, ForecastJob, PairedTimes, Request, TimingJob,
};

use crate::assistant::Assistant;
use crate::backend::Backend;
use crate::data_check::check_data;
use crate::fault::{Blame as _, Result};
use crate::trace;

/// A program that can be started as a worker.
#[derive(Debug)]
pub struct Program {
    /// The executable file.
    pub path: PathBuf,
    /// The backend that tensors run on.
    pub backend: Backend,
    /// Its description of itself.
    pub about: About,
    /// The git revision of its sources, for the records; empty if unknown.
    pub revision: String,
    /// Where its processes append their spans.
    pub trace: Option<PathBuf>,
    /// The process that answers questions, once there was one.
    assistant: Mutex<Option<Assistant>>,
}

impl Program {
    /// Starts the program at `path`, to check that it has the backend and that the backend's device is present. The process
    /// stays for further questions until [`Program::dismiss`].
    ///
    /// # Errors
    /// If it cannot be started, is not a Frostline program, or cannot run the backend on this machine.
    pub fn at(path: &Path, backend: Backend, revision: String) -> Result<Self> {
        let path = std::path::absolute(path).environment()?;
        let program = Self::described(path, backend, About::default(), revision);
        let about = program.describe().environment()?;
        let backend = about.backend.parse().unwrap_or(backend);
        Ok(Self { backend, about, ..program })
    }

    /// A program whose description is known already. Nothing is started.
    #[must_use]
    pub fn described(path: PathBuf, backend: Backend, about: About, revision: String) -> Self {
        Self { path, backend, about, revision, trace: None, assistant: Mutex::new(None) }
    }

    /// The program that is currently running.
    ///
    /// # Errors
    /// As for [`Program::at`].
    pub fn itself(backend: Backend) -> Result<Self> {
        let path = std::env::current_exe().context("the program's own file cannot be found").environment()?;
        Self::at(&path, backend, String::new())
    }

    /// Ends the process that answers questions, and frees the memory that it holds. The next question starts another one.
    pub fn dismiss(&self) {
        *self.assistant.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The same program, whose processes append their spans to this file.
    pub(crate) fn traced(self, trace: Option<PathBuf>) -> Self {
        if trace.is_some() {
            self.dismiss();
        }
        Self { trace, ..self }
    }

    /// Checks cells before any of them starts: the shapes of the weights, the tokenizer, strict tags. Returns warnings about
    /// their data, as lines.
    pub(crate) fn check(&self, cells: &[Cell]) -> Result<String> {
        let facts = self.facts(&Request::Check(cells.to_vec())).environment()?;
        check_data(cells, &facts).environment()
    }

    /// Facts about the data of each kind of cell.
    pub(crate) fn data(&self, cells: &[Cell]) -> Result<Vec<CellFacts>> {
        self.facts(&Request::Data(cells.to_vec())).environment()
    }

    /// What cells are predicted to cost, with the threads of a worker.
    pub(crate) fn forecast(&self, job: ForecastJob) -> Result<Vec<Forecast>> {
        match self.ask(&Request::Forecast(job)).environment()? {
            Answer::Forecasts(forecasts) => Ok(forecasts),
            other => Err(unexpected(&other)).environment(),
        }
    }

    /// Times of steps, or the memory that they take, in a process that does nothing else.
    pub(crate) fn time(&self, job: &TimingJob, threads: Option<u32>) -> anyhow::Result<PairedTimes> {
        let mut command = self.command();
        command.args(threads.iter().flat_map(|threads| ["--threads".to_string(), threads.to_string()]));
        let Answer::Times(times) = Assistant::start(&mut command)?.ask(&Request::Time(job.clone()))? else {
            bail!("the program {} did not answer with times", self.path.display());
        };
        let cells = job.cells.iter().map(|cell| &cell.id);
        ensure!(cells.eq(times.policies.iter().map(|policy| &policy.cell)), "it timed other cells");
        Ok(times)
    }

    /// The program as a worker, with the variables that it reads.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("FROSTLINE_REVISION", &self.revision);
        if let Some(trace) = &self.trace {
            command.env(trace::VARIABLE, trace);
        }
        command.args(["worker", "--backend", self.backend.name()]);
        command
    }

    /// Asks for facts about data.
    fn facts(&self, request: &Request) -> anyhow::Result<Vec<CellFacts>> {
        match self.ask(request)? {
            Answer::Facts(facts) => Ok(facts),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks the process that answers questions, which is started if there is none.
    fn ask(&self, request: &Request) -> anyhow::Result<Answer> {
        let mut kept = self.assistant.lock().unwrap_or_else(PoisonError::into_inner);
        let mut assistant = match kept.take() {
            Some(assistant) => assistant,
            None => Assistant::start(&mut self.command())?,
        };
        let answer = assistant.ask(request)?;
        *kept = Some(assistant);
        Ok(answer)
    }

    /// Asks the program for its version and backends. It ends with an error if the backend's device is missing.
    fn describe(&self) -> anyhow::Result<About> {
        let (path, backend) = (self.path.display(), self.backend);
        let assistant = Assistant::start(&mut self.command())?;
        *self.assistant.lock().unwrap_or_else(PoisonError::into_inner) = Some(assistant);
        let answer = self.ask(&Request::Version);
        let Answer::Version(about) =
            answer.with_context(|| format!("the backend {backend} cannot run here"))?
        else {
            bail!("{path}: not the output of a Frostline program");
        };
        if backend != Backend::Auto && !about.backends.iter().any(|name| *name == backend.name()) {
            bail!(
                "the program {path} has no backend `{backend}`; it was built with: {}",
                about.backends.join(", ")
            );
        }
        Ok(about)
    }
}

/// The error for an answer to another question.
fn unexpected(answer: &Answer) -> anyhow::Error {
    let answer: String = format!("{answer:?}").chars().take(200).collect();
    anyhow::anyhow!("the worker answered another question: {answer}")
}
