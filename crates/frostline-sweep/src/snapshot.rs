//! The state of a sweep, read from its folder alone: what is recorded, what failed, who runs what and how far it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use frostline_files::Identity;
use frostline_files::claim::{CLAIM, Claimant, Disk, LEASE, Owner};
use frostline_record::{Cell, FolderError, Record, Score, Sweep, read_record};
use serde::Serialize;

use crate::decision::Decision;
use crate::live::{CellProgress, Live};

/// The state of a sweep at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// The plan's name.
    pub plan: String,
    /// Whether the data are synthetic.
    pub synthetic: bool,
    /// How many cells are in each state.
    pub counts: CellCounts,
    /// Whether cells are added once all of these have results: for a search, or until the plan's question is answered.
    pub search_continues: bool,
    /// What a sweep that grows until its question is answered has decided; `None` for other sweeps.
    pub decision: Option<Decision>,
    /// Expected time to the sweep's end with the cells that run now, in seconds; `None` if none runs or no cell's
    /// time is known.
    pub left_s: Option<f64>,
    /// The cells in the sweep's order.
    pub cells: Vec<CellSnapshot>,
}

/// How many cells are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CellCounts {
    /// All cells.
    pub cells: usize,
    /// Cells with a record without an error.
    pub done: usize,
    /// Cells with a record of an error that no process runs again now.
    pub failed: usize,
    /// Cells that a process runs.
    pub running: usize,
    /// Cells whose process has died.
    pub left_behind: usize,
    /// Cells that no process has begun.
    pub waiting: usize,
}

/// A cell and its state.
#[derive(Clone, Debug, Serialize)]
pub struct CellSnapshot {
    /// The cell's id.
    pub id: String,
    /// The cell's language, policy, seed and values on further axes.
    pub title: String,
    /// The cell's state.
    #[serde(flatten)]
    pub state: CellState,
}

/// The state of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum CellState {
    /// No process has begun it, or the process that had begun it has given it back.
    Waiting,
    /// A process runs it.
    Running {
        /// Which one.
        by: String,
        /// Time since that process was last seen, in seconds; `None` if the folder's clock cannot be read.
        seen_s: Option<f64>,
        /// Whether its data and model are loaded, so that it takes steps.
        loaded: bool,
        /// How far it is; nothing before its first point of the loss curve.
        progress: Option<CellProgress>,
    },
    /// The process that ran it has died; the next one takes it over.
    LeftBehind {
        /// Which one it was.
        by: String,
    },
    /// It is recorded.
    Done {
        /// Accuracy of each split of the headline task, in [0, 1].
        accuracy: Vec<(String, f64)>,
        /// What the cell took, in seconds.
        total_s: f64,
        /// Peak resident memory of its worker, in MiB; `None` if the system does not report it.
        peak_rss_mib: Option<f64>,
    },
    /// It ended with an error, or its record cannot be read.
    Failed {
        /// Why.
        error: String,
    },
}

/// A sweep's folder that is looked at again and again. A record is read again only if its file has changed.
pub struct WatchedSweep {
    folder: PathBuf,
    claimant: Claimant<Disk>,
    sweep: Sweep,
    /// The file `sweep.json` as it was read.
    file: Option<Identity>,
    /// By the id of each cell whose record was read: the file's identity, and the cell's state.
    records: HashMap<String, (Identity, CellState)>,
    /// By the id of each running cell: what its file of events contained so far.
    live: HashMap<String, Live>,
}

