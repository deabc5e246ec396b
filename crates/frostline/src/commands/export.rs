//! `frostline export`: copies the model of a cell to a Hugging Face folder.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use frostline_cell::export::{OutputExists, export};

use super::Stop;
use super::readable::Readable;

/// Copy the model that a cell saved to a folder that Hugging Face's tools can open.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline export --run study/cells/CELL --out my-tagger")]
pub struct Export {
    /// Folder of a cell that ran with `--set save.model=true`, such as OUT/cells/NAME.
    #[arg(long, value_name = "CELL_FOLDER")]
    run: PathBuf,
    /// The new folder; it must be empty or not exist yet.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Export {
    /// Exports the model, and prints the names of its files.
    ///
    /// # Errors
    /// As for [`frostline_cell::export::export`].
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let (record, files) =
            export(&self.run, &self.out).map_err(|error| match error.downcast::<OutputExists>() {
                Ok(exists) => Stop::Arguments(exists.to_string()).into(),
                Err(other) => other,
            })?;
        let place = self.out.display();
        let mut out = Readable(out);
        writeln!(out, "{}: {} in {place}", record.cell.title(), files.join(", "))?;
        if record.cell.settings.data.lowercase {
            writeln!(out, "it was trained on lowercased words (data.lowercase): lowercase its input too")?;
        }
        Ok(())
    }
}
