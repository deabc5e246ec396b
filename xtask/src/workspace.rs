//! The location of the workspace, and cargo in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use frostline_sweep::Place;

/// Returns the workspace's root. A program that was built on another machine is about the checkout in which it is started.
pub(crate) fn workspace_root() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = || std::env::current_dir().unwrap_or_else(|_| ".".into());
    built.parent().filter(|_| built.is_dir()).map_or_else(here, Path::to_path_buf)
}

/// The default folders of `cargo xtask sweep`: sweeps in the workspace, plans in its `configs/`.
pub(crate) fn workspace_place() -> Place {
    Place { folder: workspace_root(), plans: Some(workspace_root().join("configs")), built: false }
}

/// Returns the folder of everything that is built.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace_root().join("target"), PathBuf::from)
}

/// A file that the build of the step `test` has made; the folder of its profile is next to the folder of this program.
pub(crate) fn built_file(path: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap_or_default();
    let folder = here.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    folder.and_then(Path::parent).unwrap_or(Path::new("target")).join("debug").join(path)
}

/// The files of a folder, relative to it and with slashes, without those in folders of these names.
pub(crate) fn list_files(folder: &Path, ignored: &[&str]) -> anyhow::Result<Vec<String>> {
    let place = || folder.display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(place)? {
        let entry = entry.with_context(place)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().with_context(place)?;
        if kind.is_dir() && !ignored.contains(&name.as_str()) {
            found
                .extend(list_files(&entry.path(), ignored)?.into_iter().map(|file| format!("{name}/{file}")));
        } else if kind.is_file() {
            found.push(name);
        }
    }
    Ok(found)
}

/// Returns a call of cargo with these words, in the root.
pub(crate) fn cargo_command(words: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words.split_whitespace()).current_dir(workspace_root());
    command
}

/// The standard output of a command, in the root.
///
/// # Errors
/// If it cannot be started or fails, with what it printed.
pub(crate) fn command_output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_os_string();
    let output = command.current_dir(workspace_root()).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{} cannot be started", name.display()))?;
    if !output.status.success() {
        bail!("{}: {}", name.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {} is not UTF-8", name.display()))
}
