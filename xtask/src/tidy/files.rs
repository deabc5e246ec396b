//! Rules for every tracked file: length, first line, no path of a particular machine, READMEs.

use std::fs;

use crate::workspace;

/// The longest a Rust file may be, in lines.
const LONGEST: usize = 600;

/// The longest a snapshot may be, in lines; longer ones are not reviewed.
const LONGEST_SNAPSHOT: usize = 400;

/// The parents of users' and machines' own folders. Written in pieces, so that this file does not contain them.
const MACHINE: [[&str; 2]; 5] =
    [["/ho", "me/"], ["/wo", "rk/"], ["/fa", "rm/"], ["/ro", "ot/"], ["/Us", "ers/"]];

/// The faults of these files.
pub(super) fn check_files(tracked: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    for name in tracked {
        let Ok(text) = fs::read_to_string(workspace::workspace_root().join(name)) else {
            continue; // Not text.
        };
        if name.ends_with(".rs") {
            faults.extend(rust_faults(name, &text));
        }
        faults.extend(snapshot_fault(name, &text));
        faults.extend(machine_paths(name, &text));
        if let Some(folder) = name.strip_suffix("/Cargo.toml").filter(|name| name.starts_with("crates/")) {
            let readme = format!("{folder}/README.md");
            let text = fs::read_to_string(workspace::workspace_root().join(&readme)).unwrap_or_default();
            faults.extend(readme_fault(&readme, &text));
        }
    }
    faults
}

fn rust_faults(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST {
        faults.push(format!("{name}: {lines} lines; split it (at most {LONGEST})"));
    }
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if !first.starts_with("//!") && !first.starts_with("#![doc = include_str!(") {
        faults.push(format!("{name}:1: begin it with a `//!` comment that says what it contains"));
    }
    faults
}

fn snapshot_fault(name: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let long = name.ends_with(".snap") && lines > LONGEST_SNAPSHOT;
    long.then(|| format!("{name}: {lines} lines; show less (at most {LONGEST_SNAPSHOT})"))
}

fn machine_paths(name: &str, text: &str) -> Vec<String> {
    let needles = MACHINE.map(|pieces| pieces.concat());
    let absolute = |line: &str| {
        needles.iter().any(|needle| {
            line.match_indices(needle.as_str()).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|before| before.is_alphanumeric() || "_.-/~})".contains(before))
            })
        })
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| absolute(line))
        .map(|(at, _)| format!("{name}:{}: an absolute path of one machine", at + 1))
        .collect()
}

fn readme_fault(readme: &str, text: &str) -> Option<String> {
    // A module of Python is used from Python.
    let has_example = ["```rust", "```python"].iter().any(|start| text.contains(start));
    (!has_example).then(|| format!("{readme}: show how the crate is used in a ```rust example"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_files_are_short_and_begin_with_a_comment() {
        assert!(rust_faults("a.rs", "//! It contains a.\n").is_empty());
        assert!(rust_faults("a.rs", "#![doc = include_str!(\"../README.md\")]\n").is_empty());
        assert_eq!(rust_faults("a.rs", "use b;\n").len(), 1);
        assert_eq!(rust_faults("a.rs", &"//! a\n".repeat(LONGEST + 1)).len(), 1);
    }

    #[test]
    fn a_snapshot_can_be_reviewed() {
        assert!(snapshot_fault("a.snap", &"line\n".repeat(LONGEST_SNAPSHOT)).is_none());
        assert!(snapshot_fault("a.snap", &"line\n".repeat(LONGEST_SNAPSHOT + 1)).is_some());
        assert!(snapshot_fault("a.rs", &"//! a\n".repeat(LONGEST_SNAPSHOT + 1)).is_none());
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let home = MACHINE[0].concat();
        for line in [format!("see {home}me/x"), format!("\"{home}me\""), format!("{home}me")] {
            assert_eq!(machine_paths("a.md", &line).len(), 1, "{line}");
        }
        for line in [format!("a{home}b"), format!("..{home}b"), format!("~{home}"), "/proc/x".into()] {
            assert!(machine_paths("a.md", &line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_readme_shows_an_example() {
        assert!(readme_fault("README.md", "# a\n```rust\nlet a = 1;\n```\n").is_none());
        assert!(readme_fault("README.md", "").is_some());
    }
}
