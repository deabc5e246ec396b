//! `frostline status`: how far the sweep in a folder is, whichever processes run its cells.

use std::io::{self, Write};
use std::path::Path;

use frostline_report::visible;

use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult};
use crate::live::{CellProgress, FIRST_STEPS, LOADING};
use crate::snapshot::{CellState, Snapshot, WatchedSweep};
use crate::units::{count_noun, format_clock, format_rate};
use crate::{output, place, slurm};

/// How many failed cells are named.
const MOST_FAILED: usize = 10;

/// Prints how far the sweep in a folder is.
///
/// # Errors
/// If there is no sweep.
pub fn print_status(folder: &Path) -> CommandResult<Ending> {
    let snapshot = WatchedSweep::open_folder(folder).blame_environment()?.take_snapshot();
    let ending = output::print_output(|to| snapshot.write_lines(folder, to))?;
    slurm::print_status(folder)?;
    Ok(ending)
}

impl Snapshot {
    /// Writes the snapshot as lines of text.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_lines(&self, folder: &Path, out: &mut impl Write) -> io::Result<()> {
        let counts = &self.counts;
        let left = counts.cells - counts.done - counts.failed;
        let time =
            self.left_s.map_or(String::new(), |left_s| format!(", about {} to go", format_clock(left_s)));
        let left = match left {
            0 => String::new(),
            left => format!(", {left} left, of which {} run now{time}", counts.running),
        };
        let (folder, mut cells) = (place::shown_path(folder), count_noun(counts.cells, "cell"));
        if self.search_continues {
            let what =
                if self.decision.is_some() { "the next round may add more" } else { "a search adds more" };
            cells += &format!(" so far ({what})");
        }
        writeln!(
            out,
            "{}: {cells}, {} recorded, {} failed{left}",
            visible(&folder),
            counts.done,
            counts.failed
        )?;
        let decided = self.decision.iter().flat_map(|decision| &decision.lines);
        for (at, line) in decided.enumerate() {
            writeln!(out, "{:<10}{}", if at == 0 { "decide" } else { "" }, visible(line))?;
        }
        for cell in &self.cells {
            if let CellState::Running { by, seen_s, loaded, progress } = &cell.state {
                let seen =
                    seen_s.map_or(String::new(), |seen_s| format!(", seen {} ago", format_clock(seen_s)));
                writeln!(out, "running   {}: {}{seen}", visible(&cell.title), visible(by))?;
                match progress {
                    Some(progress) => writeln!(out, "          {progress}")?,
                    None => writeln!(out, "          {}", if *loaded { FIRST_STEPS } else { LOADING })?,
                }
            }
        }
        self.write_failed(out)?;
        if counts.left_behind > 0 {
            let cells = count_noun(counts.left_behind, "cell");
            writeln!(out, "left      {cells} by processes that have died; the next process takes over")?;
        }
        Ok(())
    }

    fn write_failed(&self, out: &mut impl Write) -> io::Result<()> {
        let failed = self.cells.iter().filter_map(|cell| match &cell.state {
            CellState::Failed { error } => Some((&cell.title, error.lines().next().unwrap_or_default())),
            _ => None,
        });
        for (title, error) in failed.take(MOST_FAILED) {
            writeln!(out, "failed    {}: {}", visible(title), visible(error))?;
        }
        match self.counts.failed.saturating_sub(MOST_FAILED) {
            0 => Ok(()),
            more => writeln!(out, "          and {more} more"),
        }
    }
}

impl std::fmt::Display for CellProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { step, steps, epoch, loss_nats, tokens_per_s, left_s, .. } = self;
        write!(f, "epoch {epoch}, step {step} of {steps}, loss {loss_nats:.3}")?;
        if let Some((_, accuracy)) = self.dev_accuracy.last() {
            write!(f, ", dev {:.2} %", 100.0 * accuracy)?;
        }
        write!(f, ", {} tokens/s", format_rate(*tokens_per_s))?;
        if let Some(peak) = self.peak_rss_mib {
            write!(f, ", {peak:.0} MiB")?;
        }
        write!(f, ", {} left", format_clock(*left_s))
    }
}
