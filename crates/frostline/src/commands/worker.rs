//! `frostline worker`: the process that `frostline sweep` starts and asks.

use anyhow::Result;
use clap::Args;

use super::{choose_backend, thread_pool};

/// Answer a sweep: read requests from standard input and write events to standard output, as JSON lines.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline worker --threads 2 < requests.jsonl > events.jsonl")]
pub struct Worker {
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
    /// Threads to compute with; all processors by default.
    #[arg(long)]
    threads: Option<usize>,
}

impl Worker {
    /// Answers requests until standard input is closed.
    ///
    /// # Errors
    /// As for [`frostline_cell::worker::serve`], and if signals cannot be left to the parent.
    pub fn run(self) -> Result<()> {
        frostline_sweep::leave_to_parent()?;
        let backend = choose_backend(self.backend)?;
        thread_pool(self.threads)?.install(|| frostline_cell::worker::serve(&backend))
    }
}
