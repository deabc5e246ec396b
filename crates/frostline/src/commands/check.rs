//! `frostline check`: what a sweep checks before it starts any cell.

use std::io::{Write, stdin};

use anyhow::{Context as _, Result};
use clap::Args;
use frostline_record::Cell;

/// Check a JSON list of cells on standard input without training: weights, tokenizer, tags. Prints what makes their results
/// worth little, such as words that are cut off or tags that train lacks.
#[derive(Args)]
pub struct Check {}

impl Check {
    /// Checks the cells of standard input, and prints warnings about their data.
    ///
    /// # Errors
    /// If a cell cannot be run: the first fault.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let cells: Vec<Cell> =
            serde_json::from_reader(stdin().lock()).context("standard input: not a list of cells")?;
        let facts = frostline_cell::check::cells(&cells)?;
        Ok(write!(out, "{}", frostline_sweep::check_data(&cells, &facts)?)?)
    }
}
