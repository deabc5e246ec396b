//! The Python environment that tests compare with: made once per list of packages, and kept.
//!
//! Packages are pinned with their hashes and installed as wheels. An environment is kept in the user's cache under
//! a name derived from the list and Python's version; only a complete environment gets that name.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context as _, bail};

use super::skips::PYTHON;
use crate::workspace;
use frostline_sweep::units::clock;

/// The packages, from the workspace's root.
pub(super) const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// The oldest Python that the packages run on.
const OLDEST: (u32, u32) = (3, 11);

/// Imports what the tests' scripts import, and prints the versions.
const TRIAL: &str = "\
import importlib.metadata as metadata
import torch, transformers, udtools.udeval
torch.ones(2, 2).softmax(-1)
print(', '.join(f'{name} {metadata.version(name)}' for name in ('torch', 'transformers', 'udtools')))";

/// An environment that is being made.
pub(super) type Making = JoinHandle<anyhow::Result<Found>>;

/// The result of preparing an environment.
#[derive(Debug)]
pub(super) enum Found {
    /// The interpreter, and a message about it.
    Ready { python: PathBuf, said: String },
    /// This machine cannot have one, for this reason.
    Lacking(String),
}

/// The interpreter that `FROSTLINE_PYTHON` names, or one made here or in an earlier run.
///
/// If there is no Python, no `venv` or no package index, the result is [`Found::Lacking`]. Packages that cannot be
/// installed although the index can be reached are an error.
pub(super) fn prepare() -> anyhow::Result<Found> {
    if let Some(python) = named() {
        let versions = tried(&python).with_context(|| format!("{PYTHON} is {}", python.display()))?;
        return Ok(Found::Ready { python, said: format!("{PYTHON} is set: {versions}") });
    }
    let Some(version) = version() else { return Ok(Found::Lacking("python3 cannot be started".into())) };
    if !new_enough(&version) {
        let (major, minor) = OLDEST;
        return Ok(Found::Lacking(format!("{version}; the packages need {major}.{minor} or newer")));
    }
    let place = place(&version)?;
    let python = interpreter(&place);
    if let Ok(versions) = tried(&python) {
        return Ok(Found::Ready { python, said: format!("kept from an earlier run: {versions}") });
    }
    let _ = std::fs::remove_dir_all(&place);
    remove_leftovers(&place);
    let part = place.with_extension(format!("{}.part", std::process::id()));
    let started = Instant::now();
    let lacking = make(&part);
    if let Ok(None) = lacking {
        // If another run was faster, its environment is used.
        let _ = std::fs::rename(&part, &place);
    }
    let _ = std::fs::remove_dir_all(&part);
    if let Some(reason) = lacking? {
        return Ok(Found::Lacking(reason));
    }
    let said = format!("made in {}: {}", clock(started.elapsed().as_secs_f64()), tried(&python)?);
    Ok(Found::Ready { python, said })
}

/// The interpreter that `prepare` would return without making an environment.
pub(super) fn kept() -> Option<PathBuf> {
    named().or_else(|| Some(interpreter(&place(&version()?).ok()?)).filter(|python| python.is_file()))
}

fn named() -> Option<PathBuf> {
    std::env::var_os(PYTHON).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// `Python 3.11.7`, of the interpreter that makes environments.
fn version() -> Option<String> {
    let output = Command::new("python3").arg("--version").output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches("Python ").split('.').map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= OLDEST)
}

/// The folder of the environment of the current list.
fn place(version: &str) -> anyhow::Result<PathBuf> {
    let list = std::fs::read(workspace::root().join(REQUIREMENTS)).context(REQUIREMENTS)?;
    let cache = frostline_assets::default_cache().unwrap_or_else(|| workspace::root().join("target"));
    Ok(cache.join("ci").join(name(version, &list)))
}

fn name(version: &str, list: &[u8]) -> String {
    let key = frostline_assets::sha256(&[version.as_bytes(), b"\n", list].concat());
    format!("python-{}", &key[..16])
}

