//! The worker program: `frostline`, started as a separate process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use frostline_record::{Bits, Cell, CellFacts, Forecast, PairedTimes, TimingJob};
use serde::{Deserialize, Serialize};

use crate::backend::Backend;
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
}

/// The output of `frostline version --json`. Further keys are ignored.
#[derive(Debug, Deserialize)]
pub struct About {
    /// Frostline's version.
    pub version: String,
    /// The hash of the sources that compute results.
    pub code: String,
    /// The backends that it was built with.
    pub backends: Vec<String>,
    /// The one that was asked for, or for `auto` the one that it chose.
    #[serde(default)]
    pub backend: String,
    /// The instruction set that its kernels use on this machine.
    pub isa: String,
    /// Where its results repeat bit for bit.
    #[serde(default)]
    pub bits: Bits,
    /// The processor or the GPU.
    pub device: String,
    /// How many GPUs the backend can compute on.
    #[serde(default)]
    pub gpus: usize,
    /// Whether the backend `amx` can compute here.
    #[serde(default)]
    pub amx: bool,
}

impl Program {
    /// Starts the program at `path` once, to check that it has the backend and that the backend's device is present.
    ///
    /// # Errors
    /// If it cannot be started, is not a Frostline program, or cannot run the backend on this machine.
    pub fn at(path: &Path, backend: Backend, revision: String) -> Result<Self> {
        let path = std::path::absolute(path).environment()?;
        let about = describe(&path, backend).environment()?;
        let backend = about.backend.parse().unwrap_or(backend);
        Ok(Self { path, backend, about, revision, trace: None })
    }

    /// The program that is currently running.
    ///
    /// # Errors
    /// As for [`Program::at`].
    pub fn itself(backend: Backend) -> Result<Self> {
        let path = std::env::current_exe().context("the program's own file cannot be found").environment()?;
        Self::at(&path, backend, String::new())
    }

    /// Checks cells before any of them starts: the shapes of the weights, the tokenizer, strict tags. Returns warnings about
    /// their data, as lines.
    pub(crate) fn check(&self, cells: &[Cell]) -> Result<String> {
        let warnings = self.output_for(cells, &["check"]).environment()?;
        Ok(String::from_utf8_lossy(&warnings).into_owned())
    }

    /// Facts about the data of each kind of cell.
    pub(crate) fn data(&self, cells: &[Cell]) -> Result<Vec<CellFacts>> {
        let answer = self.output_for(cells, &["data"]).environment()?;
        let place = || format!("{} data: not the output of a Frostline program", self.path.display());
        serde_json::from_slice(&answer).with_context(place).environment()
    }

    /// What cells are predicted to cost, with the threads of a worker.
    pub(crate) fn forecast(
        &self,
        cells: &[Cell],
        threads: usize,
        calibrate: bool,
        prefix_cache: bool,
    ) -> Result<Vec<Forecast>> {
        let (backend, threads) = (self.backend.to_string(), threads.to_string());
        let mut arguments = vec!["forecast", "--backend", &backend, "--threads", &threads];
        arguments.extend(calibrate.then_some("--calibrate"));
        arguments.extend((!prefix_cache).then_some("--no-prefix-cache"));
        let answer = self.output_for(cells, &arguments).environment()?;
        let place = || format!("{} forecast: not the output of a Frostline program", self.path.display());
        serde_json::from_slice(&answer).with_context(place).environment()
    }

    /// Times of steps, or the memory that they take.
    pub(crate) fn time(&self, job: &TimingJob, threads: Option<u32>) -> anyhow::Result<PairedTimes> {
        let (backend, threads) = (self.backend.to_string(), threads.map(|threads| threads.to_string()));
        let mut arguments = vec!["time", "--backend", &backend];
        arguments.extend(threads.iter().flat_map(|threads| ["--threads", threads]));
        let answer = self.output_for(job, &arguments)?;
        let place = || format!("{} time: not the output of a Frostline program", self.path.display());
        let times: PairedTimes = serde_json::from_slice(&answer).with_context(place)?;
        let cells = job.cells.iter().map(|cell| &cell.id);
        ensure!(cells.eq(times.policies.iter().map(|policy| &policy.cell)), "it timed other cells");
        Ok(times)
    }

    /// The program with the variables that it reads.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.env("FROSTLINE_REVISION", &self.revision);
        if let Some(trace) = &self.trace {
            command.env(trace::VARIABLE, trace);
        }
        command
    }

    /// Runs a command that reads a value as JSON from standard input, and returns its output. The command ends when this
    /// process does.
    fn output_for(&self, input: &(impl Serialize + ?Sized), arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        let mut child = self
            .command()
            .args(arguments)
            .arg("--while-open")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("the program {} cannot be started", self.path.display()))?;
        let mut stdin = child.stdin.take().expect("standard input is piped");
        // A program that finds a fault early closes its input; its own error message is more useful.
        let _ = serde_json::to_writer(&mut stdin, input);
        let output = child.wait_with_output().context("the program did not end")?;
        drop(stdin);
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{}", errors.trim().trim_start_matches("error: "));
        }
        Ok(output.stdout)
    }
}

/// Asks a program for its version and backends. It ends with an error if the backend's device is missing.
fn describe(path: &Path, backend: Backend) -> anyhow::Result<About> {
    let output = Command::new(path)
        .args(["version", "--json", "--backend", &backend.to_string()])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("the program {} cannot be started", path.display()))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let errors = errors.trim().trim_start_matches("error: ");
        bail!("the backend {backend} cannot run here: {errors}");
    }
    let about: About = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: not the output of a Frostline program", path.display()))?;
    if backend != Backend::Auto && !about.backends.iter().any(|name| *name == backend.to_string()) {
        bail!(
            "the program {} has no backend `{backend}`; it was built with: {}",
            path.display(),
            about.backends.join(", ")
        );
    }
    Ok(about)
}
