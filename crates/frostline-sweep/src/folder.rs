//! The sweep's folder: checked, marked as a sweep's, and searched for the cells that still have to be run.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use frostline_files::claim::{CLAIM, Claimant, Disk, LEASE, Owner, is_attempt};
use frostline_files::is_part;
use frostline_record::{
    Cell, Checkpoints, FolderError, Job, PrefixCache, PrefixPlace, Record, Sweep, Switch, read_record,
    remove_checkpoints,
};
use tempfile::TempDir;

use crate::claims::{Held, ProcessClaims};
use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult, environment_fault};
use crate::notices::Notice;
use crate::outcome::Outcome;
use crate::place;
use crate::units::count_noun;

/// The sweep's folder with the cells of this command.
#[derive(Debug)]
pub(crate) struct SweepFolder<'a> {
    path: PathBuf,
    cells: Vec<Cell>,
    /// The ids of those that were done before this command.
    done: HashSet<String>,
    /// With `--verify`: each cell takes one step, and the folder is removed afterwards.
    temporary: Option<TempDir>,
    /// The folder in which the workers of this process write their logs.
    logs: PathBuf,
    /// The claim on these, unless they lie apart.
    _held: Option<Held<'a>>,
}

/// The text of the file `.lock` in a sweep's folder, so that the folder is known even if its `sweep.json` is damaged.
const MARK: &str = "This folder belongs to a sweep of Frostline.\n";

/// Checks that a sweep can be written to the folder, and leaves nothing behind.
pub(crate) fn check_writable(out: &Path) -> CommandResult<()> {
    let shown = place::shown_path(out);
    let existing = out.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    if !existing.is_dir() {
        return environment_fault(format!(
            "{shown}: the sweep's folder cannot be created, because {} is a file; give another --out",
            place::shown_path(existing)
        ));
    }
    check_owner(out)?;
    let probe = existing.join(format!(".frostline-probe-{}", std::process::id()));
    let written = frostline_files::write(&probe, b"").and_then(|()| frostline_files::remove(&probe));
    written
        .map_err(|error| {
            anyhow!("{shown}: the sweep's folder cannot be written ({}); give another --out", error.reason)
        })
        .blame_environment()
}

/// Checks that the folder is missing, empty or a sweep's: files of others must not be replaced or removed.
fn check_owner(folder: &Path) -> CommandResult<()> {
    // The mark is read after the entries: another sweep may be writing it now, and writes everything else later.
    let entries: Vec<OsString> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    let lock = match frostline_files::read_text(&folder.join(".lock"), 1 << 10) {
        Err(_) if entries.iter().any(|name| name == ".lock") => "not readable".into(),
        lock => lock.unwrap_or_default(),
    };
    if lock == MARK {
        return Ok(());
    }
    // A sweep that was killed at its first moment leaves an empty one.
    let is_foreign = |name: &&OsString| *name != ".lock" || !MARK.starts_with(&lock);
    let foreign: Vec<_> = entries.iter().filter(is_foreign).collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let why = match Sweep::read(folder) {
        Ok(_) | Err(FolderError::Schema { .. }) => return Ok(()),
        Err(FolderError::NoSweep { .. }) => {
            let name = foreign.iter().min().expect("one is there").display();
            format!("it is not a sweep's, since it has no sweep.json, but it contains {name}")
        }
        Err(FolderError::Malformed { reason, .. }) => format!("its sweep.json cannot be read ({reason})"),
        Err(error) => format!("its sweep.json cannot be read ({error})"),
    };
    environment_fault(format!("{}: {why}; give a new or an empty folder as --out", place::shown_path(folder)))
}

impl<'a> SweepFolder<'a> {
    /// Marks the folder as a sweep's and writes `sweep.json`.
    pub(crate) fn open_for_sweep(
        path: &Path,
        mut sweep: Sweep,
        claims: &'a ProcessClaims,
    ) -> CommandResult<Self> {
        check_owner(path)?;
        mark_as_sweep(path)?;
        check_folders(&sweep.cells)?;
        let logs = path.join("workers");
        // Another sweep of this folder would remove them.
        let (logs, held) = match claims.try_hold(&logs)? {
            Ok(held) => (logs, Some(held)),
            Err(_) => (own_logs(path, claims), None),
        };
        let cells = sweep.cells.clone();
        let mut folder =
            Self { path: path.into(), cells, done: HashSet::new(), temporary: None, logs, _held: held };
        folder.create_folders()?;
        let writing = claims.hold_folder(path)?;
        folder.find_done(claims);
        // The report warns of times measured with several jobs at once, even if an earlier command measured them.
        if let Some(before) = Sweep::read(path).ok().filter(|_| folder.recorded_before() > 0) {
            let jobs = if folder.recorded_before() == folder.cells.len() { 0 } else { sweep.plan.jobs };
            sweep.plan.jobs = before.plan.jobs.max(jobs);
        }
        sweep.write(path).blame_environment()?;
        drop(writing);
        Ok(folder)
    }

