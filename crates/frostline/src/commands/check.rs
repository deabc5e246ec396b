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
        check_text(&facts)?;
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

/// Checks that no split comes without any of its text: a model that sees `_` for every word learns nothing of the language.
fn check_text(facts: &[CellFacts]) -> Result<()> {
    for (task, facts) in facts.iter().flat_map(|facts| &facts.tasks) {
        for (split, found) in facts.splits() {
            anyhow::ensure!(
                found.forms.words == 0 || found.blank < found.forms.words,
                "the words of this treebank are not included: all {} {split} words of the task `{task}` have the form `_`; put the \
                 text back with the script that comes with the treebank, or choose another treebank",
                found.forms.words
            );
        }
    }
    Ok(())
}
