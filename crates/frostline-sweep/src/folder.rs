//! The sweep's folder: checked, locked, and searched for the cells that still have to be run.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use frostline_record::{
    Cell, Checkpoints, FolderError, Job, PrefixCache, PrefixPlace, Record, Sweep, Switch, read_record,
};

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
    /// Each cell takes one step, and the folder is removed afterwards.
    verify: bool,
    /// Held for as long as this value exists; the system releases it however the process ends.
    _lock: File,
}

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
    let probe = existing.join(format!(".frostline-probe-{}", std::process::id()));
    File::create(&probe)
        .and_then(|_| fs::remove_file(&probe))
        .map_err(|error| {
            anyhow!("{shown}: the sweep's folder cannot be written ({error}); give another --out")
        })
        .environment()
}

impl Folder {
    /// Locks the folder for this sweep and writes `sweep.json`.
    pub(crate) fn open(path: &Path, mut sweep: Sweep) -> Result<Self> {
        let lock = lock(path)?;
        let cells = sweep.cells.clone();
        let mut folder = Self { path: path.into(), cells, done: 0, verify: false, _lock: lock };
        let finished = |cell: &&Cell| folder.finished(cell);
        folder.done = folder.cells.iter().filter(finished).count();
        // The report warns of times measured with several jobs at once, even if an earlier command measured them.
        if let Some(before) = Sweep::read(path).ok().filter(|_| folder.done > 0) {
            let jobs = if folder.done == folder.cells.len() { 0 } else { sweep.plan.jobs };
            sweep.plan.jobs = before.plan.jobs.max(jobs);
        }
        sweep.write(path).environment()?;
        Ok(folder)
    }

    /// A separate, temporary folder for `--verify`.
    pub(crate) fn temporary(cells: Vec<Cell>) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("frostline-verify-{}", std::process::id()));
        let lock = lock(&path)?;
        Ok(Self { path, cells, done: 0, verify: true, _lock: lock })
    }

    /// The folder's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where this number of workers keeps the outputs of constant prefixes. Several workers share files,
    /// so that each output is computed once.
    pub(crate) fn prefix_place(&self, cache: &PrefixCache, workers: usize) -> Result<Option<PrefixPlace>> {
        if self.verify || cache.enabled == Switch::Off {
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

    /// Jobs for the cells that are missing or failed; creates the cells' folders.
    pub(crate) fn jobs(&self, place: Option<&PrefixPlace>, checkpoints: Checkpoints) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for cell in self.cells.iter().filter(|cell| !self.finished(cell)) {
            let folder = Sweep::cell_folder(&self.path, cell);
            fs::create_dir_all(&folder)
                .with_context(|| format!("{}: cannot be created", folder.display()))
                .environment()?;
            wait_until_free(&folder, cell)?;
            let folder = std::path::absolute(&folder).environment()?;
            jobs.push(Job {
                cell: cell.clone(),
                folder: folder.display().to_string(),
                prefix_cache: place.cloned(),
                checkpoints,
                verify: self.verify,
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
    fn finished(&self, cell: &Cell) -> bool {
        !self.verify && matches!(stored(&self.path, cell), Ok(Some(true)))
    }

    /// Prints how many cells are done already, and how many records of other cells there are.
    fn print_existing(&self) -> Result<()> {
        let current: Vec<String> = self.cells.iter().map(Cell::folder).collect();
        let others = fs::read_dir(self.path.join("cells"))
            .environment()?
            .flatten()
            .filter(|entry| entry.path().join("record.json").exists())
            .filter(|entry| !current.iter().any(|name| entry.file_name() == name.as_str()))
            .count();
        if self.done > 0 {
            println!("done      {} here already, not run again", counted(self.done, "cell"));
        }
        if others > 0 {
            println!(
                "others    {} left alone: made with other code, data or settings, or not asked for now",
                counted(others, "record")
            );
        }
        Ok(())
    }

    /// Removes the prefix files, unless the plan keeps them or cells that read them still have to be run.
    pub(crate) fn clear_prefixes(&self, cache: &PrefixCache, outcome: &Outcome) {
        if cache.keep == Switch::Off && outcome.failed.is_empty() && !outcome.interrupted {
            let _ = fs::remove_dir_all(self.prefixes());
        }
    }

    /// Prints what was done, what failed and how to continue. After `--verify` it removes the folder unless a cell
    /// has failed.
    pub(crate) fn close(self, outcome: &Outcome) -> Ending {
        if self.verify {
            self.print_verified(outcome);
        }
        let path = place::shown(&self.path);
        if outcome.interrupted {
            let done = counted(self.done + outcome.done, "cell");
            println!("stopped   {done} done, kept in {path}; the same command again runs the others");
        } else if !self.verify && !outcome.failed.is_empty() {
            let failed = counted(outcome.failed.len(), "cell");
            println!("failed    {failed}; the full errors are in {path}/cells/*/record.json");
            println!("          the same command again runs the failed cells again");
        }
        outcome.ending()
    }

    fn print_verified(&self, outcome: &Outcome) {
        if outcome.failed.is_empty() {
            let _ = fs::remove_dir_all(&self.path);
        }
        println!("verified  {} took one step each; no record was written", counted(outcome.done, "cell"));
        for (title, error) in &outcome.failed {
            println!("failed    {title}: {}", error.lines().next().unwrap_or_default());
        }
    }
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
        fs::create_dir_all(folder.join("cells"))?;
        fs::create_dir_all(folder.join("workers"))?;
        File::create(folder.join(".lock"))
    };
    let file = open()
        .map_err(|error| {
            anyhow!("{shown}: the sweep's folder cannot be written ({error}); give another --out")
        })
        .environment()?;
    match file.try_lock() {
        Ok(()) => Ok(file),
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
    while let Ok(file) = File::open(folder.join(".lock")) {
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
