//! The worker program: `frostline`, started as separate processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, bail, ensure};
use frostline_record::{
    About, Answer, BlockScores, Cell, CellFacts, Forecast, ForecastJob, PairedTimes, Request, ScoreJob,
    TimingJob,
};

use crate::assistant::Assistant;
use crate::backend::Backend;
use crate::data_check::check_data;
use crate::fault::{Blame as _, CommandResult};
use crate::trace;

/// A program that can be started as a worker.
#[derive(Debug)]
pub struct Program {
    /// The executable file.
    pub path: PathBuf,
    /// The backend that tensors run on.
    pub backend: Backend,
    /// The program's description of itself.
    pub about: About,
    /// The git revision of its sources, for the records; empty if unknown.
    pub revision: String,
    /// The file to which its processes append their spans.
    pub trace: Option<PathBuf>,
    /// The process that answers questions, once there was one.
    assistant: Mutex<Option<Assistant>>,
}

impl Program {
    /// Starts the program at `path`, to check that it has the backend and that the backend's device is present. The process
    /// stays for further questions until [`Program::stop_assistant`].
    ///
    /// # Errors
    /// If it cannot be started, is not a Frostline program, or cannot run the backend on this machine.
    pub fn at(path: &Path, backend: Backend, revision: String) -> CommandResult<Self> {
        let path = std::path::absolute(path).blame_environment()?;
        let program = Self::with_description(path, backend, About::default(), revision);
        let about = program.ask_description().blame_environment()?;
        let backend = about.backend.parse().unwrap_or(backend);
        Ok(Self { backend, about, ..program })
    }

    /// Returns a program whose description is known already. Nothing is started.
    #[must_use]
    pub fn with_description(path: PathBuf, backend: Backend, about: About, revision: String) -> Self {
        Self { path, backend, about, revision, trace: None, assistant: Mutex::new(None) }
    }

    /// Returns the program that is currently running.
    ///
    /// # Errors
    /// See [`Program::at`].
    pub fn current_program(backend: Backend) -> CommandResult<Self> {
        let path =
            std::env::current_exe().context("the program's own file cannot be found").blame_environment()?;
        Self::at(&path, backend, String::new())
    }

    /// Ends the process that answers questions, and frees the memory that it holds. The next question starts another one.
    pub fn stop_assistant(&self) {
        *self.assistant.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the same program, whose processes append their spans to this file.
    pub(crate) fn with_trace(self, trace: Option<PathBuf>) -> Self {
        if trace.is_some() {
            self.stop_assistant();
        }
        Self { trace, ..self }
    }

    /// Checks cells before any of them starts: the shapes of the weights, the tokenizer, strict tags. Returns warnings about
    /// their data, as lines.
    pub(crate) fn check_cells(&self, cells: &[Cell]) -> CommandResult<String> {
        let facts = self.ask_facts(&Request::Check(cells.to_vec())).blame_environment()?;
        check_data(cells, &facts).blame_environment()
    }

    /// Returns facts about the data of each kind of cell.
    pub(crate) fn describe_data(&self, cells: &[Cell]) -> CommandResult<Vec<CellFacts>> {
        self.ask_facts(&Request::Data(cells.to_vec())).blame_environment()
    }

    /// Returns the predicted cost of cells, with the threads of a worker.
    pub(crate) fn forecast_cells(&self, job: ForecastJob) -> CommandResult<Vec<Forecast>> {
        match self.ask_assistant(&Request::Forecast(job)).blame_environment()? {
            Answer::Forecasts(forecasts) => Ok(forecasts),
            other => Err(unexpected_answer(&other)).blame_environment(),
        }
    }

    /// Returns scores of the blocks of each cell's encoder.
    pub(crate) fn score_blocks(&self, job: ScoreJob) -> CommandResult<Vec<BlockScores>> {
        let count = job.cells.len();
        match self.ask_assistant(&Request::Score(job)).blame_environment()? {
            Answer::Scores(scores) if scores.len() == count => Ok(scores),
            other => Err(unexpected_answer(&other)).blame_environment(),
        }
    }

    /// Measures times of steps, or the memory that they take, in a process that does nothing else.
    pub(crate) fn measure_times(&self, job: &TimingJob, threads: Option<u32>) -> anyhow::Result<PairedTimes> {
        let mut command = self.worker_command();
        command.args(threads.iter().flat_map(|threads| ["--threads".to_string(), threads.to_string()]));
        let Answer::Times(times) = Assistant::start(&mut command)?.ask(&Request::Time(job.clone()))? else {
            bail!("the program {} did not answer with times", self.path.display());
        };
        let cells = job.cells.iter().map(|cell| &cell.id);
        ensure!(cells.eq(times.policies.iter().map(|policy| &policy.cell)), "it timed other cells");
        Ok(times)
    }

    /// Returns the command that starts the program as a worker, with the variables that it reads.
    pub(crate) fn worker_command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("FROSTLINE_REVISION", &self.revision);
        if let Some(trace) = &self.trace {
            command.env(trace::VARIABLE, trace);
        }
        command.args(["worker", "--backend", self.backend.name()]);
        command
    }

    /// Asks for facts about data.
    fn ask_facts(&self, request: &Request) -> anyhow::Result<Vec<CellFacts>> {
        match self.ask_assistant(request)? {
            Answer::Facts(facts) => Ok(facts),
            other => Err(unexpected_answer(&other)),
        }
    }

    /// Asks the process that answers questions, which is started if there is none.
    fn ask_assistant(&self, request: &Request) -> anyhow::Result<Answer> {
        let mut kept = self.assistant.lock().unwrap_or_else(PoisonError::into_inner);
        let mut assistant = match kept.take() {
            Some(assistant) => assistant,
            None => Assistant::start(&mut self.worker_command())?,
        };
        let answer = assistant.ask(request)?;
        *kept = Some(assistant);
        Ok(answer)
    }

    /// Asks the program for its version and backends. It ends with an error if the backend's device is missing.
    fn ask_description(&self) -> anyhow::Result<About> {
        let (path, backend) = (self.path.display(), self.backend);
        let assistant = Assistant::start(&mut self.worker_command())?;
        *self.assistant.lock().unwrap_or_else(PoisonError::into_inner) = Some(assistant);
        let answer = self.ask_assistant(&Request::Version);
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

/// Returns the error for an answer to another question.
fn unexpected_answer(answer: &Answer) -> anyhow::Error {
    let answer: String = format!("{answer:?}").chars().take(200).collect();
    anyhow::anyhow!("the worker answered another question: {answer}")
}
