//! `frostline check`: used by `frostline sweep` before it starts any cell.

use anyhow::{Context, Result};
use clap::Args;

/// Check a JSON list of cells on standard input without training: weights, tokenizer, tags.
#[derive(Args)]
pub struct Check {}

impl Check {
    /// Checks the cells of standard input.
    ///
    /// # Errors
    /// If a cell cannot be run: the first fault.
    pub fn run(self) -> Result<()> {
        let cells: Vec<frostline_record::Cell> = serde_json::from_reader(std::io::stdin().lock())
            .context("standard input: not a list of cells")?;
        frostline_cell::check::cells(&cells)
    }
}