impl WatchedSweep {
    /// Opens the sweep of a folder.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn open_folder(folder: &Path) -> Result<Self, FolderError> {
        let file = Identity::of(&folder.join("sweep.json")).ok();
        Ok(Self {
            folder: folder.into(),
            claimant: Claimant::new(Disk, Owner::this_process("frostline watch", LEASE)),
            sweep: Sweep::read(folder)?,
            file,
            records: HashMap::new(),
            live: HashMap::new(),
        })
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the sweep as it was last read.
    #[must_use]
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Returns the state of the sweep now.
    pub fn take_snapshot(&mut self) -> Snapshot {
        let file = Identity::of(&self.folder.join("sweep.json")).ok();
        // If it is being replaced or cannot be read at this moment, the last one is as good.
        if file != self.file
            && let Ok(sweep) = Sweep::read(&self.folder)
        {
            (self.sweep, self.file) = (sweep, file);
        }
        // Who looks on writes nothing, also no file that would tell the server's time.
        self.claimant.guess_clock();
        let cells = std::mem::take(&mut self.sweep.cells);
        let found = cells.iter().map(|cell| self.cell_snapshot(cell)).collect();
        self.sweep.cells = cells;
        Snapshot::new(&self.sweep, found)
    }

    fn cell_snapshot(&mut self, cell: &Cell) -> CellSnapshot {
        let folder = Sweep::cell_folder(&self.folder, cell);
        let state = match self.recorded_state(cell, &folder) {
            Some(done @ CellState::Done { .. }) => done,
            // One that failed may be run again now.
            other => self.claimed_state(cell, &folder).or(other).unwrap_or(CellState::Waiting),
        };
        if !matches!(state, CellState::Running { .. }) {
            self.live.remove(&cell.id);
        }
        CellSnapshot { id: cell.id.clone(), title: cell.title(), state }
    }

    /// Returns a cell's state according to its record.
    fn recorded_state(&mut self, cell: &Cell, folder: &Path) -> Option<CellState> {
        let Ok(file) = Identity::of(&folder.join("record.json")) else {
            self.records.remove(&cell.id);
            return None;
        };
        if let Some((_, state)) = self.records.get(&cell.id).filter(|(known, _)| *known == file) {
            return Some(state.clone());
        }
        let state = match read_record(folder) {
            Ok(record) => CellState::of_record(&record.filter(|record| record.cell.id == cell.id)?),
            Err(error) => CellState::Failed { error: error.to_string() },
        };
        self.records.insert(cell.id.clone(), (file, state.clone()));
        Some(state)
    }

    /// Returns a cell's state according to its claim.
    fn claimed_state(&mut self, cell: &Cell, folder: &Path) -> Option<CellState> {
        let (owner, age) = self.claimant.holder(&folder.join(CLAIM)).ok()??;
        let by = owner.to_string();
        if owner.has_ended() || age.is_some_and(|age| age >= owner.lease) {
            return Some(CellState::LeftBehind { by });
        }
        let live = self.live.entry(cell.id.clone()).or_insert_with(|| Live::for_cell(folder, &cell.id));
        let progress = live.read_progress();
        let seen_s = age.as_ref().map(Duration::as_secs_f64);
        Some(CellState::Running { by, seen_s, loaded: live.has_begun(), progress })
    }
}

impl CellState {
    pub(crate) fn of_record(record: &Record) -> Self {
        if let Some(error) = &record.error {
            return Self::Failed { error: error.clone() };
        }
        let score = |(split, score): (&String, &Score)| (split.clone(), score.accuracy());
        let accuracy = record.result.as_ref().map(|result| result.scores().iter().map(score).collect());
        let timing = record.timing.as_ref();
        Self::Done {
            accuracy: accuracy.unwrap_or_default(),
            total_s: timing.map_or(0.0, |timing| timing.total_ms / 1e3),
            peak_rss_mib: timing.map(|timing| timing.peak_rss_mib).filter(|&peak| peak > 0.0),
        }
    }
}

impl Snapshot {
    fn new(sweep: &Sweep, cells: Vec<CellSnapshot>) -> Self {
        let counts = CellCounts::count_states(&cells);
        Self {
            plan: sweep.plan.name.to_string(),
            synthetic: sweep.plan.synthetic,
            counts,
            search_continues: sweep.search_continues,
            decision: Decision::of_sweep(sweep),
            left_s: left_s(&cells, &counts),
            cells,
        }
    }

    /// Whether all cells are recorded and no search adds more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let CellCounts { cells, done, failed, .. } = self.counts;
        done + failed == cells && !self.search_continues
    }
}