    /// Opens a folder in which a sweep was started, for a process that helps with its cells. Its logs are separate.
    pub(crate) fn join_sweep(path: &Path, cells: Vec<Cell>, claims: &ProcessClaims) -> CommandResult<Self> {
        check_folders(&cells)?;
        let logs = own_logs(path, claims);
        let mut folder =
            Self { path: path.into(), cells, done: HashSet::new(), temporary: None, logs, _held: None };
        folder.create_folders()?;
        folder.find_done(claims);
        Ok(folder)
    }

    /// Creates a separate, temporary folder for `--verify`.
    pub(crate) fn for_verification(cells: Vec<Cell>) -> CommandResult<Self> {
        let temporary = tempfile::Builder::new().prefix("frostline-verify-").tempdir();
        let temporary = temporary.context("no temporary folder can be created").blame_environment()?;
        let path = temporary.path().to_path_buf();
        mark_as_sweep(&path)?;
        let logs = path.join("workers");
        let folder =
            Self { path, cells, done: HashSet::new(), temporary: Some(temporary), logs, _held: None };
        folder.create_folders()?;
        Ok(folder)
    }

    /// Creates the folders in it.
    fn create_folders(&self) -> CommandResult<()> {
        frostline_files::create_own_folder(&self.path.join("cells")).blame_environment()?;
        frostline_files::create_own_folder(&self.path.join("workers")).blame_environment()?;
        frostline_files::create_own_folder(&self.logs).blame_environment()
    }

    /// Finds the cells that are done, names those whose record is damaged, and removes what is left of those that were killed
    /// after their record: checkpoints, and the name under which it was written.
    fn find_done(&mut self, claims: &ProcessClaims) {
        for cell in &self.cells {
            match stored_outcome(&self.path, cell) {
                Ok(Some(true)) => {
                    let folder = Sweep::cell_folder(&self.path, cell);
                    remove_checkpoints(&folder);
                    claims.remove_leftovers_unless_held(&folder);
                    self.done.insert(cell.id.clone());
                }
                Ok(_) => {}
                Err(error) => {
                    let why = match error {
                        FolderError::Malformed { reason, .. } => reason,
                        other => other.to_string(),
                    };
                    note!("{}: its record cannot be read, so it is run again: {why}", cell.title());
                }
            }
        }
    }

    /// The folder's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where this number of workers keeps the outputs of constant prefixes. Several workers share files,
    /// so that each output is computed once.
    pub(crate) fn prefix_place(
        &self,
        cache: &PrefixCache,
        workers: usize,
    ) -> CommandResult<Option<PrefixPlace>> {
        if self.is_verification() || cache.enabled == Switch::Off {
            return Ok(None);
        }
        let folder = std::path::absolute(self.prefix_folder()).blame_environment()?.display().to_string();
        Ok(Some(PrefixPlace { memory_mib: if workers > 1 { 0 } else { cache.memory_mib }, folder }))
    }

    fn prefix_folder(&self) -> PathBuf {
        self.path.join("prefixes")
    }

    /// Returns the folder of the workers' logs.
    pub(crate) fn log_folder(&self) -> PathBuf {
        self.logs.clone()
    }

    /// Removes the empty logs of this process, and their folder if it is then empty.
    pub(crate) fn remove_empty_logs(&self) {
        for entry in fs::read_dir(&self.logs).into_iter().flatten().flatten() {
            if entry.metadata().is_ok_and(|found| found.is_file() && found.len() == 0) {
                let _ = frostline_files::remove(&entry.path());
            }
        }
        let _ = frostline_files::remove_empty_folder(&self.logs);
    }

    /// Returns the number of cells that were done before this command.
    pub(crate) fn recorded_before(&self) -> usize {
        self.done.len()
    }

    fn is_verification(&self) -> bool {
        self.temporary.is_some()
    }

