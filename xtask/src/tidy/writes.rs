//! Every change of a file passes through `frostline-files`, which makes it whole or absent and can make it fail.

use super::tokens::tokens;

/// Calls of the standard library that change files or folders.
const CALLS: [&str; 12] = [
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
];

/// Crates that do without: the layer itself, and what only tests use.
const WITHOUT: [&str; 2] = ["crates/frostline-files/", "crates/frostline-testing/"];

/// Names the files of libraries and of the program that change a file in another way.
pub(super) fn check(files: &[String], read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let sources = files.iter().filter(|name| {
        let inside = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        inside && !WITHOUT.iter().any(|crate_| name.starts_with(crate_))
    });
    let mut faults = Vec::new();
    for name in sources {
        let code = tokens(&read(name).unwrap_or_default()).concat();
        for call in CALLS.iter().filter(|call| code.contains(*call)) {
            let call = call.trim_end_matches('(');
            faults.push(format!("{name}: `{call}`: change files through `frostline_files`"));
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
                "crates/a/src/lib.rs" => "fn f() { std::fs::write(path, b\"\") }".into(),
                "crates/a/src/b.rs" => {
                    "// fs::write(x)\nfn f() { frostline_files::write(path, b\"fs::copy(\") }".into()
                }
                _ => "#[cfg(test)]\nmod tests { fn f() { std::fs::write(path, b\"\") } }".to_string(),
            })
        };
        let files =
            ["a/src/lib.rs", "a/src/b.rs", "a/src/c.rs", "frostline-files/src/lib.rs", "a/tests/lib.rs"];
        let files = files.map(|name| format!("crates/{name}"));
        let expected = "crates/a/src/lib.rs: `fs::write`: change files through `frostline_files`";
        assert_eq!(check(&files, read), [expected]);
    }
}
