//! `sweep --status`: how a sweep's folder stands, whoever runs its cells.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use frostline_files::claim::{CLAIM, Claimant, Disk, LEASE, Owner};
use frostline_record::{Cell, Sweep, read_record};
use frostline_report::visible;

use crate::ending::Ending;
use crate::fault::{Blame as _, Result};
use crate::units::{clock, counted};
use crate::{place, say, slurm};

/// How many failed cells are named.
const MOST_FAILED: usize = 10;

/// How the cells of a sweep stand.
#[derive(Debug, Default)]
struct Standing {
    cells: usize,
    recorded: usize,
    /// The title of each failed cell, and the first line of its error.
    failed: Vec<(String, String)>,
    /// The title of each cell that is run now, by whom, and how long ago that one was last seen.
    running: Vec<(String, Owner, Option<Duration>)>,
    /// Cells whose process has died, to be taken over.
    left_behind: usize,
}

/// Prints how the sweep in a folder stands.
///
/// # Errors
/// If there is no sweep.
pub(crate) fn status(folder: &Path) -> Result<Ending> {
    let sweep = Sweep::read(folder).environment()?;
    let standing = Standing::of(folder, &sweep.cells);
    let ending = say::print(|to| standing.write(folder, to))?;
    slurm::status(folder)?;
    Ok(ending)
}

impl Standing {
    fn of(folder: &Path, cells: &[Cell]) -> Self {
        let claimant = Claimant::new(Disk, Owner::this_process("frostline sweep --status", LEASE));
        // Where nothing can be written, the ages of claims are unknown.
        let _ = claimant.read_clock(folder);
        let mut standing = Self { cells: cells.len(), ..Self::default() };
        for cell in cells {
            standing.add(cell, &Sweep::cell_folder(folder, cell), &claimant);
        }
        standing
    }

    fn add(&mut self, cell: &Cell, folder: &Path, claimant: &Claimant<Disk>) {
        let record = read_record(folder).ok().flatten().filter(|record| record.cell.id == cell.id);
        let holder = match record.map(|record| record.error) {
            Some(None) => {
                self.recorded += 1;
                return;
            }
            failed => {
                // One that failed may be run again now.
                let holder = claimant.holder(&folder.join(CLAIM)).ok().flatten();
                if let (None, Some(Some(error))) = (&holder, failed) {
                    let first = error.lines().next().unwrap_or_default();
                    self.failed.push((cell.title(), first.into()));
                }
                holder
            }
        };
        if let Some((owner, age)) = holder {
            if owner.has_ended() || age.is_some_and(|age| age >= owner.lease) {
                self.left_behind += 1;
            } else {
                self.running.push((cell.title(), owner, age));
            }
        }
    }

    fn write(&self, folder: &Path, out: &mut impl Write) -> io::Result<()> {
        let Self { cells, recorded, failed, running, left_behind } = self;
        let left = cells - recorded - failed.len();
        writeln!(
            out,
            "{}: {}, {recorded} recorded, {} failed, {left} left, of which {} run now",
            visible(&place::shown(folder)),
            counted(*cells, "cell"),
            failed.len(),
            running.len()
        )?;
        for (title, owner, age) in running {
            let seen = age.map_or(String::new(), |age| format!(", seen {} ago", clock(age.as_secs_f64())));
            writeln!(out, "running   {}: {}{seen}", visible(title), visible(&owner.to_string()))?;
        }
        for (title, error) in failed.iter().take(MOST_FAILED) {
            writeln!(out, "failed    {}: {}", visible(title), visible(error))?;
        }
        if failed.len() > MOST_FAILED {
            writeln!(out, "          and {} more", failed.len() - MOST_FAILED)?;
        }
        if *left_behind > 0 {
            let cells = counted(*left_behind, "cell");
            writeln!(out, "left      {cells} by processes that have died; the next process takes over")?;
        }
        Ok(())
    }
}
