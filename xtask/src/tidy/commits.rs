//! The subject lines of commits: `[name] Imperative`, short, one thing.
//!
//! Commits before the rule are left as they are.

use std::process::Command;

use anyhow::{Context as _, bail};

use super::crates;
use crate::workspace;

/// The commit that introduced the rule; its ancestors are older than the rule.
const BEFORE: &str = "a9d199901d95480a58b665184029fb1e16a5559a";

/// The longest a subject may be, in characters.
const LONGEST: usize = 72;

/// The names that are allowed in brackets besides the crates' short names.
const PLACES: [&str; 5] = ["docs", "tests", "configs", "workspace", "ci"];

/// The faults of the subjects, or why they cannot be read.
pub(super) enum Subjects {
    Read(Vec<String>),
    /// The reason, as where the checkout has no history.
    Unknown(String),
}

/// Reads the subjects of all commits after the rule's, except merges.
pub(super) fn check() -> anyhow::Result<Subjects> {
    if git(&["rev-parse", "--git-dir"])?.is_none() {
        return Ok(Subjects::Unknown("the workspace is no git checkout".into()));
    }
    if git(&["merge-base", "--is-ancestor", BEFORE, "HEAD"])?.is_none() {
        let reason = format!("{} is not in the history that this checkout has", &BEFORE[..12]);
        return Ok(Subjects::Unknown(reason));
    }
    let range = format!("{BEFORE}..HEAD");
    let Some(log) = git(&["log", "--no-merges", "--format=%h%x09%s", &range])? else {
        bail!("git log {range} failed");
    };
    let names: Vec<String> = crates::short_names().chain(PLACES.map(String::from)).collect();
    let lines = log.lines().filter_map(|line| line.split_once('\t'));
    Ok(Subjects::Read(
        lines
            .flat_map(|(commit, subject)| faults(subject, &names).map(move |fault| (commit, subject, fault)))
            .map(|(commit, subject, fault)| format!("commit {commit}: {fault}: `{subject}`"))
            .collect(),
    ))
}

/// The faults of a subject.
fn faults(subject: &str, names: &[String]) -> impl Iterator<Item = String> + use<> {
    let length = subject.chars().count();
    let mut faults = Vec::new();
    if length > LONGEST {
        faults.push(format!("{length} characters (at most {LONGEST})"));
    }
    if subject.contains(';') {
        faults.push("two things in one commit (`;`)".into());
    }
    if subject.ends_with('.') {
        faults.push("a full stop at the end".into());
    }
    match subject.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        None => faults.push("it does not start with `[name] `".into()),
        Some((name, _)) if !names.iter().any(|known| known == name) => {
            faults.push(format!("`{name}` is neither a crate nor one of {}", PLACES.join(", ")));
        }
        Some((_, text)) if text.trim() != text || text.chars().next().is_none_or(char::is_lowercase) => {
            faults.push("the text does not start with a capital letter".into());
        }
        Some((_, text)) if text.starts_with('[') => faults.push("two names in one commit".into()),
        Some(_) => {}
    }
    faults.into_iter()
}

/// The output of git; `None` if it fails or is not installed.
fn git(arguments: &[&str]) -> anyhow::Result<Option<String>> {
    match Command::new("git").args(arguments).current_dir(workspace::root()).output() {
        Ok(output) if output.status.success() => {
            Ok(Some(String::from_utf8(output.stdout).context("git's output is not UTF-8")?))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context("git cannot be started"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(subject: &str) -> usize {
        let names: Vec<String> = crates::short_names().chain(PLACES.map(String::from)).collect();
        faults(subject, &names).count()
    }

    #[test]
    fn subjects_as_they_should_be() {
        for subject in [
            "[score] Pair bootstrap samples by sentence",
            "[frostline] Add `tag --format`",
            "[xtask] Count skips",
            "[docs] 1 page on bias",
            "[workspace] Pin burn",
        ] {
            assert_eq!(count(subject), 0, "{subject}");
        }
    }

    #[test]
    fn each_fault_of_a_subject_is_reported() {
        for subject in [
            "Pair bootstrap samples",
            "[score]Pair bootstrap samples",
            "[scores] Pair bootstrap samples",
            "[frostline-score] Pair bootstrap samples",
            "[score] pair bootstrap samples",
            "[score] ",
            "[score] Pair samples; count ties",
            "[score] Pair samples.",
            "[score] [train] Pair samples",
            &format!("[score] {}", "A".repeat(LONGEST - 7)),
        ] {
            assert_eq!(count(subject), 1, "{subject}");
        }
        assert_eq!(count(&format!("[score] {}", "A".repeat(LONGEST - 8))), 0);
    }
}
