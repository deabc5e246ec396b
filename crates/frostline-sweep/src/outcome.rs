//! What became of a sweep's cells, and the last words about it.

use crate::ending::Ending;
use crate::folder::Folder;
use crate::place;
use crate::units::counted;

/// What became of the jobs.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Cells that are done now.
    pub done: usize,
    /// Title and error of each failed cell.
    pub failed: Vec<(String, String)>,
    /// A person stopped it.
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

    /// Says what was done, what failed and how to go on.
    pub(crate) fn tell(&self, folder: &Folder) {
        if folder.verifies() {
            println!("verified  {} took one step each; no record was written", counted(self.done, "cell"));
            for (title, error) in &self.failed {
                println!("failed    {title}: {}", error.lines().next().unwrap_or_default());
            }
        }
        let path = place::shown(folder.path());
        if self.interrupted {
            let done = counted(folder.done() + self.done, "cell");
            println!("stopped   {done} done, kept in {path}; the same command again runs the others");
        } else if !folder.verifies() && !self.failed.is_empty() {
            let failed = counted(self.failed.len(), "cell");
            println!("failed    {failed}; the whole errors stand in {path}/cells/*/record.json");
            println!("          the same command again runs the failed cells again");
        }
    }
}
