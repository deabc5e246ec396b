//! What is served: the state, looked at once a second at most, and the report, computed when it would differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use frostline_report::ReportFile;
use frostline_sweep::{CellSnapshot, CellState, Snapshot, Watched, report_files};
use serde_json::json;

/// How long a look at the folder serves.
const FRESH: Duration = Duration::from_secs(1);

/// The most cells that the state names; the report has all that are recorded.
const MOST_CELLS: usize = 200;

type Files = Arc<Vec<ReportFile>>;

/// A sweep's folder, as it is served.
pub(super) struct Site {
    folder: PathBuf,
    state: Mutex<State>,
    report: Mutex<Option<(Sources, Files)>>,
}

/// What a report is made of, as far as it may have changed since: a record is written once, unless its cell failed.
#[derive(PartialEq)]
struct Sources {
    done: usize,
    errors: Vec<String>,
    /// The plan's file and those of times, each with its size and when it was written.
    files: Vec<(PathBuf, u64, Option<SystemTime>)>,
}

impl Sources {
    fn of(folder: &Path, snapshot: &Snapshot) -> Self {
        let timings = fs::read_dir(folder.join("timings")).into_iter().flatten().flatten();
        let mut files: Vec<_> =
            timings.map(|entry| entry.path()).chain([folder.join("sweep.json")]).collect();
        files.sort();
        let told = |path: PathBuf| {
            let data = fs::metadata(&path).ok()?;
            Some((path, data.len(), data.modified().ok()))
        };
        let error = |cell: &CellSnapshot| match &cell.state {
            CellState::Failed { error } => Some(format!("{} {error}", cell.id)),
            _ => None,
        };
        Self {
            done: snapshot.counts.done,
            errors: snapshot.cells.iter().filter_map(error).collect(),
            files: files.into_iter().filter_map(told).collect(),
        }
    }
}

struct State {
    watched: Watched,
    last: Option<(Instant, Snapshot)>,
}

impl Site {
    pub(super) fn of(watched: Watched) -> Self {
        let folder = watched.folder().to_path_buf();
        Self { folder, state: Mutex::new(State { watched, last: None }), report: Mutex::new(None) }
    }

    /// How the sweep stands.
    fn look(&self) -> Snapshot {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, snapshot)) = &state.last
            && at.elapsed() < FRESH
        {
            return snapshot.clone();
        }
        let snapshot = state.watched.look();
        state.last = Some((Instant::now(), snapshot.clone()));
        snapshot
    }

    /// The state as JSON: the counts, and the cells that neither wait nor are recorded.
    pub(super) fn status(&self) -> String {
        let Snapshot { plan, synthetic, counts, search_continues, left_s, mut cells } = self.look();
        cells.retain(|cell| !matches!(cell.state, CellState::Waiting | CellState::Done { .. }));
        cells.sort_by_key(|cell| !matches!(cell.state, CellState::Running { .. }));
        let omitted = cells.len().saturating_sub(MOST_CELLS);
        cells.truncate(MOST_CELLS);
        let state = json!({
            "plan": plan, "synthetic": synthetic, "counts": counts, "search_continues": search_continues,
            "left_s": left_s, "cells": cells, "omitted": omitted,
        });
        state.to_string()
    }

    /// The files of the report on the cells that are recorded now.
    pub(super) fn report(&self) -> anyhow::Result<Files> {
        let sources = Sources::of(&self.folder, &self.look());
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, files)) = &*report
            && *of == sources
        {
            return Ok(Arc::clone(files));
        }
        let files = Arc::new(report_files(&self.folder)?);
        *report = Some((sources, Arc::clone(&files)));
        Ok(files)
    }
}
