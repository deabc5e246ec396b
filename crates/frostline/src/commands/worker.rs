//! `frostline worker`.

use anyhow::Result;
use clap::Args;

use super::{named, pool};

/// Run cells: jobs in on standard input, events out on standard output (JSON lines).
#[derive(Args)]
pub struct Worker {
    /// flex, ndarray or cuda, as far as this build has it.
    #[arg(long)]
    backend: Option<String>,
    /// Threads to compute with; all processors by default.
    #[arg(long)]
    threads: Option<usize>,
}

impl Worker {
    /// Serves jobs until standard input closes.
    ///
    /// # Errors
    /// As [`frostline_cell::worker::serve`].
    pub fn run(self) -> Result<()> {
        let backend = named(self.backend)?;
        pool(self.threads)?.install(|| frostline_cell::worker::serve(&backend))
    }
}
