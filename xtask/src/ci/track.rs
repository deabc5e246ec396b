//! The step `track`: what a sweep writes for TensorBoard, MLflow and Weights & Biases, read with their own programs as
//! `tests/track/check.py` does it. They are installed once from a pinned list into `target/track`.

use std::fs;
use std::process::Command;

use anyhow::Context as _;

use super::outcome::Outcome;
use super::venv::{self, succeeds};
use crate::workspace;
use frostline_sweep::say;

/// The script with the list of packages, from the workspace's root.
const FOLDER: &str = "tests/track";

/// Tracks a sweep that this program runs.
pub(super) fn run(step: &str, program: &str) -> anyhow::Result<Outcome> {
    say!("\n== {step}: a sweep, read with TensorBoard, MLflow and Weights & Biases");
    let place = workspace::root().join("target/track");
    let source = workspace::root().join(FOLDER);
    fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let Some(python) = venv::with_packages(&place, &source.join("requirements.txt")) else {
        let reason = "python3 cannot install mlflow, tensorboard and wandb";
        say!("WHAT IS TRACKED IS NOT READ AGAIN: {reason}");
        return Ok(Outcome::Skipped(reason.into()));
    };
    let mut check = Command::new(python);
    check.arg(source.join("check.py")).arg("--program").arg(program);
    succeeds(&mut check).map(Outcome::of)
}
