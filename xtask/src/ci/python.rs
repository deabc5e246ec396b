//! The Python that tests compare with.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

use anyhow::Context as _;

use super::skips::PYTHON;
use super::venv;
use crate::workspace;

/// The packages, from the workspace's root.
pub(super) const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// Imports what the tests' scripts import, and prints the versions.
const TRIAL: &str = "\
import importlib.metadata as metadata
import torch, transformers, udtools.udeval
torch.ones(2, 2).softmax(-1)
print(', '.join(f'{name} {metadata.version(name)}' for name in ('torch', 'transformers', 'udtools')))";

/// An environment that is being made: the interpreter and its packages' versions, or why this machine cannot have it.
pub(super) type Making = JoinHandle<anyhow::Result<Result<(PathBuf, String), String>>>;

/// Returns the interpreter that `FROSTLINE_PYTHON` names, or one made here or in an earlier run.
pub(super) fn prepare_interpreter() -> anyhow::Result<Result<(PathBuf, String), String>> {
    let found = named_interpreter()
        .map_or_else(|| venv::prepare_environment(REQUIREMENTS), |python| Ok(Ok(python)))?;
    Ok(match found {
        Ok(python) => Ok((python.clone(), import_packages(&python)?)),
        Err(reason) => Err(reason),
    })
}

/// The interpreter that `prepare` would return without making an environment.
pub(super) fn kept_interpreter() -> Option<PathBuf> {
    named_interpreter().or_else(|| venv::kept_interpreter(REQUIREMENTS))
}

fn named_interpreter() -> Option<PathBuf> {
    std::env::var_os(PYTHON).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// Imports the packages and gives their versions.
fn import_packages(python: &Path) -> anyhow::Result<String> {
    let versions = workspace::command_output(Command::new(python).args(["-c", TRIAL]));
    let versions =
        versions.with_context(|| format!("{}: its packages cannot be imported", python.display()))?;
    Ok(format!("{}: {}", python.display(), versions.trim()))
}
