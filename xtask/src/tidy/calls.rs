//! Calls of the standard library that have a better one in the project.

use super::source::SourceFile;

/// Calls that are not made, and what to do instead.
struct CallRule {
    /// How the paths of calls end.
    calls: &'static str,
    instead: &'static str,
    /// The files to which the rule applies: the beginnings of their names.
    inside: &'static [&'static str],
    /// The code that the rule is about, and code that only tests and developers use.
    but: &'static [&'static str],
}

const RULES: [CallRule; 3] = [
    // A file that is changed in another way can be half written, and no test makes that fail.
    CallRule {
        calls: "fs::write fs::rename fs::copy fs::hard_link fs::remove_file fs::remove_dir fs::remove_dir_all fs::create_dir \
                fs::create_dir_all File::create File::create_new File::options OpenOptions::new",
        instead: "change files through `frostline_files`",
        inside: &["crates/"],
        but: &["crates/frostline-files/", "crates/frostline-testing/"],
    },
    // In another user's folder, a file may be a pipe that never ends, or a device.
    CallRule {
        calls: "File::open fs::read fs::read_to_string",
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
            "crates/frostline-sweep/src/large_folders.rs",
            "crates/frostline-sweep/src/system_memory.rs",
        ],
    },
    // They panic when the reader closes the output.
    CallRule {
        calls: "println! print!",
        instead: "print through `say!`, `note!` or the command's `out`",
        inside: &["bench/", "crates/", "xtask/"],
        but: &["crates/frostline-testing/"],
    },
];

/// Names the source files outside of tests that make such a call.
pub(super) fn find_calls(files: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let begins = |name: &str, starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let mut faults = Vec::new();
    for name in files.iter().filter(|name| name.contains("/src/") && name.ends_with(".rs")) {
        let holds = |rule: &&CallRule| begins(name, rule.inside) && !begins(name, rule.but);
        let rules: Vec<&CallRule> = RULES.iter().filter(holds).collect();
        if rules.is_empty() {
            continue;
        }
        let Some(source) = read(name).and_then(|text| SourceFile::parse_file(&text)) else {
            faults.push(format!("{name}: it cannot be parsed"));
            continue;
        };
        let paths = source.paths.iter().map(|(path, _)| path);
        let paths: Vec<String> = paths
            .chain(source.imports.iter().map(|import| &import.path))
            .map(|path| path.join("::"))
            .collect();
        for rule in rules {
            for call in
                rule.calls.split_whitespace().filter(|call| paths.iter().any(|path| ends_with(path, call)))
            {
                faults.push(format!("{name}: `{call}`: {}", rule.instead));
            }
        }
    }
    faults
}

/// Whether a path ends with these segments, of which one without `::` is all.
fn ends_with(path: &str, call: &str) -> bool {
    let before = path.strip_suffix(call);
    before.is_some_and(|before| before.is_empty() || call.contains("::") && before.ends_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_outside_of_tests_counts() {
        let read = |name: &str| {
            Some(match name {
                "crates/a/src/lib.rs" => "fn f() { std::fs::write(path, b\"\"); println!() }".into(),
                "crates/a/src/b.rs" => {
                    "// fs::write(x)\nfn f() { frostline_files::write(path, b\"fs::copy(\") }".into()
                }
                "xtask/src/a.rs" => {
                    "fn f() { fs::write(path, b\"\"); say!(\"print!(\"); eprintln!() }".into()
                }
                _ => "#[cfg(test)]\nmod tests { fn f() { std::fs::write(path, b\"\") } }".to_string(),
            })
        };
        let files = ["crates/a/src/lib.rs", "crates/a/src/b.rs", "crates/a/src/c.rs", "xtask/src/a.rs"];
        let others = ["crates/frostline-files/src/lib.rs", "crates/a/tests/lib.rs"];
        let files = [&files[..], &others].concat().into_iter().map(String::from).collect::<Vec<_>>();
        let found = find_calls(&files, read);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "crates/a/src/lib.rs: `fs::write`: change files through `frostline_files`");
        assert!(found[1].starts_with("crates/a/src/lib.rs: `println!`"), "{found:?}");
    }
}
