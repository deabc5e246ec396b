//! `frostline check`: used by `frostline sweep` before it starts any cell.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use frostline_record::CellFacts;
use frostline_sweep::data_warnings;

use super::input::Input;

/// Check a JSON list of cells on standard input without training: weights, tokenizer, tags. Prints what makes their results
/// worth little, such as words that are cut off or tags that train lacks.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    input: Input,
}

impl Check {
    /// Checks the cells of standard input, and prints warnings about their data.
    ///
    /// # Errors
    /// If a cell cannot be run: the first fault.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let cells: Vec<frostline_record::Cell> = self.input.read("a list of cells")?;
        let facts = frostline_cell::check::cells(&cells)?;
        let found = facts.iter().filter_map(|CellFacts { cell: id, tasks }| {
            let cell = cells.iter().find(|cell| cell.id == *id)?;
            Some((&cell.settings, tasks))
        });
        for warning in data_warnings(found) {
            writeln!(out, "{warning}")?;
        }
        Ok(())
    }
}
