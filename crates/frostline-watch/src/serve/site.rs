//! The served content: the state, read from the folder at most once a second, and the report, computed again
//! when one of its sources has changed. Any number of requests cause at most one computation of each kind at a
//! time.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use bytes::Bytes;
use frostline_files::Identity;
use frostline_sweep::{CellState, Snapshot, WatchedSweep, report_files};
use serde_json::json;
use tokio::task::spawn_blocking;

/// The most cells that the state names; the report has all that are recorded.
const MOST_CELLS: usize = 200;

/// The report's files by name.
type ReportFiles = Arc<HashMap<String, Bytes>>;

/// A sweep's folder, as it is served.
pub(super) struct ServedSite {
    folder: PathBuf,
    state: Cached<Bytes>,
    report: Cached<(ReportSources, ReportFiles)>,
    watched: Arc<Mutex<WatchedSweep>>,
}

/// A value that one request at a time renews. All others wait for it without a thread.
struct Cached<T> {
    /// How long a value is used.
    fresh: Duration,
    value: Arc<Mutex<Option<(Instant, T)>>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl<T: Clone + Send + 'static> Cached<T> {
    fn new(fresh: Duration) -> Self {
        Self { fresh, value: Arc::default(), turn: Arc::default() }
    }

    fn fresh_value(&self) -> Option<T> {
        let value = lock_or_recover(&self.value);
        value.as_ref().filter(|(since, _)| since.elapsed() < self.fresh).map(|(_, value)| value.clone())
    }

    /// Returns the value, renewed by `renew` if it is old. `renew` may take long, and runs to its end even if
    /// the request is cancelled.
    async fn get(
        &self,
        renew: impl FnOnce(Option<T>) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        if let Some(value) = self.fresh_value() {
            return Ok(value);
        }
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if let Some(value) = self.fresh_value() {
            return Ok(value);
        }
        let kept = Arc::clone(&self.value);
        let work = spawn_blocking(move || {
            let _turn = turn;
            let last = lock_or_recover(&kept).take().map(|(_, value)| value);
            let value = renew(last)?;
            *lock_or_recover(&kept) = Some((Instant::now(), value.clone()));
            Ok(value)
        });
        work.await.map_err(|_| anyhow!("the program has failed; the message is in its terminal"))?
    }
}

fn lock_or_recover<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files that a report is made of, as they were when it was made.
#[derive(Clone, PartialEq)]
struct ReportSources(Vec<(PathBuf, Identity)>);

impl ReportSources {
    fn of(folder: &Path) -> Self {
        let entries = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        };
        let is_source = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name == "record.json")
                || path.extension().is_some_and(|ending| ending == "tsv")
        };
        let cells = entries(&folder.join("cells"));
        let of_cells = cells.iter().flat_map(|cell| entries(cell)).filter(is_source);
        let times = entries(&folder.join("timings"));
        let all = of_cells.chain(times).chain([folder.join("sweep.json")]);
        let mut found: Vec<_> =
            all.filter_map(|path| Identity::of(&path).ok().map(|identity| (path, identity))).collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self(found)
    }
}

impl ServedSite {
    /// The folder is looked at again once a look is older than `fresh`.
    pub(super) fn of(watched: WatchedSweep, fresh: Duration) -> Self {
        Self {
            folder: watched.folder().to_path_buf(),
            state: Cached::new(fresh),
            report: Cached::new(fresh),
            watched: Arc::new(Mutex::new(watched)),
        }
    }

    /// Returns the state as JSON: the counts, and the cells that neither wait nor are recorded.
    pub(super) async fn status(&self) -> anyhow::Result<Bytes> {
        let watched = Arc::clone(&self.watched);
        self.state.get(move |_| Ok(state_json(lock_or_recover(&watched).take_snapshot()).into())).await
    }

    /// Returns the files of the report on the cells that are recorded now.
    pub(super) async fn report(&self) -> anyhow::Result<ReportFiles> {
        let folder = self.folder.clone();
        let renew = move |last: Option<(ReportSources, ReportFiles)>| {
            let sources = ReportSources::of(&folder);
            if let Some((of, files)) = last
                && of == sources
            {
                return Ok((of, files));
            }
            let files = report_files(&folder)?;
            let files = files.into_iter().map(|file| (file.path, Bytes::from(file.bytes)));
            Ok((sources, Arc::new(files.collect())))
        };
        self.report.get(renew).await.map(|(_, files)| files)
    }
}

fn state_json(snapshot: Snapshot) -> String {
    let Snapshot { plan, synthetic, counts, search_continues, decision, left_s, mut cells } = snapshot;
    cells.retain(|cell| !matches!(cell.state, CellState::Waiting | CellState::Done { .. }));
    cells.sort_by_key(|cell| !matches!(cell.state, CellState::Running { .. }));
    let omitted = cells.len().saturating_sub(MOST_CELLS);
    cells.truncate(MOST_CELLS);
    let state = json!({
        "plan": plan, "synthetic": synthetic, "counts": counts, "search_continues": search_continues,
        "decision": decision, "left_s": left_s, "cells": cells, "omitted": omitted,
    });
    state.to_string()
}
