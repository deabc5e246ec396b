//! Skipped tests and checks: the file to which they are written, and which skips are allowed.
//!
//! A test writes through the crate `frostline-testing`, one line of four fields between tabs.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};

/// Names the file to which skips are added.
pub(crate) const FILE: &str = "FROSTLINE_SKIPS";
/// Names the folder of data that are not in the repository.
pub(super) const SHARED: &str = "FROSTLINE_SHARED";
/// Names the Python that tests compare with.
pub(super) const PYTHON: &str = "FROSTLINE_PYTHON";

/// Something that did not run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Skip {
    step: String,
    /// What it lacks: `data`, `python`, `processor`, `build`, `platform`, `device`, `history`,
    /// `advisories`, `npm`, `latex`.
    lack: String,
    /// The file, with the line of a test.
    place: String,
    test: String,
    reason: String,
}

impl Skip {
    /// A step, or a part of it, that lacks something.
    pub fn of_step(step: &str, lack: &str, reason: &str) -> Self {
        let [place, test] = [String::new(), String::new()];
        Self { step: step.into(), lack: lack.into(), place, test, reason: reason.into() }
    }

    fn parse_skip(line: &str, step: &str) -> Option<Self> {
        let [lack, place, test, reason] = *line.split('\t').collect::<Vec<_>>() else { return None };
        let [step, lack, place, test, reason] = [step, lack, place, test, reason].map(String::from);
        Some(Self { step, lack, place, test, reason })
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.step, self.lack)?;
        for part in [&self.place, &self.test].into_iter().filter(|part| !part.is_empty()) {
            write!(f, " {part}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// What a run has, and therefore no test may lack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excuses {
    pub shared: bool,
    pub python: bool,
}

impl Excuses {
    /// Whether a skip is unavoidable on this machine. Tests are built with all features, so a skip because of a
    /// missing feature is never allowed.
    pub fn is_allowed(self, skip: &Skip) -> bool {
        match skip.lack.as_str() {
            "data" => !self.shared,
            "python" => !self.python,
            "processor" | "platform" | "device" | "history" | "advisories" | "npm" | "latex" => true,
            _ => false,
        }
    }
}

/// Reads and removes the file of skips that a step's calls wrote; empty if nothing was skipped.
pub(super) fn take_skips(file: &Path, step: &str) -> anyhow::Result<Vec<Skip>> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("{}", file.display())),
    };
    std::fs::remove_file(file).with_context(|| format!("{}", file.display()))?;
    let mut skips = Vec::new();
    for line in text.lines() {
        match Skip::parse_skip(line, step) {
            Some(skip) => skips.push(skip),
            None => bail!("{}: `{line}` is not a skip; expected four fields between tabs", file.display()),
        }
    }
    Ok(skips)
}

/// Each skip once, sorted.
pub(super) fn distinct_skips(skips: &[Skip]) -> Vec<&Skip> {
    skips.iter().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Adds a skip of one of xtask's own checks, if a run of `ci` collects them.
pub(crate) fn record_skip(lack: &str, place: &str, check: &str, reason: &str) -> anyhow::Result<()> {
    let Some(path) = std::env::var_os(FILE) else { return Ok(()) };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let line = format!("{lack}\t{place}\t{check}\t{}\n", reason.replace(['\t', '\n'], " "));
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .with_context(|| Path::new(&path).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Excuses = Excuses { shared: true, python: true };
    const BARE: Excuses = Excuses { shared: false, python: false };

    fn test_skip(lack: &str) -> Skip {
        Skip::parse_skip(&format!("{lack}\ta.rs:3\tm::t\tno reason"), "test").expect("four fields")
    }

    #[test]
    fn a_skip_is_wrong_where_what_it_lacks_is_there() {
        for (lack, here, bare) in [
            ("data", false, true),
            ("python", false, true),
            ("build", false, false),
            ("processor", true, true),
            ("platform", true, true),
            ("history", true, true),
            ("no such word", false, false),
        ] {
            assert_eq!(
                [HERE.is_allowed(&test_skip(lack)), BARE.is_allowed(&test_skip(lack))],
                [here, bare],
                "{lack}"
            );
        }
        assert!(HERE.is_allowed(&Skip::of_step("cuda", "device", "no GPU")));
    }

    #[test]
    fn what_tests_write_is_read_once_and_shown_once() {
        let folder = std::env::temp_dir().join(format!("frostline-skips-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("skips-test");
        assert_eq!(take_skips(&file, "test").expect("no file"), []);
        std::fs::write(&file, "data\ta.rs:3\tm::t\tno reason\ndata\ta.rs:3\tm::t\tno reason\n")
            .expect("a file");
        let found = take_skips(&file, "test").expect("skips");
        assert_eq!(found.len(), 2);
        assert!(!file.exists(), "the next call of the step starts with no file");
        let shown: Vec<String> = distinct_skips(&found).into_iter().map(Skip::to_string).collect();
        assert_eq!(shown, ["test [data] a.rs:3 m::t: no reason"]);
        std::fs::write(&file, "half a line").expect("a file");
        assert!(take_skips(&file, "test").is_err());
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    /// The other end, in a crate that this one must not need outside of tests.
    #[test]
    fn tests_and_ci_agree_about_names_and_fields() {
        use frostline_testing::Lack;
        assert_eq!(
            [FILE, SHARED, PYTHON],
            [frostline_testing::SKIPS, frostline_testing::SHARED, frostline_testing::PYTHON]
        );
        for lack in [Lack::Data, Lack::Python, Lack::Processor, Lack::Build, Lack::Platform, Lack::Device] {
            let line = frostline_testing::line(lack, "a\treason");
            let skip = Skip::parse_skip(line.trim_end(), "test").expect("four fields");
            assert_eq!(skip.lack, lack.name());
            assert_eq!(skip.reason, "a reason");
            assert!(skip.place.starts_with("xtask/src/ci/skips.rs:"), "{skip}");
            assert!(skip.test.ends_with("tests_and_ci_agree_about_names_and_fields"), "{skip}");
        }
        assert!(!BARE.is_allowed(&test_skip("build")), "a build for tests has every feature");
    }
}