fn interpreter(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Removes incomplete environments of killed runs; one that was changed within the last hour may be in use.
fn remove_leftovers(place: &Path) {
    let folder = place.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    for entry in folder.into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|found| found.modified()).map(|time| time.elapsed());
        let old = matches!(age, Ok(Ok(age)) if age.as_secs() > 3600);
        if old && entry.path().extension().is_some_and(|ending| ending == "part") {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Makes an environment; returns the reason if this machine cannot.
fn make(part: &Path) -> anyhow::Result<Option<String>> {
    std::fs::create_dir_all(part).with_context(|| part.display().to_string())?;
    let made = output(Command::new("python3").args(["-m", "venv"]).arg(part))?;
    if !made.status.success() {
        return Ok(Some(format!("`python3 -m venv` failed: {}", last_line(&made))));
    }
    let pip = |arguments: &[&str], more: &[&Path]| {
        let mut command = Command::new(interpreter(part));
        command.args(["-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir"]);
        output(command.args(arguments).args(more))
    };
    // Something small first: if even that cannot be downloaded, the machine has no package index.
    let quick = ["--retries", "1", "--timeout", "20", "download", "--no-deps", "--only-binary=:all:", "pip"];
    let reached = pip(&quick, &[Path::new("--dest"), &part.join("first")])?;
    if !reached.status.success() {
        return Ok(Some(format!("pip reaches no package index: {}", last_line(&reached))));
    }
    let pinned =
        ["install", "--require-hashes", "--no-deps", "--no-compile", "--only-binary=:all:", "--requirement"];
    let installed = pip(&pinned, &[&workspace::root().join(REQUIREMENTS)])?;
    if !installed.status.success() {
        bail!("{REQUIREMENTS} cannot be installed: {}", last_line(&installed));
    }
    let _ = std::fs::remove_dir_all(part.join("first"));
    tried(&interpreter(part)).map(|_| None)
}

/// Imports the packages and gives their versions.
fn tried(python: &Path) -> anyhow::Result<String> {
    let tried = output(Command::new(python).args(["-c", TRIAL]))?;
    if !tried.status.success() {
        bail!("its packages cannot be imported: {}", last_line(&tried));
    }
    Ok(String::from_utf8_lossy(&tried.stdout).trim().to_string())
}

fn output(command: &mut Command) -> anyhow::Result<Output> {
    let name = command.get_program().to_os_string();
    command.stdin(Stdio::null()).output().with_context(|| format!("{} cannot be started", name.display()))
}

/// The last line of a program's output, which is usually its error.
fn last_line(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_named_after_its_packages_and_its_python() {
        let name = |version: &str, list: &str| name(version, list.as_bytes());
        assert_eq!(name("Python 3.11.7", "a==1"), name("Python 3.11.7", "a==1"));
        assert_ne!(name("Python 3.11.7", "a==1"), name("Python 3.11.7", "a==2"));
        assert_ne!(name("Python 3.11.7", "a==1"), name("Python 3.12.1", "a==1"));
    }

    #[test]
    fn an_old_python_is_distinguished_from_a_new_one() {
        for (version, new) in [
            ("Python 3.11.7", true),
            ("Python 3.14.0rc1", true),
            ("Python 3.9.2", false),
            ("Python 2.7.18", false),
            ("", false),
        ] {
            assert_eq!(new_enough(version), new, "{version}");
        }
    }

    /// Every package has a hash, and the list names no package index.
    #[test]
    fn every_package_is_pinned() {
        let text = std::fs::read_to_string(workspace::root().join(REQUIREMENTS)).expect("the list");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        for (at, line) in lines.iter().enumerate() {
            let hash = line.trim_start().starts_with("--hash=sha256:");
            assert!(hash || line.contains("==") && line.ends_with('\\'), "{line}");
            assert!(hash || lines.get(at + 1).is_some_and(|next| next.contains("--hash=")), "{line}");
        }
    }
}
