//! The program that works on cells: `frostline`, started again as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use frostline_record::{Cell, CellFacts};
use serde::Deserialize;

use crate::args::Backend;
use crate::fault::{Blame as _, Result};

/// A program that can be started as a worker.
#[derive(Debug)]
pub struct Program {
    /// The binary.
    pub path: PathBuf,
    /// What the tensors run on.
    pub backend: Backend,
    /// What it says about itself.
    pub about: About,
    /// The git revision of its sources, for the records; empty where unknown.
    pub revision: String,
}

/// What `frostline version --json` answers. It may say more than is needed here.
#[derive(Debug, Deserialize)]
pub struct About {
    /// Frostline's version.
    pub version: String,
    /// Hash of the code that computes results.
    pub code: String,
    /// The backends that were built in.
    pub backends: Vec<String>,
    /// The instruction set its kernels use here.
    pub isa: String,
    /// The processor.
    pub device: String,
}

impl Program {
    /// Starts the program at `path` once, to see that it has the backend and that the backend's device is there.
    ///
    /// # Errors
    /// Where it does not start, is no Frostline program, or cannot run the backend here.
    pub fn at(path: &Path, backend: Backend, revision: String) -> Result<Self> {
        let path = std::path::absolute(path).environment()?;
        let about = describe(&path, backend).environment()?;
        Ok(Self { path, backend, about, revision })
    }

    /// The program that is running now.
    ///
    /// # Errors
    /// As [`Program::at`].
    pub fn itself(backend: Backend) -> Result<Self> {
        let path = std::env::current_exe().context("the program's own file cannot be found").environment()?;
        Self::at(&path, backend, String::new())
    }

    /// Checks cells before any starts: the weights' shapes, the tokenizer, strict tags.
    pub(crate) fn check(&self, cells: &[Cell]) -> Result<()> {
        self.output_for(cells, "check").environment()?;
        Ok(())
    }

    /// What the data of each kind of cell are.
    pub(crate) fn data(&self, cells: &[Cell]) -> Result<Vec<CellFacts>> {
        let answer = self.output_for(cells, "data").environment()?;
        let place = || format!("{} data: not the answer of a Frostline program", self.path.display());
        serde_json::from_slice(&answer).with_context(place).environment()
    }

    /// The output of a command that reads cells from standard input.
    fn output_for(&self, cells: &[Cell], command: &str) -> anyhow::Result<Vec<u8>> {
        let mut child = Command::new(&self.path)
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("the program {} cannot be started", self.path.display()))?;
        let stdin = child.stdin.take().expect("standard input is piped");
        // A program that finds a fault early closes its input; its own message says more.
        let _ = serde_json::to_writer(stdin, cells);
        let output = child.wait_with_output().context("the program did not end")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{}", said.trim().trim_start_matches("error: "));
        }
        Ok(output.stdout)
    }
}

/// What a program says about itself. One whose device is missing ends with an error here.
fn describe(path: &Path, backend: Backend) -> anyhow::Result<About> {
    let output = Command::new(path)
        .args(["version", "--json", "--backend", &backend.to_string()])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("the program {} cannot be started", path.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ");
        bail!("the backend {backend} cannot run here: {said}");
    }
    let about: About = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: not the answer of a Frostline program", path.display()))?;
    if !about.backends.iter().any(|name| *name == backend.to_string()) {
        bail!(
            "the program {} has no backend `{backend}`; it was built with: {}",
            path.display(),
            about.backends.join(", ")
        );
    }
    Ok(about)
}
