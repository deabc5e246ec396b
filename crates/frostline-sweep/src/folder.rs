//! The sweep's folder as this command uses it: checked, locked, and asked what is still to do.

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

/// How long to wait for the worker of an earlier, killed sweep to let go of a cell.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the cells of this command are worked on.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    cells: Vec<Cell>,
    done: usize,
    /// Cells here take one step and the folder goes away afterwards.
    verify: bool,
    /// Held as long as this lives; the system lets go of it however the process ends.
    _lock: File,
}

/// Sees that a sweep could be written there, and leaves nothing behind.
pub(crate) fn check(out: &Path) -> Result<()> {
    let shown = place::shown(out);
    let there = out.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    if !there.is_dir() {
        return environment(format!(
            "{shown}: the sweep's folder cannot be made, because {} is a file; give another --out",
            place::shown(there)
        ));
    }
    let probe = there.join(format!(".frostline-probe-{}", std::process::id()));
    File::create(&probe)
        .and_then(|_| fs::remove_file(&probe))
        .map_err(|error| {
            anyhow!("{shown}: the sweep's folder cannot be written ({error}); give another --out")
        })
        .environment()
}

impl Folder {
    /// Takes the folder for this sweep and writes `sweep.json`.
    pub(crate) fn open(path: &Path, mut sweep: Sweep) -> Result<Self> {
        let lock = lock(path)?;
        let cells = sweep.cells.clone();
        let mut folder = Self { path: path.into(), cells, done: 0, verify: false, _lock: lock };
        let finished = |cell: &&Cell| folder.finished(cell);
        folder.done = folder.cells.iter().filter(finished).count();
        // The report warns of times taken side by side, also where an earlier command took them.
        if let Some(before) = Sweep::read(path).ok().filter(|_| folder.done > 0) {
            let jobs = if folder.done == folder.cells.len() { 0 } else { sweep.plan.jobs };
            sweep.plan.jobs = before.plan.jobs.max(jobs);
        }
        sweep.write(path).environment()?;
        Ok(folder)
    }

    /// A folder of its own for `--verify`, outside the sweep's.
    pub(crate) fn temporary(cells: Vec<Cell>) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("frostline-verify-{}", std::process::id()));
        let lock = lock(&path)?;
        Ok(Self { path, cells, done: 0, verify: true, _lock: lock })
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where this many workers keep the outputs of constant prefixes. Several share files, so that
    /// none computes what another has.
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

    /// Where the workers' own output goes.
    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join("workers")
    }

    /// How many cells were done before this command.
    pub(crate) fn done(&self) -> usize {
        self.done
    }

    /// The cells that are missing or failed, each with its folder made.
    pub(crate) fn jobs(&self, place: Option<&PrefixPlace>, checkpoints: Checkpoints) -> Result<Vec<Job>> {
        let mut jobs = Vec::new();
        for cell in self.cells.iter().filter(|cell| !self.finished(cell)) {
            let folder = Sweep::cell_folder(&self.path, cell);
            fs::create_dir_all(&folder)
                .with_context(|| format!("{}: cannot be made", folder.display()))
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
        self.tell_others()?;
        Ok(jobs)
    }

    /// The cells that this command is about.
    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// What is stored of a cell, where that can be read.
    pub(crate) fn record(&self, cell: &Cell) -> Option<Record> {
        read_record(&Sweep::cell_folder(&self.path, cell)).ok().flatten()
    }

    /// A cell is done when its folder holds the record of this very cell, without an error. A
    /// record that cannot be read is made again.
    fn finished(&self, cell: &Cell) -> bool {
        !self.verify && matches!(stored(&self.path, cell), Ok(Some(true)))
    }

    /// Says how many folders of other cells there are; they are left alone.
    fn tell_others(&self) -> Result<()> {
        let ours: Vec<String> = self.cells.iter().map(Cell::folder).collect();
        let others = fs::read_dir(self.path.join("cells"))
            .environment()?
            .flatten()
            .filter(|entry| entry.path().join("record.json").exists())
            .filter(|entry| !ours.iter().any(|name| entry.file_name() == name.as_str()))
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

    /// Takes the files of prefixes away, unless they are to stay or cells that read them are still
    /// to be done.
    pub(crate) fn clear_prefixes(&self, cache: &PrefixCache, outcome: &Outcome) {
        if cache.keep == Switch::Off && outcome.failed.is_empty() && !outcome.interrupted {
            let _ = fs::remove_dir_all(self.prefixes());
        }
    }

    /// Prints what was done, what failed and how to continue. After `--verify` it removes the folder unless a cell
    /// failed.
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

/// Whether the record of this very cell is in place, and whether it is one without an error.
pub(crate) fn stored(sweep: &Path, cell: &Cell) -> std::result::Result<Option<bool>, FolderError> {
    let record = read_record(&Sweep::cell_folder(sweep, cell))?;
    Ok(record.filter(|record| record.cell.id == cell.id).map(|record| record.error.is_none()))
}

/// Locks a folder, which is made where it is missing.
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

/// A worker whose xtask was killed ends by itself, but may still hold its cell for a moment.
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
