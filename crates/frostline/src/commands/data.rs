//! `frostline data`.

use std::io::Write;

use anyhow::{Context, Result};
use clap::Args;

/// Tell what cells would learn from, before anything is trained: a JSON list of cells on standard input,
/// and as JSON what the data of each kind of cell are. `frostline sweep --data-report` shows it as tables.
#[derive(Args)]
pub struct Data {}

impl Data {
    /// Prints the facts of the data of standard input's cells.
    ///
    /// # Errors
    /// Where there is no list of cells, or a file cannot be read, has a fault or has changed.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let cells: Vec<frostline_record::Cell> =
            serde_json::from_reader(std::io::stdin().lock()).context("standard input: no list of cells")?;
        writeln!(out, "{}", serde_json::to_string(&frostline_cell::data::facts(&cells)?)?)?;
        Ok(())
    }
}
