//! The step `browser`: the report's page in a real browser, as `tests/browser/check.py` uses it.
//!
//! Chromium is the system's. Playwright, which drives it, is installed once from a pinned list into `target/browser`;
//! axe-core, which looks for faults of accessibility, by npm into the same folder. Nothing of either is part of a page.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

use super::skips::Skip;
use crate::workspace;
use frostline_sweep::say;

/// The script with what it needs, from the workspace's root.
const FOLDER: &str = "tests/browser";

/// Names a Chromium; without it the search path is asked.
const CHROMIUM: &str = "FROSTLINE_CHROMIUM";

/// What the program is called where it is installed; `check.py` has the same list.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// How the check ended.
pub(super) enum Checked {
    Passed,
    Failed,
    /// The machine lacks something, for this reason.
    Lacking(String),
}

/// Writes the page of a made-up sweep and checks it.
pub(super) fn run(step: &str, skips: &mut Vec<Skip>) -> anyhow::Result<Checked> {
    let lacking = |reason: &str| {
        say!("THE PAGE IS NOT TESTED IN A BROWSER: {reason}");
        Ok(Checked::Lacking(reason.into()))
    };
    if !has_chromium() {
        return lacking("there is no Chromium; Debian's package is `chromium`");
    }
    let place = workspace::root().join("target/browser");
    let source = workspace::root().join(FOLDER);
    fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let Some(python) = playwright(&place, &source) else {
        return lacking("python3 cannot install Playwright");
    };
    let page = place.join("page");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["run", "--quiet", "--package", "frostline-report", "--example", "page", "--"])
        .arg(&page)
        .arg("30");
    if !succeeds(cargo.current_dir(workspace::root()))? {
        return Ok(Checked::Failed);
    }
    let mut check = Command::new(python);
    check.arg(source.join("check.py")).arg(&page);
    match axe(&place, &source) {
        Some(axe) => {
            check.arg("--axe").arg(axe);
        }
        None => {
            let reason = "npm cannot install axe-core: faults of accessibility are not looked for";
            say!("{reason}");
            skips.push(Skip::of_step(step, "npm", reason));
        }
    }
    Ok(if succeeds(&mut check)? { Checked::Passed } else { Checked::Failed })
}

fn has_chromium() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::var_os(CHROMIUM).filter(|name| !name.is_empty()).map(PathBuf::from);
    named.is_some_and(|path| path.is_file())
        || std::env::split_paths(&path).any(|folder| NAMES.iter().any(|name| folder.join(name).is_file()))
}

/// A Python with the packages of the list; nothing where it cannot be made.
fn playwright(place: &Path, source: &Path) -> Option<PathBuf> {
    let environment = place.join("python");
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let list = source.join("requirements.txt");
    let installed = place.join("requirements.txt");
    let is_kept = || fs::read(&list).is_ok_and(|list| fs::read(&installed).is_ok_and(|kept| kept == list));
    if python.is_file() && is_kept() {
        return Some(python);
    }
    let _ = fs::remove_dir_all(&environment);
    let made = quiet("python3", [OsStr::new("-m"), OsStr::new("venv"), environment.as_os_str()], place);
    let pinned =
        ["-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check", "install", "--require-hashes"];
    let more = ["--no-deps", "--only-binary=:all:", "--requirement"];
    let arguments = pinned.iter().chain(&more).map(OsStr::new).chain([list.as_os_str()]);
    (made && quiet(&python, arguments, place) && fs::copy(&list, &installed).is_ok()).then_some(python)
}

/// The script of axe-core, with the hash that the lock file names; nothing where npm cannot install it.
fn axe(place: &Path, source: &Path) -> Option<PathBuf> {
    let folder = place.join("npm");
    fs::create_dir_all(&folder).ok()?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), folder.join(name)).ok()?;
    }
    let installed = quiet("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], &folder);
    Some(folder.join("node_modules/axe-core/axe.min.js")).filter(|script| installed && script.is_file())
}

/// Runs a program of which only the end matters.
fn quiet(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    inside: &Path,
) -> bool {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(inside)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let name = command.get_program().to_os_string();
    Ok(command.status().with_context(|| format!("{} cannot be started", name.display()))?.success())
}
