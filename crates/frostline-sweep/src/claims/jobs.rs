//! The jobs of a folder that other processes take cells of too.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use frostline_files::Identity;
use frostline_files::claim::{CLAIM, Disk, WorkClaim};
use frostline_record::{Job, JobClaim, read_record};

use super::pull::{CellStatus, Cells, NextCell, Pull};
use super::{ProcessClaims, claim_error, clear_leftovers};
use crate::fault::{Blame as _, CommandResult};
use crate::jobs::{JobEnd, Jobs, NextJob};
use crate::units::count_noun;

/// Jobs that are claimed one by one.
#[derive(Debug)]
pub(crate) struct ClaimedJobs<'a> {
    claims: &'a ProcessClaims,
    all: All,
    pull: Pull<Disk>,
    /// Jobs that this process has, by the cell's id.
    taken: HashMap<String, (usize, WorkClaim)>,
    /// Whether cells of other processes are waited for.
    waits: bool,
    said_that_it_waits: bool,
}

/// The jobs by number.
#[derive(Debug)]
struct All {
    jobs: Vec<Job>,
    folders: Vec<PathBuf>,
    /// Records that are to be made again, as they were when this command began.
    old: Vec<Option<Identity>>,
}

impl<'a> ClaimedJobs<'a> {
    /// Takes these jobs in this order, from the one with the number `first` on and then from the beginning. All need to
    /// be run: a record that one of them has now is to be made again.
    pub(crate) fn new(claims: &'a ProcessClaims, jobs: Vec<Job>, first: usize) -> Self {
        let folders: Vec<PathBuf> = jobs.iter().map(|job| PathBuf::from(&job.folder)).collect();
        let old = jobs.iter().zip(&folders).map(|(job, folder)| old_record(job, folder)).collect();
        let order = (0..jobs.len()).map(|at| (at + first) % jobs.len().max(1));
        let pull = Pull::new(claims.claimant.clone(), order);
        let all = All { jobs, folders, old };
        Self { claims, all, pull, taken: HashMap::new(), waits: true, said_that_it_waits: false }
    }

    /// Sets whether to wait for cells that other processes run, since these may die.
    pub(crate) fn wait_for_others(mut self, waits: bool) -> Self {
        self.waits = waits;
        self
    }

    fn say_that_it_waits(&mut self) {
        if self.taken.is_empty()
            && let Some((cell, owner)) = self.pull.claimed_elsewhere()
            && !std::mem::replace(&mut self.said_that_it_waits, true)
        {
            let cells = count_noun(self.pull.unfinished_cells(), "cell");
            let title = self.all.jobs[*cell].cell.title();
            note!("waiting   others run the {cells} that are left: {title} is {owner}'s");
        }
    }
}

/// The record that a job replaces; none if another process has run it since the jobs were listed.
fn old_record(job: &Job, folder: &Path) -> Option<Identity> {
    let old = Identity::of(&folder.join("record.json")).ok()?;
    let record = read_record(folder).ok().flatten();
    let counts = record.is_some_and(|record| record.cell.id == job.cell.id && record.error.is_none());
    (!counts).then_some(old)
}

impl Cells for All {
    fn cell_folder(&self, cell: usize) -> &Path {
        &self.folders[cell]
    }

    fn cell_state(&self, cell: usize) -> CellStatus {
        let Ok(now) = Identity::of(&self.folders[cell].join("record.json")) else { return CellStatus::Open };
        if Some(now) == self.old[cell] {
            return CellStatus::Open;
        }
        match read_record(&self.folders[cell]) {
            Ok(Some(record)) if record.cell.id == self.jobs[cell].cell.id => {
                record.error.map_or(CellStatus::Recorded, CellStatus::Failed)
            }
            _ => CellStatus::Open,
        }
    }

    fn create_folder(&self, cell: usize) -> io::Result<()> {
        frostline_files::create_own_folder(&self.folders[cell]).map_err(|error| error.reason)
    }
}

impl Jobs for ClaimedJobs<'_> {
    fn next(&mut self) -> CommandResult<NextJob> {
        let next = self.pull.next(&self.all);
        let folder = self.all.folders.first().map_or(Path::new("."), PathBuf::as_path);
        match next.map_err(|error| claim_error(folder, &error)).blame_environment()? {
            NextCell::Take(cell, claim, from) => {
                clear_leftovers(&self.all.folders[cell]);
                self.claims.beats.add_claim(claim.clone());
                let job = Job { claim: Some(JobClaim::from(&claim)), ..self.all.jobs[cell].clone() };
                self.taken.insert(job.cell.id.clone(), (cell, claim));
                Ok(NextJob::Job(Box::new(job), from.map(|owner| owner.to_string())))
            }
            NextCell::Settled(cell, state) => {
                let error = if let CellStatus::Failed(error) = state { Some(error) } else { None };
                Ok(NextJob::Elsewhere(Box::new(self.all.jobs[cell].cell.clone()), error))
            }
            NextCell::Wait if !self.waits => Ok(NextJob::Finished),
            NextCell::Wait => {
                self.say_that_it_waits();
                Ok(NextJob::Wait)
            }
            NextCell::Finished => Ok(NextJob::Finished),
        }
    }

    fn unstarted_jobs(&self) -> usize {
        if self.waits { self.pull.unfinished_cells() } else { self.pull.unclaimed_cells() }
    }

    fn is_lost(&self, job: &Job) -> bool {
        self.claims.beats.is_lost(&Path::new(&job.folder).join(CLAIM))
    }

    fn close_job(&mut self, job: &Job, end: JobEnd) {
        let Some((cell, claim)) = self.taken.remove(&job.cell.id) else { return };
        let beats = &self.claims.beats;
        match end {
            // The claim stays: even if the record becomes visible late, no process takes the cell for one that was not run.
            JobEnd::Recorded => beats.leave_claim(&claim.file),
            JobEnd::Failed | JobEnd::Stopped => beats.release_claim(&claim.file),
            JobEnd::Lost => {
                beats.leave_claim(&claim.file);
                let owner = self.claims.claimant.holder(&claim.file).ok().flatten().map(|(owner, _)| owner);
                self.pull.put_back(cell, owner.unwrap_or_else(|| self.claims.own_claimant().clone()));
            }
        }
    }
}

/// Cells that were not ended are given up, so that another process can take them at once.
impl Drop for ClaimedJobs<'_> {
    fn drop(&mut self) {
        for (_, (_, claim)) in self.taken.drain() {
            self.claims.beats.release_claim(&claim.file);
        }
    }
}
