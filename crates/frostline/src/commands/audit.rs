//! `frostline audit`: checks the saved models of cells, with one exit code for all of them.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::Stop;
use super::readable::Readable;
use frostline_cell::audit::{self, Auditor};

/// Check that saved models kept every bit of what was frozen, and that all other tensors changed.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline audit study/cells/*")]
pub struct Audit {
    /// Folders of cells whose model was saved (`--set save.model=true`).
    #[arg(required = true)]
    cells: Vec<PathBuf>,
}

impl Audit {
    /// Prints a verdict for each cell, or the reason why the cell could not be audited.
    ///
    /// # Errors
    /// After the last cell: [`Stop::Input`] if a cell violates its policy, otherwise another error if a cell could
    /// not be audited.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let mut auditor = Auditor::default();
        let (mut violated, mut left_out) = (0, 0);
        for folder in &self.cells {
            match auditor.cell(folder) {
                Ok((record, found)) => {
                    print(out, &record.cell.title(), &found)?;
                    violated += usize::from(!found.holds());
                }
                Err(error) => {
                    writeln!(Readable(out), "not audited: {error:#}")?;
                    left_out += 1;
                }
            }
        }
        out.flush()?;
        let all = self.cells.len();
        if violated > 0 {
            let reason = format!("{violated} of {all} cells violate their policy");
            let next = "do not use the models that are VIOLATED above, and run their cells again";
            return Err(Stop::Input(format!("{reason}, {left_out} could not be audited; {next}")).into());
        }
        if left_out > 0 {
            let cells = frostline_sweep::units::counted(all, "cell");
            bail!("{left_out} of {cells} could not be audited; the lines above say why");
        }
        Ok(())
    }
}

/// Prints the verdict on a cell, and every tensor that violates the policy.
fn print(out: &mut dyn Write, title: &str, found: &audit::Audit) -> Result<()> {
    let (frozen, moved) = (found.frozen, found.moved);
    let verdict = if found.holds() { "holds" } else { "VIOLATED" };
    let mut out = Readable(out);
    let idle = match found.idle {
        0 => String::new(),
        idle => format!(", {idle} had nothing to learn from"),
    };
    let counts = format!("{frozen} frozen tensors bit-identical, {moved} trainable ones moved{idle}");
    writeln!(out, "{title}: {counts}: {verdict}")?;
    for path in &found.changed {
        writeln!(out, "  frozen, but changed: {path}")?;
    }
    for path in &found.unmoved {
        writeln!(out, "  trainable, but the same: {path}")?;
    }
    Ok(())
}
