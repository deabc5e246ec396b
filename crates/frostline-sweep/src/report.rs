//! Writes a sweep's report from its stored records.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path};

use anyhow::Context as _;
use frostline_record::{Cell, StoredFile, Sweep, write_atomically};
use frostline_report::{Report, ReportFile};

use crate::ending::Ending;
use crate::fault::{Blame as _, Result};
use crate::place;

/// The file that lists a report's files, so that a later report can remove those that it no longer has.
const CONTENTS: &str = "contents.txt";

/// Writes a sweep's report again from the stored records.
///
/// # Errors
/// If the folder is not a sweep's or cannot be read, or if the report cannot be written.
pub fn report(folder: &Path) -> Result<Ending> {
    write(folder)?;
    Ok(Ending::Done)
}

/// Writes the report into `FOLDER/report`, and prints its table and path.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let sweep = Sweep::read(folder).environment()?;
    let records = sweep.records(folder).environment()?;
    let read = |cell: &Cell, file: &StoredFile| {
        fs::read_to_string(Sweep::cell_folder(folder, cell).join(&file.file)).ok()
    };
    let report = Report::new(&sweep, &records).with_predictions(read);
    let into = folder.join("report");
    replace(&into, &report.files().environment()?).environment()?;
    let width = console::Term::stdout().size_checked().map_or(100, |(_, columns)| columns.into());
    println!("\n{}", report.terminal_table(width).trim_end());
    println!(
        "report    {} ({} of {} cells)",
        place::shown(&into.join("report.md")),
        records.iter().filter(|record| record.error.is_none()).count(),
        sweep.cells.len()
    );
    Ok(())
}

/// Writes a report's files and removes those that only the last report had. Until this is complete, the list of
/// contents names both, so that the next report can clean up after an interrupted one.
fn replace(into: &Path, files: &[ReportFile]) -> anyhow::Result<()> {
    let list = into.join(CONTENTS);
    let note = |names: &BTreeSet<&str>| {
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        write_atomically(&list, lines.as_bytes())
    };
    let inside = |name: &&str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    let before = fs::read_to_string(&list).unwrap_or_default();
    let before: BTreeSet<&str> = before.lines().filter(inside).collect();
    let now: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    fs::create_dir_all(into).with_context(|| into.display().to_string())?;
    note(&before.union(&now).copied().collect())?;
    for file in files {
        put(into, file)?;
    }
    for old in before.difference(&now) {
        // It may have been removed already.
        let _ = fs::remove_file(into.join(old));
    }
    Ok(note(&now)?)
}

fn put(into: &Path, file: &ReportFile) -> anyhow::Result<()> {
    let path = into.join(&file.path);
    let folder = path.parent().unwrap_or(into);
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(write_atomically(&path, &file.bytes)?)
}
