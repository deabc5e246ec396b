//! The outcome of a sweep's jobs.

use crate::ending::Ending;

/// The outcome of an executor's jobs.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The number of cells that were completed.
    pub done: usize,
    /// The title and error of each failed cell.
    pub failed: Vec<(String, String)>,
    /// The number of cells that were not started, because an earlier one had failed.
    pub not_started: usize,
    /// The number of cells that other processes completed meanwhile.
    pub elsewhere: usize,
    /// How often a cell was run here whose record is another process's: its claim had passed on.
    pub late: usize,
    /// Whether the user interrupted the sweep.
    pub interrupted: bool,
}

impl Outcome {
    /// How the command ends.
    pub(crate) fn ending(&self) -> Ending {
        if self.interrupted {
            Ending::Interrupted
        } else if self.failed.is_empty() {
            Ending::Done
        } else {
            Ending::Failed
        }
    }
}
