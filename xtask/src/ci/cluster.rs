//! The step `cluster`: a study on a real SLURM of four nodes on this machine, while things go wrong, as
//! `tests/cluster/check.py` does it.

use std::process::Command;

use anyhow::Context as _;

use super::outcome::Outcome;
use crate::workspace;
use frostline_sweep::say;

/// The script, from the workspace's root.
const SCRIPT: &str = "tests/cluster/check.py";

/// The cases that CI has time for; without this choice the script runs all of them, which takes a quarter of an hour.
const CASES: &str = "plain,stays,too-many,cancelled,two-sweeps";

/// Its exit code where SLURM or munge is not installed or does not start, as it said then.
const LACKING: i32 = 77;

/// Runs these cases with this program.
pub(super) fn run(step: &str, program: &str) -> anyhow::Result<Outcome> {
    say!("\n== {step}: a study on four nodes of SLURM");
    let mut check = Command::new("python3");
    check.arg(workspace::root().join(SCRIPT)).arg("--program").arg(program).args(["--only", CASES]);
    let status = check.current_dir(workspace::root()).status().context("python3 cannot be started")?;
    if status.code() == Some(LACKING) {
        say!("NO STUDY IS RUN ON A CLUSTER: SLURM is not here, see above");
        return Ok(Outcome::Skipped("SLURM is not here".into()));
    }
    Ok(Outcome::of(status.success()))
}
