//! The runner: built for one backend, kept as a copy of its own, and asked what it is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use frostline_record::{Cell, CellFacts};
use serde::Deserialize;

use crate::args::Backend;
use crate::fault::{Blame as _, Result};
use crate::workspace;

/// A runner that can be started.
#[derive(Debug)]
pub(crate) struct Runner {
    /// The binary.
    pub path: PathBuf,
    /// What the tensors run on.
    pub backend: Backend,
    /// What it says about itself.
    pub about: About,
    /// The git revision of the workspace, for the records.
    pub revision: String,
}

/// What `frostline version --json` answers. It may say more than is needed here.
#[derive(Debug, Deserialize)]
pub(crate) struct About {
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

impl Runner {
    /// Builds the runner, or takes the one given, and sees that it starts.
    pub(crate) fn prepare(backend: Backend, given: Option<&Path>) -> Result<Self> {
        let path = match given {
            Some(path) => std::path::absolute(path).environment()?,
            None => build(backend).environment()?,
        };
        let about = ask(&path, backend).environment()?;
        Ok(Self { path, backend, about, revision: revision() })
    }
}

impl Runner {
    /// Lets the runner try what it can find wrong with cells before any starts: the weights'
    /// shapes, the tokenizer, strict tags.
    pub(crate) fn check(&self, cells: &[Cell]) -> Result<()> {
        self.ask_about(cells, "check").environment()?;
        Ok(())
    }

    /// What the data of each kind of cell are.
    pub(crate) fn data(&self, cells: &[Cell]) -> Result<Vec<CellFacts>> {
        let answer = self.ask_about(cells, "data").environment()?;
        let place = || format!("{} data: no answer of a Frostline runner", self.path.display());
        serde_json::from_slice(&answer).with_context(place).environment()
    }

    /// What a command of the runner that takes cells writes.
    fn ask_about(&self, cells: &[Cell], command: &str) -> anyhow::Result<Vec<u8>> {
        let mut child = Command::new(&self.path)
            .arg(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("the runner {} cannot be started", self.path.display()))?;
        let stdin = child.stdin.take().expect("standard input is piped");
        // A runner that found its fault early closes its input; what it says tells more.
        let _ = serde_json::to_writer(stdin, cells);
        let output = child.wait_with_output().context("the runner did not end")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{}", said.trim().trim_start_matches("error: "));
        }
        Ok(output.stdout)
    }
}

/// Builds the runner with cargo's progress in sight, and copies it, so that the build for another
/// backend cannot swap it under a running sweep.
fn build(backend: Backend) -> anyhow::Result<PathBuf> {
    eprintln!("build     the runner for {backend} (release; minutes at first, seconds afterwards)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--package", "frostline", "--no-default-features"])
        .args(["--features", &backend.to_string()])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace::root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("the runner for {backend} does not build; cargo said why above");
    }
    let built =
        executable(&output.stdout).ok_or_else(|| anyhow!("cargo built no binary named `frostline`"))?;
    keep(&built, backend).with_context(|| format!("{} cannot be copied", built.display()))
}

/// The binary among cargo's messages.
fn executable(messages: &[u8]) -> Option<PathBuf> {
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "frostline")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// Copies a binary to `target/runners/frostline-BACKEND`; a running copy keeps its own file.
fn keep(built: &Path, backend: Backend) -> std::io::Result<PathBuf> {
    let target = built.ancestors().nth(2).unwrap_or(Path::new("."));
    let folder = target.join("runners");
    std::fs::create_dir_all(&folder)?;
    let kept = folder.join(format!("frostline-{backend}{}", std::env::consts::EXE_SUFFIX));
    let part = folder.join(format!("frostline-{backend}.{}.part", std::process::id()));
    std::fs::copy(built, &part)?;
    std::fs::rename(&part, &kept)?;
    Ok(kept)
}

/// Asks a runner what it is. A runner whose device is missing answers with an error here.
fn ask(path: &Path, backend: Backend) -> anyhow::Result<About> {
    let output = Command::new(path)
        .args(["version", "--json", "--backend", &backend.to_string()])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("the runner {} cannot be started", path.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ");
        bail!("the runner for {backend} cannot work here: {said}");
    }
    let about: About = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{}: no answer of a Frostline runner", path.display()))?;
    if !about.backends.iter().any(|name| *name == backend.to_string()) {
        bail!(
            "the runner {} has no backend `{backend}`; it was built with: {}",
            path.display(),
            about.backends.join(", ")
        );
    }
    Ok(about)
}

/// The git revision, with `+` where tracked files have changes; empty outside a checkout.
fn revision() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(workspace::root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let Some(revision) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return String::new();
    };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    format!("{revision}{}", if changed { "+" } else { "" })
}
