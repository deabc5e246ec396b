//! Shared pieces of the end-to-end tests: a small world of plan, data and encoder, the commands
//! under test, and the behaviours of the fake runner. It contains no tests itself.

mod world;

pub use world::{Ended, World, grows, start};

use serde::{Deserialize, Serialize};

/// The code hash that the fake runner reports unless `FAKE_CODE` is set.
pub const FAKE_CODE: &str = "fa4e0000fa4e0000";

/// What the fake runner does in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// The cell ends well.
    Finish,
    /// The cell ends well, and computes a constant prefix before its first step.
    Prefix,
    /// The cell fails, and the worker reports it.
    Fail,
    /// The worker aborts.
    Crash,
    /// The worker exits with code 7.
    Quit,
    /// The worker writes a line that is not an event.
    Babble,
    /// The cell keeps writing until its worker's input is closed.
    Hang,
    /// The worker hangs, and does not end even if its input is closed.
    Deaf,
}
