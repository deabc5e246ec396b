//! `frostline audit`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::audit;

/// Show that saved models kept every bit of what was frozen, and moved everything else.
#[derive(Args)]
pub struct Audit {
    /// Folders of cells whose model was saved (`--set save.model=true`).
    #[arg(required = true)]
    cells: Vec<PathBuf>,
}

impl Audit {
    /// Prints a verdict per cell.
    ///
    /// # Errors
    /// Where a cell violates its policy, or cannot be audited.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let mut violated = 0;
        for folder in &self.cells {
            let (record, found) = audit::cell(folder)?;
            let verdict = if found.holds() { "holds" } else { "VIOLATED" };
            let (title, frozen, moved) = (record.cell.title(), found.frozen, found.moved);
            writeln!(
                out,
                "{title}: {frozen} frozen tensors bit-identical, {moved} trainable ones moved: {verdict}"
            )?;
            for path in &found.changed {
                writeln!(out, "  frozen, but changed: {path}")?;
            }
            for path in &found.unmoved {
                writeln!(out, "  trainable, but the same: {path}")?;
            }
            violated += usize::from(!found.holds());
        }
        out.flush()?;
        ensure!(violated == 0, "{violated} of {} cells violate their policy", self.cells.len());
        Ok(())
    }
}
