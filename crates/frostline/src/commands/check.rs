//! `frostline check`: used by `frostline sweep` before it starts any cell.

use anyhow::Result;
use clap::Args;

use super::input::Input;

/// Check a JSON list of cells on standard input without training: weights, tokenizer, tags.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    input: Input,
}

impl Check {
    /// Checks the cells of standard input.
    ///
    /// # Errors
    /// If a cell cannot be run: the first fault.
    pub fn run(self) -> Result<()> {
        let cells: Vec<frostline_record::Cell> = self.input.read("a list of cells")?;
        frostline_cell::check::cells(&cells)
    }
}