impl CellCounts {
    fn count_states(cells: &[CellSnapshot]) -> Self {
        let mut counts = Self { cells: cells.len(), ..Self::default() };
        for cell in cells {
            match cell.state {
                CellState::Waiting => counts.waiting += 1,
                CellState::Running { .. } => counts.running += 1,
                CellState::LeftBehind { .. } => counts.left_behind += 1,
                CellState::Done { .. } => counts.done += 1,
                CellState::Failed { .. } => counts.failed += 1,
            }
        }
        counts
    }
}

/// The expected time of the running cells' rest, and for each cell that is left the mean time of those that are done or run,
/// over the number of cells that run.
fn left_s(cells: &[CellSnapshot], counts: &CellCounts) -> Option<f64> {
    let times: Vec<f64> = cells.iter().filter_map(|cell| whole_s(&cell.state)).collect();
    let mean = (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)?;
    let rest = |cell: &CellSnapshot| match &cell.state {
        CellState::Running { progress: Some(progress), .. } => Some(progress.left_s),
        CellState::Running { progress: None, .. } => Some(mean),
        _ => None,
    };
    let running: Vec<f64> = cells.iter().filter_map(rest).collect();
    let waiting = (counts.waiting + counts.left_behind) as f64 * mean;
    // A cell that runs is not divided among workers.
    let longest = running.iter().copied().reduce(f64::max)?;
    Some(((running.iter().sum::<f64>() + waiting) / running.len() as f64).max(longest))
}

