//! `cargo xtask tidy`: checks the project's own rules on its files and commits. It changes nothing.

mod calls;
mod circles;
mod commits;
mod crates;
mod dependencies;
pub(crate) mod docs;
mod examples;
mod files;
pub(crate) mod packages;
mod source;

use std::process::Command;

use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::units::count_noun;
use frostline_sweep::{note, say};

use crate::ci::skips;
use crate::workspace;

/// Folders that are ignored if git is not available.
const IGNORED: [&str; 3] = [".git", "target", "sweeps"];

/// Checks everything and reports all faults.
pub(crate) fn run_tidy() -> CommandResult<Ending> {
    let files = files_of_the_project().blame_environment()?;
    let packages = crates::workspace_packages().blame_environment()?;
    let read = |name: &str| std::fs::read_to_string(workspace::workspace_root().join(name)).ok();
    let charters = crates::parse_charters(&read(crates::PAGE).unwrap_or_default());
    let mut faults = crates::check_charters(&packages, &charters);
    faults.extend(dependencies::check_dependencies(&packages, &read(dependencies::PAGE).unwrap_or_default()));
    faults.extend(files::check_files(&files));
    faults.extend(calls::find_calls(&files, read));
    faults.extend(examples::check_examples(&files, read));
    faults.extend(docs::check_pages(&files, read));
    faults.extend(packages::check_manifests(&files, read));
    let circles = circles::find_circles(&files, read);
    faults.extend(circles.iter().map(|needs| format!("import circle: {}", needs.join("\n               "))));
    match commits::check_subjects(charters.iter().map(crates::short_name)) {
        Ok(wrong) => faults.extend(wrong),
        Err(reason) => {
            say!("tidy      SKIPPED: subject lines of commits: {reason}");
            skips::record_skip("history", "xtask/src/tidy/commits.rs", "subject lines", &reason)
                .blame_environment()?;
        }
    }
    for fault in &faults {
        note!("{fault}");
    }
    if faults.is_empty() {
        say!("tidy      {} files, all in order", files.len());
        return Ok(Ending::Done);
    }
    note!("tidy: {} to fix", count_noun(faults.len(), "place"));
    Ok(Ending::Failed)
}

/// The project's files, relative to the root: those that git tracks and those that it does not ignore; without git all.
pub(crate) fn files_of_the_project() -> anyhow::Result<Vec<String>> {
    let names =
        listed_by_git().map_or_else(|| workspace::list_files(&workspace::workspace_root(), &IGNORED), Ok)?;
    Ok(names.into_iter().filter(|name| workspace::workspace_root().join(name).is_file()).collect())
}

/// The files that git lists; `None` if it is not installed or this is not a checkout.
fn listed_by_git() -> Option<Vec<String>> {
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    let names = workspace::command_output(Command::new("git").args(listed)).ok()?;
    Some(names.split('\0').filter(|name| !name.is_empty()).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_without_git_too() {
        let walked =
            workspace::list_files(&workspace::workspace_root().join("tests"), &["fuzz"]).expect("a folder");
        assert!(walked.contains(&"e2e/main.rs".to_string()), "{walked:?}");
        assert!(!walked.iter().any(|name| name.contains("fuzz/")), "{walked:?}");
        let files = files_of_the_project().expect("files");
        assert!(files.contains(&"configs/demo.toml".to_string()));
    }

    #[test]
    fn the_citation_is_of_this_version() {
        let text =
            std::fs::read_to_string(workspace::workspace_root().join("CITATION.cff")).expect("the citation");
        assert!(text.contains(concat!("\nversion: ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
    }
}
