//! Python environments: each is made once from a list of packages with their hashes, and kept in the user's cache.
//!
//! The name of an environment derives from its list and Python's version, so that a changed list makes a new one, and a new
//! checkout uses those that are there.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::Context as _;

use crate::workspace;

/// The oldest Python that the packages run on.
const OLDEST: (u32, u32) = (3, 11);

/// A file of environments that are being made, or were when their run was ended.
const UNFINISHED: &str = "unfinished";

/// One environment is made at a time, so that two threads may ask for the same one.
static MAKING: Mutex<()> = Mutex::new(());

/// Returns the Python of the environment for this list, or why this machine cannot have one.
///
/// # Errors
/// If the packages cannot be installed although the index can be reached.
pub(crate) fn prepare_environment(list: &str) -> anyhow::Result<Result<PathBuf, String>> {
    let Some(version) = python_version() else { return Ok(Err("python3 cannot be started".into())) };
    if !new_enough(&version) {
        let (major, minor) = OLDEST;
        return Ok(Err(format!("{version}; the packages need {major}.{minor} or newer")));
    }
    let place = environment_folder(&version, list)?;
    let _making = MAKING.lock();
    let (python, unfinished) = (environment_python(&place), place.join(UNFINISHED));
    if python.is_file() && !unfinished.is_file() {
        return Ok(Ok(python));
    }
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)
        .and_then(|()| fs::write(&unfinished, ""))
        .with_context(|| place.display().to_string())?;
    if let Err(error) = workspace::command_output(Command::new("python3").args(["-m", "venv"]).arg(&place)) {
        return Ok(Err(format!("`python3 -m venv` failed: {error}")));
    }
    let pip = |words: &str, path: &Path| {
        let options = "-m pip --quiet --no-input --disable-pip-version-check --no-cache-dir";
        let words = options.split(' ').chain(words.split(' '));
        workspace::command_output(Command::new(&python).args(words).arg(path))
    };
    // Something small first: if even that cannot be downloaded, the machine has no package index.
    let small = place.join("first");
    if let Err(error) =
        pip("--retries 1 --timeout 20 download --no-deps --only-binary=:all: pip --dest", &small)
    {
        return Ok(Err(format!("pip reaches no package index: {error}")));
    }
    let pinned = "install --require-hashes --no-deps --no-compile --only-binary=:all: --requirement";
    pip(pinned, &workspace::workspace_root().join(list))
        .with_context(|| format!("{list} cannot be installed"))?;
    let _ = fs::remove_dir_all(small);
    fs::remove_file(&unfinished)?;
    Ok(Ok(python))
}

/// The interpreter that [`prepare_environment`] would return without making one.
pub(super) fn kept_interpreter(list: &str) -> Option<PathBuf> {
    let place = environment_folder(&python_version()?, list).ok()?;
    Some(environment_python(&place)).filter(|python| python.is_file() && !place.join(UNFINISHED).is_file())
}

/// `Python 3.11.7`, of the interpreter that makes environments.
fn python_version() -> Option<String> {
    let version = workspace::command_output(Command::new("python3").arg("--version")).ok()?;
    Some(version.trim().to_string())
}

fn new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches("Python ").split('.').map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= OLDEST)
}

/// Returns the folder of the environment of a list.
fn environment_folder(version: &str, list: &str) -> anyhow::Result<PathBuf> {
    let list = fs::read(workspace::workspace_root().join(list)).with_context(|| list.to_string())?;
    let cache = frostline_assets::default_cache().unwrap_or_else(workspace::target_folder);
    Ok(cache.join("ci").join(environment_name(version, &list)))
}

fn environment_name(version: &str, list: &[u8]) -> String {
    let key = frostline_assets::sha256(&[version.as_bytes(), b"\n", list].concat());
    format!("python-{}", &key[..16])
}

fn environment_python(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Runs a program of which only the end matters.
pub(super) fn run_quietly(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    inside: &Path,
) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(inside);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a program that prints for people, in the workspace's root.
pub(super) fn run_in_root(command: &mut Command) -> anyhow::Result<bool> {
    Ok(exit_code_in_root(command)? == Some(0))
}

/// Returns the exit code of such a program.
pub(super) fn exit_code_in_root(command: &mut Command) -> anyhow::Result<Option<i32>> {
    let name = command.get_program().to_os_string();
    let status = command.current_dir(workspace::workspace_root()).status();
    Ok(status.with_context(|| format!("{} cannot be started", name.display()))?.code())
}

/// The search path with the folder of an environment's programs in front.
pub(crate) fn path_with(python: &Path) -> anyhow::Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = python.parent().map(PathBuf::from);
    Ok(std::env::join_paths(own.into_iter().chain(std::env::split_paths(&path)))?)
}

/// Whether a program of this name is in a folder of the search path.
pub(crate) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_named_after_its_packages_and_its_python() {
        let name = |version: &str, list: &str| environment_name(version, list.as_bytes());
        assert_eq!(name("Python 3.11.7", "a==1"), name("Python 3.11.7", "a==1"));
        assert_ne!(name("Python 3.11.7", "a==1"), name("Python 3.11.7", "a==2"));
        assert_ne!(name("Python 3.11.7", "a==1"), name("Python 3.12.1", "a==1"));
    }

    #[test]
    fn an_old_python_is_distinguished_from_a_new_one() {
        let versions =
            [("3.11.7", true), ("3.14.0rc1", true), ("3.9.2", false), ("2.7.18", false), ("", false)];
        for (version, new) in versions {
            assert_eq!(new_enough(&format!("Python {version}")), new, "{version}");
        }
    }

    /// Every package has a hash, and no list names a package index.
    #[test]
    fn every_package_is_pinned() {
        for kind in ["book", "browser", "cuda", "onnx", "paper", "python", "track"] {
            let path = workspace::workspace_root().join(format!("tests/{kind}/requirements.txt"));
            let text = fs::read_to_string(path).expect("the list");
            let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            for (at, line) in lines.iter().enumerate() {
                let hash = line.trim_start().starts_with("--hash=sha256:");
                assert!(hash || line.contains("==") && line.ends_with('\\'), "{kind}: {line}");
                assert!(
                    hash || lines.get(at + 1).is_some_and(|next| next.contains("--hash=")),
                    "{kind}: {line}"
                );
            }
        }
    }
}
