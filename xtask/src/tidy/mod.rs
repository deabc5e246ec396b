//! `cargo xtask tidy`: what the project promises about its own shape, checked on the tracked files.
//!
//! It reads; it mends nothing.

mod crates;
mod files;

use std::process::Command;

use anyhow::{Context as _, bail};

use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, Result};

use crate::workspace;

/// Checks everything and tells all that is wrong.
pub(crate) fn tidy() -> Result<Ending> {
    let tracked = tracked().environment()?;
    let mut faults = crates::check().environment()?;
    faults.extend(files::check(&tracked));
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() {
        println!("tidy      {} tracked files, nothing to say", tracked.len());
        return Ok(Ending::Done);
    }
    eprintln!("tidy: {} to fix", frostline_sweep::units::counted(faults.len(), "place"));
    Ok(Ending::Failed)
}

/// The files git knows, relative to the root, and those it would not ignore.
fn tracked() -> anyhow::Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .current_dir(workspace::root())
        .output()
        .context("git cannot be started")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let names = String::from_utf8(output.stdout).context("a file's name is no UTF-8")?;
    let there = |name: &&str| !name.is_empty() && workspace::root().join(name).is_file();
    Ok(names.split('\0').filter(there).map(String::from).collect())
}
