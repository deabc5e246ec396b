//! Example programs: each library has one in `examples/`, and its README shows how to run it.

/// Libraries without one, with the reason.
const WITHOUT: [(&str, &str); 7] = [
    ("frostline", "a program; its README shows its commands"),
    ("frostline-cell", "what it does is a command of the program"),
    ("frostline-kernels", "another program linked with burn costs minutes; the README's example is a test"),
    ("frostline-model", "another program linked with burn costs minutes; the README's example is a test"),
    ("frostline-python", "a module of Python: docs/python.md has its examples, which run as doctests"),
    ("frostline-tagger", "another program linked with burn costs minutes; the README's example is compiled"),
    ("frostline-testing", "for tests of this workspace only"),
];

/// The faults of the crates among these files; `read` gives a file's text.
pub(super) fn check_examples(tracked: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let crates = tracked.iter().filter_map(|name| name.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"));
    let mut faults = Vec::new();
    for name in crates.filter(|name| WITHOUT.iter().all(|(other, _)| other != name)) {
        let folder = format!("crates/{name}/examples/");
        let programs: Vec<&str> =
            tracked.iter().filter_map(|file| file.strip_prefix(&folder)?.strip_suffix(".rs")).collect();
        let readme = read(&format!("crates/{name}/README.md")).unwrap_or_default();
        let is_shown = |program: &&&str| readme.contains(&format!("--example {program}"));
        if !programs.iter().any(|program| is_shown(&program)) {
            faults.push(format!(
                "crates/{name}: write a program in examples/, and show `cargo run -p {name} --example NAME` in its README"
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_needs_a_program_and_its_command() {
        let tracked = |program: &str| [format!("crates/a/{program}.rs"), "crates/a/Cargo.toml".into()];
        let found = |program, readme: &str| check_examples(&tracked(program), |_| Some(readme.into())).len();
        assert_eq!(found("examples/b", "cargo run -p a --example b"), 0);
        assert_eq!(found("examples/b", "nothing"), 1);
        assert_eq!(found("src/b", "cargo run -p a --example b"), 1);
        assert_eq!(check_examples(&["crates/frostline-testing/Cargo.toml".into()], |_| None).len(), 0);
    }
}
