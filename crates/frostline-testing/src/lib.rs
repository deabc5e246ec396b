#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Mutex;

#[cfg(feature = "hub")]
pub mod hub;
mod torch;

pub use torch::{pickled_number, pickled_tensor, pickled_text, row_major, stored_zip, torch_file};

/// Names the file to which skips are added.
pub const SKIPS: &str = "FROSTLINE_SKIPS";
/// Names the folder of treebanks, encoders and references that are not committed.
pub const SHARED: &str = "FROSTLINE_SHARED";
/// Names the Python whose packages are compared with.
pub const PYTHON: &str = "FROSTLINE_PYTHON";

/// The missing requirement of a skipped test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Data that are not in the repository.
    Data,
    /// A Python with the packages of `tests/python/requirements.txt`.
    Python,
    /// Instructions of the processor, or leave to use them.
    Processor,
    /// Something that this build was made without.
    Build,
    /// Another operating system.
    Platform,
    /// A GPU, or software that takes its place.
    Device,
}

impl Lack {
    /// Returns the word for it in the file of skips.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Python => "python",
            Self::Processor => "processor",
            Self::Build => "build",
            Self::Platform => "platform",
            Self::Device => "device",
        }
    }
}

/// Returns the folder of data that are not in the repository; `None` after the skip is counted.
///
/// # Panics
/// If `FROSTLINE_SHARED` is unset although `CI` is set.
#[must_use]
#[track_caller]
pub fn shared() -> Option<PathBuf> {
    let shared = nonempty_variable(SHARED);
    if shared.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{SHARED} is unset although CI is set");
        skipped(Lack::Data, &format!("{SHARED} is unset"));
    }
    shared
}

/// Returns the Python for comparisons; `None` after counting the skip.
#[must_use]
#[track_caller]
pub fn python() -> Option<PathBuf> {
    let python = nonempty_variable(PYTHON);
    if python.is_none() {
        skipped(Lack::Python, &format!("{PYTHON} is unset"));
    }
    python
}

/// Counts a skip of the running test, or of a part of it. The same skip counts once in a test program.
///
/// # Panics
/// If the file that `FROSTLINE_SKIPS` names cannot be written: a skip must not be lost.
#[track_caller]
pub fn skipped(lack: Lack, reason: &str) {
    static COUNTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = line(lack, reason);
    if !COUNTED.lock().expect("no test panics while it counts").insert(line.clone()) {
        return;
    }
    let _ = writeln!(std::io::stderr(), "SKIPPED {}", line.trim_end().replace('\t', " "));
    if let Some(path) = nonempty_variable(SKIPS) {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        // In one piece, so that lines of test programs that run side by side do not mix.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// Returns a skip as a line of the file: the missing requirement, the caller's file and line, the test and the
/// reason, separated by tabs.
#[must_use]
#[track_caller]
pub fn line(lack: Lack, reason: &str) -> String {
    let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    let place = Location::caller();
    let place = format!("{}:{}", place.file().replace('\\', "/"), place.line());
    // The test harness names a test's thread after the test.
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    format!("{}\t{}\t{}\t{}\n", lack.name(), plain(&place), plain(test), plain(reason))
}

/// Returns a variable that is set and not empty.
fn nonempty_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_four_fields_whatever_the_reason_holds() {
        let text = line(Lack::Build, "no\tbackend\nbut flex");
        let fields: Vec<&str> = text.trim_end().split('\t').collect();
        assert_eq!(fields.len(), 4, "{text:?}");
        assert!(fields[1].starts_with("crates/frostline-testing/src/lib.rs:"), "{text:?}");
        assert_eq!([fields[0], fields[3]], ["build", "no backend but flex"]);
    }
}
