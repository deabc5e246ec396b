//! How much is measured.

use std::path::PathBuf;

use crate::time_limit::TimeLimit;

/// How much is measured, the same for both sides.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The checkout, for the peers' scripts and the page.
    pub root: PathBuf,
    pub rounds: u32,
    pub steps: u32,
    pub warmup: u32,
    /// Sentences per step of settings that give no number.
    pub batch: u32,
    pub threads: u32,
    /// The instruction set that both sides are held to: the value of `FROSTLINE_ISA`.
    pub isa: Option<String>,
    /// How many of a sweep's seeds the peer runs; its times count for all of them.
    pub peer_seeds: usize,
    /// When all of it has to end.
    pub limit: TimeLimit,
}

/// The threads of each side by default: all cores.
pub(crate) fn all_cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

#[cfg(test)]
impl Pace {
    /// Two steps, once.
    pub(crate) fn of_a_test() -> Self {
        let (root, limit) = (PathBuf::new(), TimeLimit::default());
        Self { root, rounds: 1, steps: 2, warmup: 1, batch: 16, threads: 1, isa: None, peer_seeds: 1, limit }
    }
}
