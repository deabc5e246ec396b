//! Python environments of single steps: made once from a pinned list into a folder of `target`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;

/// The Python of an environment below `place` with the packages of the list; nothing where it cannot be made.
pub(super) fn with_packages(place: &Path, list: &Path) -> Option<PathBuf> {
    let environment = place.join("python");
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let installed = place.join("requirements.txt");
    let is_kept = || fs::read(list).is_ok_and(|list| fs::read(&installed).is_ok_and(|kept| kept == list));
    if python.is_file() && is_kept() {
        return Some(python);
    }
    let _ = fs::remove_dir_all(&environment);
    let made = quiet("python3", [OsStr::new("-m"), OsStr::new("venv"), environment.as_os_str()], place);
    let pinned =
        ["-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check", "install", "--require-hashes"];
    let more = ["--no-deps", "--no-compile", "--only-binary=:all:", "--requirement"];
    let arguments = pinned.iter().chain(&more).map(OsStr::new).chain([list.as_os_str()]);
    (made && quiet(&python, arguments, place) && fs::copy(list, &installed).is_ok()).then_some(python)
}

/// Runs a program of which only the end matters.
pub(super) fn quiet(
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

/// Runs a program that prints for people.
pub(super) fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let name = command.get_program().to_os_string();
    Ok(command.status().with_context(|| format!("{} cannot be started", name.display()))?.success())
}

/// Whether a program of this name is in a folder of the search path.
pub(super) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
