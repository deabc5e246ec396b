//! Chooses how many cells run at a time on this machine, if neither the plan nor the command line sets it.
//!
//! Two threads of one cell wait for each other, two cells do not: cells side by side, each on a share of the cores, end
//! sooner together, as far as memory suffices and until fewer cells are left than cores.

use std::path::Path;

use frostline_record::{Cell, Forecast, ForecastJob, Settings};
use tracing::debug;

use crate::backend::Backend;
use crate::folder;
use crate::program::Program;
use crate::request::{Action, SweepRequest};
use crate::system_memory;
use crate::units::count_noun;
use crate::workers::shared_threads;

/// The most cells that are asked for their memory. It differs little between cells of one study.
const MOST_ASKED: usize = 64;

/// `n` threads of a cell do the work of `n` to this power.
const SHARED: f64 = 0.85;

/// What a worker keeps besides the parameters and activations of its cell: its data, and the program.
const BESIDE_BYTES: u64 = 256 << 20;

/// Returns the number of cells at a time: what plan or command line ask for, or, if that is 0, what takes the least
/// time for the cells that are not done in `out`.
pub(crate) fn choose_jobs(
    asked: usize,
    cells: &[Cell],
    out: &Path,
    program: &Program,
    request: &SweepRequest,
) -> usize {
    if asked > 0 {
        return asked;
    }
    let is_here =
        request.slurm.is_none() && matches!(program.backend, Backend::Flex | Backend::Amx | Backend::Ndarray);
    // One that failed is run again.
    let is_done = |cell: &&Cell| matches!(folder::stored_outcome(out, cell), Ok(Some(true)));
    let left = cells.iter().filter(|cell| request.action == Action::Verify || !is_done(cell)).count();
    let cores = shared_threads(1, None);
    // If threads are given, the machine is shared.
    if !is_here || request.threads.is_some() || cores < 2 || left < 2 {
        return 1;
    }
    let fitting = match largest_cell_bytes(cells, program).zip(system_memory::available_bytes()) {
        // A tenth more than predicted, and not the last quarter of what there is.
        Some((each, available)) => (available / 4 * 3) / (each / 10 * 11 + BESIDE_BYTES),
        None => 1,
    };
    let jobs = fastest_jobs(cores, left, fitting as usize);
    debug!(cores, left, fitting, jobs, "cells at a time");
    jobs
}

/// Prints how many cells run at a time, if that number was chosen here.
pub(crate) fn announce_jobs(asked: usize, jobs: usize) {
    if asked == 0 && jobs > 1 {
        let threads = count_noun(shared_threads(jobs, None), "thread");
        say!("jobs      {jobs} cells at a time, each with {threads}; --jobs changes it");
    }
}

/// Returns what the largest cell keeps in memory, in bytes, if the program can predict it.
fn largest_cell_bytes(cells: &[Cell], program: &Program) -> Option<u64> {
    // Cells that differ in their seed alone keep the same.
    let mut different: Vec<Settings> = Vec::new();
    let mut some: Vec<Cell> = Vec::new();
    for cell in cells {
        let settings = Settings { seed: 0, ..cell.settings.clone() };
        if some.len() < MOST_ASKED && !different.contains(&settings) {
            different.push(settings);
            some.push(cell.clone());
        }
    }
    let job = ForecastJob { cells: some, threads: 1, calibrate: false, prefix_cache: false };
    let all: Vec<Forecast> = program.forecast_cells(job).ok()?;
    all.iter().map(|forecast| forecast.bytes).max()
}

/// Returns the number of cells at a time, of those that fit, with which the remaining cells take the least time. Of
/// equals, the fewest.
fn fastest_jobs(cores: usize, left: usize, fitting: usize) -> usize {
    let time = |jobs: usize| left.div_ceil(jobs) as f64 / ((cores / jobs) as f64).powf(SHARED);
    let all = 1..=cores.min(left).min(fitting).max(1);
    all.min_by(|a, b| time(*a).total_cmp(&time(*b))).expect("one is among them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_share_the_cores_until_fewer_are_left() {
        // cores, cells left, cells that fit; cells at a time
        for (cores, left, fitting, jobs) in [
            (2, 30, 100, 2),
            (8, 80, 100, 8),
            // Eight at once would leave six cores idle for the last two.
            (8, 10, 100, 2),
            (8, 1, 100, 1),
            (2, 3, 100, 1),
            // Memory for five: four pairs of cores, not five cores of eight.
            (8, 80, 5, 4),
            (2, 30, 1, 1),
            (2, 30, 0, 1),
            (64, 30, 100, 30),
        ] {
            assert_eq!(fastest_jobs(cores, left, fitting), jobs, "{cores} cores, {left} left, {fitting} fit");
        }
    }
}
