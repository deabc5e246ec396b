//! `frostline time`: used by `frostline sweep` after its cells are done.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use super::input::Input;
use super::{named, pool};

/// Time training steps of several policies in turns, on the same batches: reads a JSON object from standard input (the
/// cells, and what to measure) and prints the times as JSON.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline time --threads 2 < request.json")]
pub struct Time {
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
    /// Threads to compute with; all processors by default.
    #[arg(long)]
    threads: Option<usize>,
    #[command(flatten)]
    input: Input,
}

impl Time {
    /// Prints the times.
    ///
    /// # Errors
    /// As for [`frostline_cell::turns::measure`]; also if standard input is no job.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let backend = named(self.backend)?;
        let job = self.input.read("a job")?;
        let times = pool(self.threads)?.install(|| frostline_cell::turns::measure(&job, &backend))?;
        Ok(writeln!(out, "{}", serde_json::to_string(&times)?)?)
    }
}
