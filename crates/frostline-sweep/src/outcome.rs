//! What became of a sweep's jobs.

use crate::ending::Ending;

/// What became of the jobs.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cells that are done now.
    pub done: usize,
    /// Title and error of each failed cell.
    pub failed: Vec<(String, String)>,
    /// A person interrupted the sweep.
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
