//! The step `paper`: a report used as the author of a paper uses it, with pandas and pdfLaTeX, as `tests/paper/check.py`
//! does it. The Python packages are installed once from a pinned list into `target/paper`; pdfLaTeX is the system's.

use std::fs;
use std::process::Command;

use anyhow::Context as _;

use super::outcome::Outcome;
use super::skips::Skip;
use super::venv::{self, quiet, succeeds};
use crate::workspace;
use frostline_sweep::say;

/// The script with the list of packages and the text, from the workspace's root.
const FOLDER: &str = "tests/paper";

/// Checks the report of a sweep that this program runs.
pub(super) fn run(step: &str, program: &str, skips: &mut Vec<Skip>) -> anyhow::Result<Outcome> {
    say!("\n== {step}: a report in pandas and pdfLaTeX");
    let place = workspace::root().join("target/paper");
    let source = workspace::root().join(FOLDER);
    fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let Some(python) = venv::with_packages(&place, &source.join("requirements.txt")) else {
        let reason = "python3 cannot install pandas and pyarrow";
        say!("THE TABLES FOR PANDAS AND LATEX ARE NOT READ: {reason}");
        return Ok(Outcome::Skipped(reason.into()));
    };
    let mut check = Command::new(python);
    check.arg(source.join("check.py")).arg("--program").arg(program);
    if !quiet("pdflatex", ["--version"], &place) {
        let reason = "there is no pdflatex (Debian's texlive-latex-recommended): no text is compiled";
        say!("NO TEXT IS COMPILED: {reason}");
        skips.push(Skip::of_step(step, "latex", reason));
        check.arg("--no-latex");
    }
    succeeds(&mut check).map(Outcome::of)
}
