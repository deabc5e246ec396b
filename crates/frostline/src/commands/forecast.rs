//! `frostline forecast`: used by `frostline sweep --list`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use frostline_sweep::note;

use super::input::Input;
use super::{named, pool};

/// Predict what cells cost on this machine, without training: reads a JSON list of cells from standard input and prints
/// steps, seconds and bytes of each as JSON. `frostline sweep --list` shows them.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline forecast < cells.json
    frostline forecast --calibrate --threads 2 < cells.json")]
pub struct Forecast {
    /// Time steps for some seconds where this was not done on this machine before: without that, no seconds are
    /// predicted.
    #[arg(long)]
    calibrate: bool,
    /// Predict that constant prefixes are computed in every step.
    #[arg(long)]
    no_prefix_cache: bool,
    /// Threads [default: all]
    #[arg(long)]
    threads: Option<usize>,
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
    #[command(flatten)]
    input: Input,
}

impl Forecast {
    /// Prints what the cells on standard input are predicted to cost.
    ///
    /// # Errors
    /// If standard input is not a list of cells, a file cannot be read, or the backend cannot run here.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let cells: Vec<frostline_record::Cell> = self.input.read("a list of cells")?;
        let found = pool(self.threads)?.install(|| {
            let backend = named(self.backend)?;
            let (calibrate, prefix_cache) = (self.calibrate, !self.no_prefix_cache);
            let mut note = |line: &str| note!("{line}");
            frostline_cell::forecast::of_cells(&cells, &backend, calibrate, prefix_cache, &mut note)
        })?;
        writeln!(out, "{}", serde_json::to_string(&found)?)?;
        Ok(())
    }
}
