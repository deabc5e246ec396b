//! `frostline audit`: checks the saved models of cells, or any two checkpoints, with one exit code for all of them.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::Stop;
use super::readable::Readable;
use frostline_cell::audit::{self, Auditor};
use frostline_checkpoint::{Checkpoint, CheckpointError, ComparedSide, FreezeRule, compare};
use frostline_freeze::Policy;

/// Check that what was frozen kept every bit, in saved models or any two checkpoints.
///
/// For any two checkpoints the exit code is 0 if every frozen tensor stayed as it was, 1 if one did not, and 2 for bad arguments or
/// a file that cannot be read. Checkpoints are safetensors, files of torch.save, sharded or not, folders of
/// torch.distributed.checkpoint, PEFT adapters and folders of Hugging Face Trainer. No code in a file is run.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline audit study/cells/*
    frostline audit --before bert-base --after run/checkpoint-500 --policy first-4+embeddings
    frostline audit --before a.safetensors --after b.ckpt --frozen '*.layer.0.*'")]
pub struct Audit {
    /// Folders of cells whose model was saved (`--set save.model=true`).
    #[arg(required_unless_present = "before", conflicts_with = "before")]
    cells: Vec<PathBuf>,
    /// The checkpoint before training: a file, the index of shards, or a folder.
    #[arg(long, value_name = "PATH", requires = "after")]
    before: Option<PathBuf>,
    /// The checkpoint after training.
    #[arg(long, value_name = "PATH", requires = "before")]
    after: Option<PathBuf>,
    /// What was frozen, as a policy such as first-4+embeddings.
    #[arg(long, requires = "before", conflicts_with = "frozen")]
    policy: Option<Policy>,
    /// What was frozen, as a name, the beginning of names up to a dot, or a pattern with * and ?. Repeatable.
    #[arg(long, value_name = "PATTERN", requires = "before")]
    frozen: Vec<String>,
    /// Print JSON.
    #[arg(long, requires = "before")]
    json: bool,
}

impl Audit {
    /// Prints the comparison of two checkpoints, or a verdict for each cell.
    ///
    /// # Errors
    /// [`Stop::Faults`] if a frozen tensor did not stay as it was, [`Stop::Arguments`] if a checkpoint cannot be read; `Self::audit_cells`
    /// lists the errors for cells.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return self.audit_cells(out) };
        let unread = |error: CheckpointError| Stop::Arguments(error.to_string());
        let [before, after] = [before, after].map(|path| Checkpoint::open(path).map_err(unread));
        let (before, after) = (before?, after?);
        let rule = match self.policy {
            Some(policy) => FreezeRule::Policy(policy),
            None if self.frozen.is_empty() => FreezeRule::Nothing,
            None => FreezeRule::Patterns(self.frozen),
        };
        let found =
            compare(ComparedSide::from(&before), ComparedSide::from(&after), &rule).map_err(unread)?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?;
        } else {
            write!(Readable(out), "{found}")?;
        }
        if found.holds { Ok(()) } else { Err(Stop::Faults(found.count_violations() as u64).into()) }
    }

    /// Prints a verdict for each cell, or the reason why the cell could not be audited.
    ///
    /// # Errors
    /// After the last cell: [`Stop::Input`] if a cell violates its policy, otherwise another error if a cell could
    /// not be audited.
    fn audit_cells(self, out: &mut dyn Write) -> Result<()> {
        let mut auditor = Auditor::default();
        let (mut violated, mut left_out) = (0, 0);
        for folder in &self.cells {
            match auditor.cell(folder) {
                Ok((record, found)) => {
                    print_verdict(out, &record.cell.title(), &found)?;
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
            let cells = frostline_sweep::units::count_noun(all, "cell");
            bail!("{left_out} of {cells} could not be audited; the lines above say why");
        }
        Ok(())
    }
}

/// Prints the verdict on a cell, and every tensor that violates the policy.
fn print_verdict(out: &mut dyn Write, title: &str, found: &audit::Audit) -> Result<()> {
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
