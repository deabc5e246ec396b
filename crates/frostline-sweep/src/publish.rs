//! Copies a sweep's records for publication, without words of treebanks, saved models, names of nodes, and places on this
//! machine.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use frostline_record::{Cell, Places, Record, Sweep};

use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult, environment_fault};
use crate::place;
use crate::report::MOST_READ;
use crate::report::usable_times;
use crate::units::count_noun;

/// Copies what a report is computed from into a new folder.
///
/// # Errors
/// If `from` is no sweep's folder, a file of predictions does not match its record, or `to` is not new or empty.
pub fn publish(from: &Path, to: &Path) -> CommandResult<Ending> {
    let sweep = Sweep::read(from).blame_environment()?;
    let records = sweep.records(from).blame_environment()?;
    if fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
        return environment_fault(format!("{}: it is not empty; give a new folder", place::shown_path(to)));
    }
    let places = sweep.places();
    let (mut files, mut done) = (0, 0);
    for record in records {
        done += usize::from(record.error.is_none());
        files += copy_record(from, to, &places, record).blame_environment()?;
    }
    let is_done = |cell: &Cell| Sweep::cell_folder(to, cell).join("record.json").exists();
    for cells in sweep.timed_groups(is_done) {
        if let Some(times) = usable_times(from, &cells) {
            Sweep::write_times(to, &cells, &times.published()).blame_environment()?;
        }
    }
    let cells = sweep.cells.len();
    // Last: a folder without it is no sweep's.
    sweep.published().write(to).blame_environment()?;
    say!(
        "published {}: {done} of {}, {} of predictions without words",
        place::shown_path(to),
        count_noun(cells, "cell"),
        count_noun(files, "file")
    );
    say!("          `frostline report` computes the report from it again");
    Ok(Ending::Done)
}

/// Copies a record with its predictions, and returns the number of these files.
fn copy_record(from: &Path, to: &Path, places: &Places, record: Record) -> anyhow::Result<usize> {
    let [old, new] = [from, to].map(|folder| Sweep::cell_folder(folder, &record.cell));
    let read = |name: &str| {
        frostline_files::read_text(&old.join(name), MOST_READ).map_err(|error| error.reason.to_string())
    };
    let title = record.cell.title();
    let (record, files) = record
        .published(places, read)
        .map_err(|why| {
            anyhow!("{}/{why}; delete its folder and run the sweep again", place::shown_path(&old))
        })
        .with_context(|| format!("{title} cannot be published"))?;
    frostline_files::create_own_folder(&new)?;
    for (name, text) in &files {
        frostline_files::write(&new.join(name), text.as_bytes())?;
    }
    record.write(&new)?;
    Ok(files.len())
}
