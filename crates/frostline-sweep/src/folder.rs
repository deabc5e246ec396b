//! The sweep's folder: checked, locked, and searched for the cells that still have to be run.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use frostline_record::{
    Cell, Checkpoints, FolderError, Job, PrefixCache, PrefixPlace, Record, Sweep, Switch, read_record,
    remove_checkpoints,
};
use tempfile::TempDir;

use crate::ending::Ending;
use crate::fault::{Blame as _, Result, environment};
use crate::outcome::Outcome;
use crate::place;
use crate::units::counted;

/// How long to wait until the worker of an earlier, killed sweep releases a cell.
const PATIENCE: Duration = Duration::from_secs(10);

/// The sweep's folder with the cells of this command.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    cells: Vec<Cell>,
    done: usize,
    /// With `--verify`: each cell takes one step, and the folder is removed afterwards.
    temporary: Option<TempDir>,
    /// Held for as long as this value exists; the system releases it however the process ends.
    _lock: File,
}

/// What the lock file of a sweep's folder says, so that the folder is known even if its `sweep.json` is damaged.
const MARK: &str = "This folder belongs to a sweep of Frostline.\n";

/// Checks that a sweep can be written to the folder, and leaves nothing behind.
pub(crate) fn check(out: &Path) -> Result<()> {
    let shown = place::shown(out);
    let existing = out.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let existing = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
    if !existing.is_dir() {
        return environment(format!(
            "{shown}: the sweep's folder cannot be created, because {} is a file; give another --out",
            place::shown(existing)
        ));
    }
    check_owner(out)?;
    let probe = existing.join(format!(".frostline-probe-{}", std::process::id()));
    let written = frostline_files::write(&probe, b"").and_then(|()| frostline_files::remove(&probe));
    written
        .map_err(|error| {
            anyhow!("{shown}: the sweep's folder cannot be written ({}); give another --out", error.source)
        })
        .environment()
}

/// Checks that the folder is missing, empty or a sweep's: nobody else's files may be replaced or removed.
fn check_owner(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let lock =
        frostline_files::read_text(&folder.join(".lock"), 1 << 10).unwrap_or_else(|_| "missing".into());
    if lock == MARK {
        return Ok(());
    }
    // A sweep that was killed at its first moment leaves an empty one.
    let foreign: Vec<_> = entries.filter(|name| name != ".lock" || !lock.is_empty()).collect();
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
    environment(format!("{}: {why}; give a new or an empty folder as --out", place::shown(folder)))
}

impl Folder {
    /// Locks the folder for this sweep and writes `sweep.json`.
    pub(crate) fn open(path: &Path, mut sweep: Sweep) -> Result<Self> {
        check_owner(path)?;
        let lock = lock(path)?;
        let cells = sweep.cells.clone();
        check_folders(&cells)?;
        let mut folder = Self { path: path.into(), cells, done: 0, temporary: None, _lock: lock };
        let finished = |cell: &&Cell| folder.finished(cell);
        let done = folder.cells.iter().filter(finished);
        // Of those that were killed between their record and the removal of these.
        folder.done = done.inspect(|cell| remove_checkpoints(&Sweep::cell_folder(path, cell))).count();
        // The report warns of times measured with several jobs at once, even if an earlier command measured them.
        if let Some(before) = Sweep::read(path).ok().filter(|_| folder.done > 0) {
            let jobs = if folder.done == folder.cells.len() { 0 } else { sweep.plan.jobs };
            sweep.plan.jobs = before.plan.jobs.max(jobs);
        }
        sweep.write(path).environment()?;
        folder.create()?;
        Ok(folder)
    }

    /// A separate, temporary folder for `--verify`.
    pub(crate) fn temporary(cells: Vec<Cell>) -> Result<Self> {
        let temporary = tempfile::Builder::new().prefix("frostline-verify-").tempdir();
        let temporary = temporary.context("no temporary folder can be created").environment()?;
        let path = temporary.path().to_path_buf();
        let lock = lock(&path)?;
        let folder = Self { path, cells, done: 0, temporary: Some(temporary), _lock: lock };
        folder.create()?;
        Ok(folder)
    }

    /// Creates the folders in it.
    fn create(&self) -> Result<()> {
        frostline_files::create_own_folder(&self.path.join("cells")).environment()?;
        frostline_files::create_own_folder(&self.logs()).environment()
    }

    /// The folder's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where this number of workers keeps the outputs of constant prefixes. Several workers share files,
    /// so that each output is computed once.
    pub(crate) fn prefix_place(&self, cache: &PrefixCache, workers: usize) -> Result<Option<PrefixPlace>> {
        if self.verifies() || cache.enabled == Switch::Off {
            return Ok(None);
        }
        let folder = std::path::absolute(self.prefixes()).environment()?.display().to_string();
        Ok(Some(PrefixPlace { memory_mib: if workers > 1 { 0 } else { cache.memory_mib }, folder }))
    }

    fn prefixes(&self) -> PathBuf {
        self.path.join("prefixes")
    }

