//! The step `browser`: the report's page in a real browser, as `tests/browser/check.py` uses it.
//!
//! Chromium is the system's. Playwright, which drives it, is a package of a Python environment; axe-core, which looks for
//! faults of accessibility, is installed by npm into `target/browser`. Nothing of either is part of a page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::outcome::StepOutcome;
use super::skips::Skip;
use super::venv::{on_path, prepare_environment, run_in_root, run_quietly};
use crate::workspace::{self, built_file};
use frostline_sweep::say;

/// The script with what it needs, from the workspace's root.
const FOLDER: &str = "tests/browser";

/// Names a Chromium; without it the search path is asked.
const CHROMIUM: &str = "FROSTLINE_CHROMIUM";

/// Names of the installed program; `check.py` has the same list.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Writes and checks the page of a made-up sweep, and a page of a thousand cells, and prints how soon that one opens.
pub(super) fn check_pages(step: &str, skips: &mut Vec<Skip>) -> anyhow::Result<StepOutcome> {
    say!("\n== {step}: the report's page in Chromium");
    if !has_chromium() {
        return Ok(StepOutcome::skip_here("there is no Chromium; Debian's package is `chromium`"));
    }
    let place = workspace::workspace_root().join("target/browser");
    let source = workspace::workspace_root().join(FOLDER);
    fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let python = match prepare_environment("tests/browser/requirements.txt")? {
        Ok(python) => python,
        Err(reason) => return Ok(StepOutcome::skip_here(reason)),
    };
    // The build of the step `test`, which makes examples too.
    if !run_in_root(&mut workspace::cargo_command("test --quiet --workspace --no-run"))? {
        return Ok(StepOutcome::Failed);
    }
    let (page, large) = (place.join("page"), place.join("large"));
    for (folder, cells) in [(&page, "30"), (&large, "1000")] {
        let mut example = Command::new(built_file(&format!("examples/page{}", std::env::consts::EXE_SUFFIX)));
        if !run_in_root(example.arg(folder).arg(cells))? {
            return Ok(StepOutcome::Failed);
        }
    }
    let mut check = Command::new(&python);
    check.arg(source.join("check.py")).arg(&page);
    match axe_script(&place, &source) {
        Some(axe) => {
            check.arg("--axe").arg(axe);
        }
        None => {
            let reason = "npm cannot install axe-core: faults of accessibility are not looked for";
            say!("{reason}");
            skips.push(Skip::of_step(step, "npm", reason));
        }
    }
    let mut times = Command::new(&python);
    times.arg(source.join("check.py")).arg(&large).arg("--times");
    Ok(StepOutcome::from_passed(run_in_root(&mut check)? && run_in_root(&mut times)?))
}

fn has_chromium() -> bool {
    let named = std::env::var_os(CHROMIUM).filter(|name| !name.is_empty()).map(PathBuf::from);
    named.is_some_and(|path| path.is_file()) || NAMES.iter().any(|name| on_path(name))
}

/// Returns the script of axe-core, with the hash that the lock file names; `None` if npm cannot install it.
fn axe_script(place: &Path, source: &Path) -> Option<PathBuf> {
    let folder = place.join("npm");
    fs::create_dir_all(&folder).ok()?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), folder.join(name)).ok()?;
    }
    let installed = run_quietly("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], &folder);
    Some(folder.join("node_modules/axe-core/axe.min.js")).filter(|script| installed && script.is_file())
}
