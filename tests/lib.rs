//! Shared pieces of the end-to-end tests: a small world of plan, data and encoder, the commands
//! under test, and the behaviours of the fake runner. It contains no tests itself.

mod world;

pub use world::{Ended, World, file_grows, start_captured};

use serde::{Deserialize, Serialize};

/// The code hash that the fake runner reports unless `FAKE_CODE` is set.
pub const FAKE_CODE: &str = "fa4e0000fa4e0000";

/// The behaviour of the fake runner in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellDeed {
    /// The cell ends well.
    Finish,
    /// The cell ends well, and computes a constant prefix before its first step.
    Prefix,
    /// The cell fails, and the worker reports it.
    Fail,
    /// The cell fails when it is run for the first time.
    FailOnce,
    /// The worker aborts because the allocator gets no memory.
    OutOfMemory,
    /// The worker aborts.
    Crash,
    /// The worker exits with code 7.
    Quit,
    /// The worker writes a line that is not an event.
    Babble,
    /// The cell keeps writing until its worker's input is closed.
    Hang,
    /// The cell keeps sending events until its worker is killed.
    Chatter,
    /// The worker hangs, and does not end even if its input is closed.
    Deaf,
}

/// Returns the children of a process, as Linux lists them; none on other systems.
#[must_use]
pub fn child_processes(parent: &std::process::Child) -> Vec<i32> {
    let parent = parent.id().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let child = |entry: std::fs::DirEntry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let about = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // After the name, which may contain anything: the state, then the parent.
        let of = about.rsplit(')').next()?.split_whitespace().nth(1)?;
        (of == parent).then_some(process)
    };
    entries.filter_map(child).collect()
}
