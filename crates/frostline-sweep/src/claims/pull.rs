//! Which cell a process takes next, when any number of processes take cells of one folder.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use frostline_files::claim::{Attempt, CLAIM, Claimant, Owner, SharedFiles, WorkClaim};

/// How many cells of other processes are looked at again at a time: hundreds of waiting processes must not keep a file
/// server busy.
const LOOKS: usize = 64;

/// The time between two looks for each of these, and five times that at least.
const PAUSE: Duration = Duration::from_millis(200);

/// The cells that are pulled, by number.
pub(crate) trait Cells {
    /// Returns the folder of a cell.
    fn cell_folder(&self, cell: usize) -> &Path;
    /// Returns what is known about a cell now.
    fn cell_state(&self, cell: usize) -> CellStatus;
    /// Creates the folder of a cell that is about to be claimed.
    fn create_folder(&self, cell: usize) -> io::Result<()>;
}

/// What is known of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CellStatus {
    /// It still has to be run.
    Open,
    /// It has a record that counts.
    Recorded,
    /// It has a record with this error.
    Failed(String),
}

/// The answer to the question for the next cell.
#[derive(Debug)]
pub(crate) enum NextCell {
    /// It was claimed, perhaps taken over from a process that died.
    Take(usize, WorkClaim, Option<Owner>),
    /// It needs nothing more: another process has recorded it.
    Settled(usize, CellStatus),
    /// All cells that are left are claimed by others; ask again later.
    Wait,
    /// No cell is left.
    Finished,
}

/// Takes cells one by one.
#[derive(Debug)]
pub(crate) struct Pull<F> {
    claimant: Arc<Claimant<F>>,
    /// To be looked at next.
    open: VecDeque<usize>,
    /// Claimed by others at the last look.
    busy: VecDeque<(usize, Owner)>,
    /// When they are looked at again, as [`SharedFiles::elapsed`] counts.
    look_at: Duration,
}

impl<F: SharedFiles> Pull<F> {
    /// Takes these cells in this order.
    pub(crate) fn new(claimant: Arc<Claimant<F>>, order: impl IntoIterator<Item = usize>) -> Self {
        Self { claimant, open: order.into_iter().collect(), busy: VecDeque::new(), look_at: Duration::ZERO }
    }

    /// Returns the number of cells that are left as far as this process can tell, without the cells it has taken.
    pub(crate) fn unfinished_cells(&self) -> usize {
        self.open.len() + self.busy.len()
    }

    /// Returns the number of these cells that were not claimed by others at the last look.
    pub(crate) fn unclaimed_cells(&self) -> usize {
        self.open.len()
    }

    /// Returns a cell that another process has claimed, and that process.
    pub(crate) fn claimed_elsewhere(&self) -> Option<&(usize, Owner)> {
        self.busy.front()
    }

    /// Claims the next cell that is neither recorded nor another's.
    pub(crate) fn next(&mut self, cells: &impl Cells) -> io::Result<NextCell> {
        loop {
            let Some(cell) = self.open.pop_front() else {
                if self.busy.is_empty() {
                    return Ok(NextCell::Finished);
                }
                if !self.look_again() {
                    return Ok(NextCell::Wait);
                }
                continue;
            };
            match cells.cell_state(cell) {
                CellStatus::Open => {}
                settled => return Ok(NextCell::Settled(cell, settled)),
            }
            cells.create_folder(cell)?;
            match self.claimant.attempt(&cells.cell_folder(cell).join(CLAIM))? {
                Attempt::Busy(owner) => self.put_back(cell, owner),
                // It may have been recorded since the look. The claim stays, as next to every record.
                Attempt::Claimed(claim, from) => match cells.cell_state(cell) {
                    CellStatus::Open => return Ok(NextCell::Take(cell, claim, from)),
                    settled => return Ok(NextCell::Settled(cell, settled)),
                },
            }
        }
    }

    /// Looks at some of the others' cells again, if it is time for that.
    fn look_again(&mut self) -> bool {
        let now = self.claimant.files().elapsed();
        if now < self.look_at {
            return false;
        }
        self.look_at = now + self.time_between_looks();
        let count = self.busy.len().min(LOOKS);
        self.open.extend(self.busy.drain(..count).map(|(cell, _)| cell));
        true
    }

    /// Returns the time between two looks at the others' cells: shorter if there are few.
    fn time_between_looks(&self) -> Duration {
        let longest = (self.claimant.me().lease / 12).min(Duration::from_secs(10));
        (PAUSE * self.busy.len() as u32).max(5 * PAUSE).min(longest)
    }

    /// A cell that another process has claimed after all.
    pub(crate) fn put_back(&mut self, cell: usize, owner: Owner) {
        if self.busy.is_empty() {
            // No look right after the first one.
            self.look_at = self.look_at.max(self.claimant.files().elapsed() + self.time_between_looks());
        }
        self.busy.push_back((cell, owner));
    }
}
