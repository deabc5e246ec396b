//! Calls of the standard library that have a better one in the project.

use super::tokens::tokens;

/// Calls that are not made, and what to do instead.
struct Rule {
    calls: &'static [&'static str],
    instead: &'static str,
    /// Where the rule holds: the beginnings of names.
    inside: &'static [&'static str],
    /// The code that the rule is about, and code that only tests and developers use.
    but: &'static [&'static str],
}

const RULES: [Rule; 3] = [
    // A file that is changed in another way can be half written, and no test makes that fail.
    Rule {
        calls: &[
            "fs::write(",
            "fs::rename(",
            "fs::copy(",
            "fs::hard_link(",
            "fs::remove_file(",
            "fs::remove_dir(",
            "fs::remove_dir_all(",
            "fs::create_dir(",
            "fs::create_dir_all(",
            "File::create",
            "File::options(",
            "OpenOptions::new(",
        ],
        instead: "change files through `frostline_files`",
        inside: &["crates/"],
        but: &["crates/frostline-files/", "crates/frostline-testing/"],
    },
    // In a folder of somebody else, a file may be a pipe that never ends, or a device.
    Rule {
        calls: &["File::open(", "fs::read(", "fs::read_to_string("],
        instead: "read files through `frostline_files`",
        inside: &[
            "crates/frostline-record/",
            "crates/frostline-report/",
            "crates/frostline-sweep/",
            "crates/frostline-watch/",
        ],
        // They read files of the system.
        but: &[
            "crates/frostline-sweep/src/interrupts.rs",
            "crates/frostline-sweep/src/scale.rs",
            "crates/frostline-sweep/src/system_memory.rs",
        ],
    },
    // They panic when nobody reads on.
    Rule {
        calls: &["println!(", "print!("],
        instead: "print through `say!`, `note!` or the command's `out`",
        inside: &["crates/", "xtask/"],
        but: &["crates/frostline-testing/"],
    },
];

/// Names the source files outside of tests that make such a call.
pub(super) fn check(files: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let begins = |name: &str, starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let sources = files.iter().filter(|name| name.contains("/src/") && name.ends_with(".rs"));
    let mut faults = Vec::new();
    for name in sources {
        let rules: Vec<&Rule> =
            RULES.iter().filter(|rule| begins(name, rule.inside) && !begins(name, rule.but)).collect();
        if rules.is_empty() {
            continue;
        }
        let code = tokens(&read(name).unwrap_or_default()).concat();
        for rule in rules {
            for call in rule.calls.iter().filter(|call| code.contains(*call)) {
                faults.push(format!("{name}: `{}`: {}", call.trim_end_matches('('), rule.instead));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_outside_of_tests_counts() {
        let read = |name: &str| {
            Some(match name {
                "crates/a/src/lib.rs" => "fn f() { std::fs::write(path, b\"\"); eprintln!() }".into(),
                "crates/a/src/b.rs" => {
                    "// fs::write(x)\nfn f() { frostline_files::write(path, b\"fs::copy(\") }".into()
                }
                "xtask/src/a.rs" => "fn f() { fs::write(path, b\"\"); say!(\"print!(\") }".into(),
                _ => "#[cfg(test)]\nmod tests { fn f() { std::fs::write(path, b\"\") } }".to_string(),
            })
        };
        let files = ["crates/a/src/lib.rs", "crates/a/src/b.rs", "crates/a/src/c.rs", "xtask/src/a.rs"];
        let others = ["crates/frostline-files/src/lib.rs", "crates/a/tests/lib.rs"];
        let files = [&files[..], &others].concat().into_iter().map(String::from).collect::<Vec<_>>();
        let found = check(&files, read);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "crates/a/src/lib.rs: `fs::write`: change files through `frostline_files`");
        assert!(found[1].starts_with("crates/a/src/lib.rs: `println!`"), "{found:?}");
    }
}