    /// Jobs for the cells that are missing or failed. Without claims the cells' folders are created.
    pub(crate) fn pending_jobs(
        &self,
        place: Option<&PrefixPlace>,
        checkpoints: Checkpoints,
    ) -> CommandResult<Vec<Job>> {
        let mut jobs = Vec::new();
        for cell in self.cells.iter().filter(|cell| !self.done.contains(&cell.id)) {
            let folder = std::path::absolute(Sweep::cell_folder(&self.path, cell)).blame_environment()?;
            if self.is_verification() {
                frostline_files::create_own_folder(&folder).blame_environment()?;
            }
            jobs.push(Job {
                cell: cell.clone(),
                folder: folder.display().to_string(),
                prefix_cache: place.cloned(),
                checkpoints,
                verify: self.is_verification(),
                claim: None,
            });
        }
        Ok(jobs)
    }

    /// Returns the cells of this command.
    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The stored record of a cell, if there is one that can be read.
    pub(crate) fn read_record(&self, cell: &Cell) -> Option<Record> {
        read_record(&Sweep::cell_folder(&self.path, cell)).ok().flatten()
    }

    /// Whether a cell is done: its folder contains a record with the same id and without an error. A cell
    /// whose record cannot be read is run again.
    pub(crate) fn is_recorded(&self, cell: &Cell) -> bool {
        !self.is_verification() && matches!(stored_outcome(&self.path, cell), Ok(Some(true)))
    }

    /// Prints how others can run the cells.
    pub(crate) fn introduce_work(&self) -> Ending {
        let (path, left) = (place::shown_path(&self.path), self.cells.len() - self.recorded_before());
        say!(
            "begun     {path}: {} left; `frostline work {path}` runs them, any number at once",
            count_noun(left, "cell")
        );
        Ending::Done
    }

    /// Reports to programs that the command starts in this folder.
    pub(crate) fn announce_start(&self) {
        let folder = self.path.display().to_string();
        Notice::Begin { folder, cells: self.cells.len(), done: self.recorded_before() }.print_if_asked();
    }

    /// Prints how many cells are done already, and how many records of other cells there are.
    pub(crate) fn print_existing(&self) -> CommandResult<()> {
        let current: HashSet<OsString> = self.cells.iter().map(|cell| cell.folder().into()).collect();
        let others = fs::read_dir(self.path.join("cells"))
            .blame_environment()?
            .flatten()
            .filter(|entry| entry.path().join("record.json").exists())
            .filter(|entry| !current.contains(&entry.file_name()))
            .count();
        if !self.done.is_empty() {
            say!("done      {} here already, not run again", count_noun(self.recorded_before(), "cell"));
        }
        if others > 0 {
            say!(
                "others    {} left alone: made with other code, data or settings, or not asked for now",
                count_noun(others, "record")
            );
        }
        Ok(())
    }

    /// Records in `sweep.json` that this command adds no cells.
    pub(crate) fn end_search(&self, claims: &ProcessClaims) -> CommandResult<()> {
        let _writing = claims.hold_folder(&self.path)?;
        let sweep = Sweep::read(&self.path).blame_environment()?;
        Sweep { search_continues: false, ..sweep }.write(&self.path).blame_environment()
    }

    /// Removes the prefix files, unless the plan keeps them or cells that read them run or still have to be run, perhaps those
    /// of another command. Other files there are left alone.
    pub(crate) fn clear_prefixes(&self, cache: &PrefixCache, outcome: &Outcome) {
        if cache.keep == Switch::On || !outcome.failed.is_empty() || outcome.interrupted {
            return;
        }
        let own: HashSet<&str> = self.cells.iter().map(|cell| cell.id.as_str()).collect();
        let all = Sweep::read(&self.path).map(|sweep| sweep.cells).unwrap_or_default();
        if all.iter().any(|cell| !own.contains(cell.id.as_str()) && !self.is_recorded(cell)) {
            return;
        }
        // If another command shares the folder, `sweep.json` may be this command's and not name the other's cells.
        let claimant = Claimant::new(Disk, Owner::this_process("frostline sweep", LEASE));
        let _ = claimant.read_clock(&self.path);
        let cells = fs::read_dir(self.path.join("cells")).into_iter().flatten().flatten();
        if cells.map(|entry| entry.path()).any(|cell| is_running(&claimant, &cell)) {
            return;
        }
        let folder = self.prefix_folder();
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| is_prefix_file(path)) {
            let _ = frostline_files::remove(&path);
        }
        let _ = frostline_files::remove_empty_folder(&folder);
    }

    /// Prints what was done, what failed and how to continue; `by_jobs` if jobs of a cluster ran the cells. After `--verify` it removes the folder unless a cell
    /// has failed.
    pub(crate) fn close_sweep(mut self, outcome: &Outcome, by_jobs: bool) -> Ending {
        let (path, verifies) = (place::shown_path(&self.path), self.is_verification());
        let done = self.recorded_before() + outcome.done + outcome.elsewhere;
        Notice::End { cells: self.cells.len(), done, failed: outcome.failed.len() }.print_if_asked();
        if outcome.late > 0 {
            let late = count_noun(outcome.late, "cell");
            say!(
                "late      {late} run here too late: their records are those of the processes that had taken them over"
            );
        }
        if let Some(folder) = self.temporary.take() {
            print_verified(folder, outcome);
        }
        if outcome.interrupted {
            let done = count_noun(done, "cell");
            say!("stopped   {done} done, kept in {path}; the same command again runs the others");
        } else if !verifies && !outcome.failed.is_empty() {
            let failed = count_noun(outcome.failed.len(), "cell");
            say!("failed    {failed}; the full errors are in {path}/cells/*/record.json");
            let also = if outcome.not_started > 0 { " and those that were not started" } else { "" };
            match by_jobs {
                false => say!("          the same command again runs the failed cells{also}"),
                true => say!("          `frostline work {path} --failed` runs them again"),
            }
        }
        outcome.ending()
    }
}

