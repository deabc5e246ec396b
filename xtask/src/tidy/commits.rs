//! The subject lines of commits: `[name] Imperative`, short, one thing.
//!
//! Commits before the rule are left as they are.

use std::process::Command;

use crate::workspace;

/// The commit that introduced the rule; its ancestors are older than the rule.
const BEFORE: &str = "a9d199901d95480a58b665184029fb1e16a5559a";

/// The longest a subject may be, in characters.
const LONGEST: usize = 72;

/// The names that are allowed in brackets besides the crates' short names.
const PLACES: [&str; 5] = ["docs", "tests", "configs", "workspace", "ci"];

/// Returns the faults of the subjects of all commits after the rule's, except merges; or why they cannot be read, as
/// if the checkout has no history.
pub(super) fn check_subjects<'a>(crates: impl Iterator<Item = &'a str>) -> Result<Vec<String>, String> {
    let names: Vec<&str> = crates.chain(PLACES).collect();
    let range = format!("{BEFORE}..HEAD");
    let log = workspace::command_output(Command::new("git").args([
        "log",
        "--no-merges",
        "--format=%h%x09%s",
        &range,
    ]));
    let log =
        log.map_err(|error| format!("{} is not in the history of a checkout here: {error}", &BEFORE[..12]))?;
    let lines = log.lines().filter_map(|line| line.split_once('\t'));
    let fault = |(commit, subject)| {
        Some(format!("commit {commit}: {}: `{subject}`", subject_fault(subject, &names)?))
    };
    Ok(lines.filter_map(fault).collect())
}

/// The first fault of a subject.
fn subject_fault(subject: &str, names: &[&str]) -> Option<String> {
    let Some((name, text)) = subject.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else {
        return Some("it does not start with `[name] `".into());
    };
    let length = subject.chars().count();
    if length > LONGEST {
        Some(format!("{length} characters (at most {LONGEST})"))
    } else if subject.contains(';') {
        Some("two things in one commit (`;`)".into())
    } else if subject.ends_with('.') {
        Some("a full stop at the end".into())
    } else if !names.contains(&name) {
        Some(format!("`{name}` is neither a crate nor one of {}", PLACES.join(", ")))
    } else if text.starts_with('[') {
        Some("two names in one commit".into())
    } else if text.trim() != text || text.chars().next().is_none_or(char::is_lowercase) {
        Some("the text does not start with a capital letter".into())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_of_a_subject_is_reported() {
        let fault = |subject: &str| subject_fault(subject, &["score", "frostline", "docs"]);
        for subject in ["[score] Pair samples", "[frostline] Add `tag --format`", "[docs] 1 page on bias"] {
            assert_eq!(fault(subject), None);
        }
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
            assert!(fault(subject).is_some(), "{subject}");
        }
        assert_eq!(fault(&format!("[score] {}", "A".repeat(LONGEST - 8))), None);
    }
}
