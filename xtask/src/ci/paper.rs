//! The step `paper`: a report used as the author of a paper uses it, with pandas, pdfLaTeX and poppler, as `tests/paper/check.py`
//! does it. The Python packages are installed once from a pinned list into `target/paper`; pdfLaTeX and poppler are the
//! system's.

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
    for (tool, argument, option, reason) in [
        (
            "pdflatex",
            "--version",
            "--no-latex",
            "there is no pdflatex (texlive-latex-recommended): no text is compiled",
        ),
        (
            "pdffonts",
            "-v",
            "--no-poppler",
            "there is no pdffonts (poppler-utils): the fonts of figures are not looked at",
        ),
    ] {
        if !quiet(tool, [argument], &place) {
            say!("NOT ALL IS CHECKED: {reason}");
            skips.push(Skip::of_step(step, "latex", reason));
            check.arg(option);
        }
    }
    succeeds(&mut check).map(Outcome::of)
}