/// What a cell took, or will have taken if the rest goes as the steps so far.
fn whole_s(state: &CellState) -> Option<f64> {
    match state {
        CellState::Done { total_s, .. } => Some(*total_s),
        CellState::Running { progress: Some(progress), .. } if progress.step < progress.steps => {
            Some(progress.left_s * progress.steps as f64 / (progress.steps - progress.step) as f64)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::large_folders::common;

    fn cells(states: Vec<CellState>) -> Vec<CellSnapshot> {
        let cell = |state| CellSnapshot { id: String::new(), title: String::new(), state };
        states.into_iter().map(cell).collect()
    }

    fn running(progress: Option<(u64, f64)>) -> CellState {
        let progress = progress.map(|(step, left_s)| CellProgress {
            step,
            steps: 100,
            epoch: 1,
            loss_nats: 1.0,
            tokens_per_s: 1.0,
            left_s,
            peak_rss_mib: None,
            losses: vec![],
            dev_accuracy: vec![],
        });
        CellState::Running { by: String::new(), seen_s: None, loaded: true, progress }
    }

    #[test]
    fn a_record_that_changes_or_goes_is_shown_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let sweep = common::sweep("changes", &common::paper(), 1, false, "");
        sweep.write(folder.path()).expect("written");
        let cell = &sweep.cells[0];
        let place = Sweep::cell_folder(folder.path(), cell);
        frostline_files::create_own_folder(&place).expect("a folder");
        let mut watched = WatchedSweep::open_folder(folder.path()).expect("a sweep");
        let mut counts = || {
            let CellCounts { done, failed, waiting, .. } = watched.take_snapshot().counts;
            (done, failed, waiting)
        };
        let rest = sweep.cells.len() - 1;
        let done = common::record(cell, &common::paper());
        done.write(&place).expect("written");
        assert_eq!(counts(), (1, 0, rest));
        frostline_files::remove(&place.join("record.json")).expect("removed");
        assert_eq!(counts(), (0, 0, rest + 1));
        done.write(&place).expect("written");
        assert_eq!(counts(), (1, 0, rest));
        common::failed(cell, "it does not fit").write(&place).expect("written");
        assert_eq!(counts(), (0, 1, rest));
        frostline_files::write(&place.join("record.json"), b"no record").expect("written");
        assert_eq!(counts(), (0, 1, rest));
        frostline_files::remove(&place.join("record.json")).expect("removed");
        assert_eq!(counts(), (0, 0, rest + 1));
    }

    /// A folder may come from anybody: a pipe in the place of a file would keep its reader waiting for ever.
    #[cfg(unix)]
    #[test]
    fn pipes_and_links_to_devices_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let sweep = common::sweep("pipes", &common::paper(), 1, false, "");
        sweep.write(folder.path()).expect("written");
        let [claimed, piped, recorded] =
            [0, 1, 2].map(|at: usize| Sweep::cell_folder(folder.path(), &sweep.cells[at]));
        for place in [&claimed, &piped, &recorded] {
            frostline_files::create_own_folder(place).expect("a folder");
        }
        let pipe = |path: PathBuf| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
        };
        let me = Owner::this_process("frostline work", LEASE);
        frostline_files::write(&claimed.join(CLAIM), me.text().as_bytes()).expect("a claim");
        pipe(claimed.join("metrics.jsonl"));
        pipe(piped.join(CLAIM));
        pipe(recorded.join("record.json"));
        std::os::unix::fs::symlink("/dev/zero", piped.join("record.json")).expect("a link");
        let mut watched = WatchedSweep::open_folder(folder.path()).expect("a sweep");
        let found = watched.take_snapshot();
        let CellState::Running { loaded, progress, .. } = &found.cells[0].state else {
            panic!("{:?}", found.cells[0])
        };
        assert_eq!((*loaded, progress), (false, &None));
        for cell in &found.cells[1..3] {
            let CellState::Failed { error } = &cell.state else { panic!("{cell:?}") };
            assert!(error.contains("a pipe or a device"), "{error}");
        }
        // The list of cells itself.
        frostline_files::remove(&folder.path().join("sweep.json")).expect("removed");
        pipe(folder.path().join("sweep.json"));
        assert_eq!(watched.take_snapshot().counts, found.counts);
        assert!(WatchedSweep::open_folder(folder.path()).is_err());
    }

    /// A folder may be readable only, and a colleague's folder stays as it is.
    #[test]
    fn who_looks_on_writes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let sweep = common::sweep("looks", &common::paper(), 1, false, "");
        sweep.write(folder.path()).expect("written");
        let place = Sweep::cell_folder(folder.path(), &sweep.cells[0]);
        frostline_files::create_own_folder(&place).expect("a folder");
        let me = Owner::this_process("frostline work", LEASE);
        frostline_files::write(&place.join(CLAIM), me.text().as_bytes()).expect("a claim");
        // A file that is made and removed again changes its folder's times.
        let all = || {
            [folder.path(), &folder.path().join("cells"), &place]
                .map(|path| Identity::of(path).expect("it is there"))
        };
        let before = all();
        let found = WatchedSweep::open_folder(folder.path()).expect("a sweep").take_snapshot();
        assert!(
            matches!(found.cells[0].state, CellState::Running { seen_s: Some(_), .. }),
            "{:?}",
            found.cells[0]
        );
        crate::status::print_status(folder.path()).expect("printed");
        assert_eq!(all(), before);
    }

    #[test]
    fn the_time_to_go_is_shared_among_the_cells_that_run() {
        let done = || CellState::Done { accuracy: vec![], total_s: 100.0, peak_rss_mib: None };
        let cases = [
            (vec![done(), running(Some((50, 50.0))), CellState::Waiting], Some(150.0)),
            (vec![done(), running(Some((50, 50.0))), running(None), CellState::Waiting], Some(125.0)),
            // Nothing is done yet: a cell that is a quarter through with 75 s to go takes 100 s.
            (vec![running(Some((25, 75.0))), CellState::Waiting], Some(175.0)),
            // The last cells end with the slowest.
            (vec![done(), running(Some((90, 10.0))), running(Some((10, 90.0)))], Some(90.0)),
            (vec![running(None), CellState::Waiting], None),
            (vec![done(), CellState::Waiting], None),
            (vec![], None),
        ];
        for (states, expected) in cases {
            let cells = cells(states);
            assert_eq!(left_s(&cells, &CellCounts::count_states(&cells)), expected, "{cells:?}");
        }
    }
}
