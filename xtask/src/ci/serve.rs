//! The step `serve`: attacks on the live page's server, as `tests/serve/attack.py` makes them. It needs the standard library
//! of Python alone, and reads memory where Linux reports it.

use std::process::Command;

use anyhow::Context as _;

use super::outcome::Outcome;
use crate::workspace;
use frostline_sweep::say;

/// The script, from the workspace's root.
const SCRIPT: &str = "tests/serve/attack.py";

/// Attacks the server of this program.
pub(super) fn run(step: &str, program: &str) -> anyhow::Result<Outcome> {
    say!("\n== {step}: attacks on the live page's server");
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::Skipped("memory is read as Linux reports it".into()));
    }
    let mut attack = Command::new("python3");
    attack.arg(workspace::root().join(SCRIPT)).arg("--program").arg(program).args(["--rush-s", "5"]);
    let status = attack.current_dir(workspace::root()).status().context("python3 cannot be started")?;
    Ok(Outcome::of(status.success()))
}
