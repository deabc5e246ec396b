//! `frostline data`: used by `frostline sweep --data-report`.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use super::input::Input;

/// Describe the data that cells would learn from, without training: reads a JSON list of cells from standard
/// input and prints facts about their data as JSON. `frostline sweep --data-report` shows them as tables.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline data < cells.json")]
pub struct Data {
    #[command(flatten)]
    input: Input,
}

impl Data {
    /// Prints facts about the data of the cells on standard input.
    ///
    /// # Errors
    /// If standard input is not a list of cells, or a file cannot be read, has a fault or has changed.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let cells: Vec<frostline_record::Cell> = self.input.read("a list of cells")?;
        writeln!(out, "{}", serde_json::to_string(&frostline_cell::facts::of_cells(&cells)?)?)?;
        Ok(())
    }
}