    /// The folder of the workers' logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join("workers")
    }

    /// How many cells were done before this command.
    pub(crate) fn done(&self) -> usize {
        self.done
    }

    fn verifies(&self) -> bool {
        self.temporary.is_some()
    }

    /// Jobs for the cells that are missing or failed; creates the cells' folders.
    pub(crate) fn jobs(&self, place: Option<&PrefixPlace>, checkpoints: Checkpoints) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for cell in self.cells.iter().filter(|cell| !self.finished(cell)) {
            let folder = Sweep::cell_folder(&self.path, cell);
            frostline_files::create_own_folder(&folder).environment()?;
            wait_until_free(&folder, cell)?;
            let folder = std::path::absolute(&folder).environment()?;
            jobs.push(Job {
                cell: cell.clone(),
                folder: folder.display().to_string(),
                prefix_cache: place.cloned(),
                checkpoints,
                verify: self.verifies(),
            });
        }
        self.print_existing()?;
        Ok(jobs)
    }

    /// The cells of this command.
    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The stored record of a cell, if there is one that can be read.
    pub(crate) fn record(&self, cell: &Cell) -> Option<Record> {
        read_record(&Sweep::cell_folder(&self.path, cell)).ok().flatten()
    }

    /// Whether a cell is done: its folder contains a record with the same id and without an error. A cell
    /// whose record cannot be read is run again.
    pub(crate) fn finished(&self, cell: &Cell) -> bool {
        !self.verifies() && matches!(stored(&self.path, cell), Ok(Some(true)))
    }

    /// Prints how many cells are done already, and how many records of other cells there are.
    fn print_existing(&self) -> Result<()> {
        let current: HashSet<OsString> = self.cells.iter().map(|cell| cell.folder().into()).collect();
        let others = fs::read_dir(self.path.join("cells"))
            .environment()?
            .flatten()
            .filter(|entry| entry.path().join("record.json").exists())
            .filter(|entry| !current.contains(&entry.file_name()))
            .count();
        if self.done > 0 {
            say!("done      {} here already, not run again", counted(self.done, "cell"));
        }
        if others > 0 {
            say!(
                "others    {} left alone: made with other code, data or settings, or not asked for now",
                counted(others, "record")
            );
        }
        Ok(())
    }

    /// Removes the prefix files, unless the plan keeps them or cells that read them still have to be run. Other files
    /// there are left alone.
    pub(crate) fn clear_prefixes(&self, cache: &PrefixCache, outcome: &Outcome) {
        if cache.keep == Switch::On || !outcome.failed.is_empty() || outcome.interrupted {
            return;
        }
        let folder = self.prefixes();
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| is_prefix_file(path)) {
            let _ = frostline_files::remove(&path);
        }
        let _ = frostline_files::remove_empty_folder(&folder);
    }

    /// Prints what was done, what failed and how to continue. After `--verify` it removes the folder unless a cell
    /// has failed.
    pub(crate) fn close(mut self, outcome: &Outcome) -> Ending {
        let (path, verifies) = (place::shown(&self.path), self.verifies());
        if let Some(folder) = self.temporary.take() {
            print_verified(folder, outcome);
        }
        if outcome.interrupted {
            let done = counted(self.done + outcome.done, "cell");
            say!("stopped   {done} done, kept in {path}; the same command again runs the others");
        } else if !verifies && !outcome.failed.is_empty() {
            let failed = counted(outcome.failed.len(), "cell");
            say!("failed    {failed}; the full errors are in {path}/cells/*/record.json");
            let also = if outcome.not_started > 0 { " and those that were not started" } else { "" };
            say!("          the same command again runs the failed cells{also}");
        }
        outcome.ending()
    }
}

fn print_verified(folder: TempDir, outcome: &Outcome) {
    if !outcome.failed.is_empty() {
        // Its logs tell more.
        let _ = folder.keep();
    }
    say!("verified  {} took one step each; no record was written", counted(outcome.done, "cell"));
    for (title, error) in &outcome.failed {
        say!("failed    {title}: {}", error.lines().next().unwrap_or_default());
    }
}

/// Whether this is one of the files that workers make of a prefix: 32 hexadecimal digits and an ending.
fn is_prefix_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split_once('.').is_some_and(|(key, ending)| {
        let is_key = key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_key && ["f32", "f32.part", "lock"].contains(&ending)
    })
}

/// Checks that each cell has a folder of its own.
fn check_folders(cells: &[Cell]) -> Result<()> {
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
            .plan();
        }
    }
    Ok(())
}

/// Whether a cell's folder has a record with the cell's id (`Some`), and whether that record is without an error.
pub(crate) fn stored(sweep: &Path, cell: &Cell) -> std::result::Result<Option<bool>, FolderError> {
    let record = read_record(&Sweep::cell_folder(sweep, cell))?;
    Ok(record.filter(|record| record.cell.id == cell.id).map(|record| record.error.is_none()))
}

/// Locks a folder, and creates it where it is missing.
fn lock(folder: &Path) -> Result<File> {
    let shown = place::shown(folder);
    let open = || {
        frostline_files::create_folder(folder)?;
        frostline_files::lock_file(&folder.join(".lock"))
    };
    let file = open()
        .map_err(|error| {
            anyhow!("{shown}: the sweep's folder cannot be written ({}); give another --out", error.source)
        })
        .environment()?;
    match file.try_lock() {
        Ok(()) => {
            // Where it cannot be written, sweep.json cannot either, which says so.
            let _ = (&file).write_all(MARK.as_bytes());
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => environment(format!(
            "{shown}: another sweep is running in this folder; wait for it, or give another --out"
        )),
        Err(TryLockError::Error(error)) => environment(format!(
            "{shown}: the folder cannot be locked ({error}); give an --out on a local disk"
        )),
    }
}

/// Waits until no other process works on the cell. A worker whose parent process was killed ends by itself, but may
/// still hold the lock for a moment.
fn wait_until_free(folder: &Path, cell: &Cell) -> Result<()> {
    let started = Instant::now();
    while let Ok(file) = frostline_files::open(&folder.join(".lock")) {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                return environment(format!(
                    "{}: another process is still working on this cell ({}); end it first",
                    cell.title(),
                    folder.display()
                ));
            }
            _ => break,
        }
    }
    Ok(())
}
