//! Shared pieces of the end-to-end tests: a small world of plan, data and encoder, the commands
//! under test, and what the fake runner can be told to do. It holds no test itself.

mod world;

pub use world::{Ended, World, grows, start};

use serde::{Deserialize, Serialize};

/// The code hash that the fake runner reports unless `FAKE_CODE` says otherwise.
pub const FAKE_CODE: &str = "fa4e0000fa4e0000";

/// What the fake runner does in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// The cell ends well.
    Finish,
    /// The cell ends well, and computes a constant prefix before its first step.
    Prefix,
    /// The cell fails, as the worker itself says.
    Fail,
    /// The worker aborts.
    Crash,
    /// The worker exits with code 7.
    Quit,
    /// The worker says what is no event.
    Babble,
    /// The cell goes on writing until its worker's input closes.
    Hang,
    /// The worker does nothing more, and does not end when its input closes either.
    Deaf,
}
