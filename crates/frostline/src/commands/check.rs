//! `frostline check`.

use anyhow::{Context, Result};
use clap::Args;

/// Try what can go wrong before a cell starts: a JSON list of cells on standard input.
#[derive(Args)]
pub struct Check {}

impl Check {
    /// Checks the cells of standard input.
    ///
    /// # Errors
    /// The first fault.
    pub fn run(self) -> Result<()> {
        let cells: Vec<frostline_record::Cell> =
            serde_json::from_reader(std::io::stdin().lock()).context("standard input: no list of cells")?;
        frostline_cell::check::cells(&cells)
    }
}
