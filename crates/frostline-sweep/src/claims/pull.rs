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
    /// The folder of a cell.
    fn folder(&self, cell: usize) -> &Path;
    /// What is known of a cell now.
    fn state(&self, cell: usize) -> State;
    /// Creates the folder of a cell that is about to be claimed.
    fn prepare(&self, cell: usize) -> io::Result<()>;
}

/// What is known of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It still has to be run.
    Open,
    /// It has a record that counts.
    Recorded,
    /// It has a record with this error.
    Failed(String),
}

/// The answer to the question for the next cell.
#[derive(Debug)]
pub(crate) enum Next {
    /// It was claimed, perhaps taken over from a process that died.
    Take(usize, WorkClaim, Option<Owner>),
    /// It needs nothing more: another process has recorded it.
    Settled(usize, State),
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

    /// How many cells this process knows to be left, without those that it has taken.
    pub(crate) fn left(&self) -> usize {
        self.open.len() + self.busy.len()
    }

    /// Those of them that were not claimed by others at the last look.
    pub(crate) fn open(&self) -> usize {
        self.open.len()
    }

    /// A cell that is claimed by another process, and by whom.
    pub(crate) fn busy(&self) -> Option<&(usize, Owner)> {
        self.busy.front()
    }

    /// Claims the next cell that is neither recorded nor another's.
    pub(crate) fn next(&mut self, cells: &impl Cells) -> io::Result<Next> {
        loop {
            let Some(cell) = self.open.pop_front() else {
                if self.busy.is_empty() {
                    return Ok(Next::Finished);
                }
                if !self.look_again() {
                    return Ok(Next::Wait);
                }
                continue;
            };
            match cells.state(cell) {
                State::Open => {}
                settled => return Ok(Next::Settled(cell, settled)),
            }
            cells.prepare(cell)?;
            match self.claimant.attempt(&cells.folder(cell).join(CLAIM))? {
                Attempt::Busy(owner) => self.put_back(cell, owner),
                // It may have been recorded since the look. The claim stays where it is, as beside every record.
                Attempt::Claimed(claim, from) => match cells.state(cell) {
                    State::Open => return Ok(Next::Take(cell, claim, from)),
                    settled => return Ok(Next::Settled(cell, settled)),
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
        self.look_at = now + self.pace();
        let count = self.busy.len().min(LOOKS);
        self.open.extend(self.busy.drain(..count).map(|(cell, _)| cell));
        true
    }

    /// The time between two looks at the others' cells: shorter where there are few.
    fn pace(&self) -> Duration {
        let longest = (self.claimant.me().lease / 12).min(Duration::from_secs(10));
        (PAUSE * self.busy.len() as u32).max(5 * PAUSE).min(longest)
    }

    /// A cell that another process has claimed after all.
    pub(crate) fn put_back(&mut self, cell: usize, owner: Owner) {
        if self.busy.is_empty() {
            // No look right after the first one.
            self.look_at = self.look_at.max(self.claimant.files().elapsed() + self.pace());
        }
        self.busy.push_back((cell, owner));
    }
}