/// The folder for the logs of a process that is not the only one.
fn own_logs(path: &Path, claims: &ProcessClaims) -> PathBuf {
    let me = claims.own_claimant();
    path.join("workers").join(format!("{}-{}", me.host, me.pid))
}

fn print_verified(folder: TempDir, outcome: &Outcome) {
    if !outcome.failed.is_empty() {
        // The logs contain more.
        let _ = folder.keep();
    }
    say!("verified  {} took one step each; no record was written", count_noun(outcome.done, "cell"));
    for (title, error) in &outcome.failed {
        say!("failed    {title}: {}", error.lines().next().unwrap_or_default());
    }
}

/// Whether this is one of the files that workers make of a prefix: 32 hexadecimal digits and an ending.
fn is_prefix_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split_once('.').is_some_and(|(key, ending)| {
        let is_key = key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        // An older version made the last two.
        let is_known = ["f32", "claim", "f32.part", "lock"].contains(&ending);
        is_key && (is_known || is_part(name) || is_attempt(name))
    })
}

/// Checks that each cell has a folder of its own.
fn check_folders(cells: &[Cell]) -> CommandResult<()> {
    let mut known: HashMap<String, &Cell> = HashMap::with_capacity(cells.len());
    for cell in cells {
        if let Some(other) = known.insert(cell.folder(), cell) {
            return Err(anyhow!(
                "two cells would be written to the folder {}: {} ({}) and {} ({}); run them as two plans",
                cell.folder(),
                other.title(),
                other.id,
                cell.title(),
                cell.id
            ))
            .blame_plan();
        }
    }
    Ok(())
}

/// Returns whether a living process runs the cell of this folder. The claim stays next to a record.
fn is_running(claimant: &Claimant<Disk>, cell_folder: &Path) -> bool {
    let is_done = || matches!(read_record(cell_folder), Ok(Some(record)) if record.error.is_none());
    let holder = claimant.holder(&cell_folder.join(CLAIM)).ok().flatten();
    let lives =
        holder.is_some_and(|(owner, age)| !owner.has_ended() && age.is_none_or(|age| age < owner.lease));
    lives && !is_done()
}

/// The record of a cell in a sweep's folder, if there is one that can be read.
pub(crate) fn record_of(sweep: &Path, cell: &Cell) -> Option<Record> {
    let record = read_record(&Sweep::cell_folder(sweep, cell)).ok().flatten();
    record.filter(|record| record.cell.id == cell.id)
}

/// Whether a cell's folder has a record with the cell's id (`Some`), and whether that record is without an error.
pub(crate) fn stored_outcome(sweep: &Path, cell: &Cell) -> std::result::Result<Option<bool>, FolderError> {
    let record = read_record(&Sweep::cell_folder(sweep, cell))?;
    Ok(record.filter(|record| record.cell.id == cell.id).map(|record| record.error.is_none()))
}

/// Marks a folder as a sweep's, and creates it if it is missing.
fn mark_as_sweep(folder: &Path) -> CommandResult<()> {
    let open = || {
        frostline_files::create_folder(folder)?;
        frostline_files::lock_file(&folder.join(".lock"))
    };
    let file = open()
        .map_err(|error| {
            let shown = place::shown_path(folder);
            anyhow!("{shown}: the sweep's folder cannot be written ({}); give another --out", error.reason)
        })
        .blame_environment()?;
    // Where it cannot be written, sweep.json cannot either, which says so.
    let _ = (&file).write_all(MARK.as_bytes());
    Ok(())
}
