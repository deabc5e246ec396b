//! Writes a sweep's report from its stored records.

use std::collections::{BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{anyhow, bail};
use frostline_files::claim::LEASE;
use frostline_record::{Cell, PairedTimes, StoredFile, Sweep};
use frostline_report::{Merged, PolicyLoss, Report, ReportFile, policy_losses};

use crate::claims::ProcessClaims;
use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult};
use crate::place;

/// The file that lists a report's files, so that a later report can remove those that it no longer has.
const CONTENTS: &str = "contents.txt";

/// The largest file of predictions that is read; one of a million words has about 50 MB.
///
/// # Units
/// Bytes.
pub(crate) const MOST_READ: u64 = 4 << 30;

/// Writes a sweep's report again from the stored records, or compares several sweeps.
///
/// # Errors
/// If a folder is not a sweep's or cannot be read, if the report cannot be written, or if the arguments do not fit together.
pub fn report(folders: &[PathBuf], out: Option<&Path>) -> CommandResult<Ending> {
    match (folders, out) {
        ([folder], None) => write_report(folder, &ProcessClaims::for_command("frostline report", LEASE))?,
        ([folder], Some(out)) => {
            return Err(anyhow!(
                "--out {} is for a comparison of several folders, but there is only {}; its report is written into it",
                place::shown_path(out),
                place::shown_path(folder)
            ))
            .blame_plan();
        }
        (_, None) => {
            return Err(anyhow!("several folders need --out DIR, where their comparison is written"))
                .blame_plan();
        }
        (folders, Some(out)) => compare_sweeps(folders, out)?,
    }
    Ok(Ending::Done)
}

/// Compares sweeps; each has the name of its folder.
fn compare_sweeps(folders: &[PathBuf], out: &Path) -> CommandResult<()> {
    let mut sweeps = Vec::new();
    for folder in folders {
        let sweep = Sweep::read(folder).blame_environment()?;
        let records = sweep.records(folder).blame_environment()?;
        sweeps.push((sweep_name(folder), sweep, records));
    }
    let merged = Merged::new(
        sweeps.iter().map(|(name, sweep, records)| (name.as_str(), sweep.clone(), records.clone())),
        Some(&mut |at, cell, file| read_prediction(&folders[at], cell, file)),
    );
    check_place(out, folders)?;
    let table = merged.terminal_table(terminal_width());
    replace_files(out, &merged.files().blame_environment()?).blame_environment()?;
    say!("\n{}", table.trim_end());
    say!("report    {}; open it in a browser", place::shown_path(&out.join("index.html")));
    Ok(())
}

/// Returns a sweep's name: the last part of its folder's path.
fn sweep_name(folder: &Path) -> String {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
    whole.file_name().map_or_else(|| "sweep".into(), |name| name.to_string_lossy().into_owned())
}

/// Checks that a comparison replaces no sweep and no report of one.
fn check_place(out: &Path, folders: &[PathBuf]) -> CommandResult<()> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    let (to, shown) = (absolute(out), place::shown_path(out));
    let inside = folders.iter().map(|folder| absolute(folder)).find(|folder| to.starts_with(folder));
    if inside.is_some() || out.join("sweep.json").exists() {
        return Err(anyhow!("--out {shown} lies in a sweep's folder; give one of its own to the comparison"))
            .blame_plan();
    }
    Ok(())
}

/// Returns the number of columns of the terminal.
fn terminal_width() -> usize {
    console::Term::stdout().size_checked().map_or(100, |(_, columns)| columns.into())
}

/// Writes the report into `FOLDER/report`, and prints its table and path.
pub(crate) fn write_report(folder: &Path, claims: &ProcessClaims) -> CommandResult<()> {
    let (report, [done, cells]) = compute_report(folder)?;
    let into = folder.join("report");
    let files = report.files().blame_environment()?;
    let held = claims.hold_folder(&into)?;
    replace_files(&into, &files).blame_environment()?;
    drop(held);
    say!("\n{}", report.terminal_table(terminal_width()).trim_end());
    let page = place::shown_path(&into.join("index.html"));
    say!("report    {page} ({done} of {cells} cells); open it in a browser");
    Ok(())
}

/// The files of a report on a sweep's folder; none is written.
///
/// # Errors
/// If the folder is not a sweep's or cannot be read.
pub fn report_files(folder: &Path) -> anyhow::Result<Vec<ReportFile>> {
    let (report, _) = compute_report(folder).map_err(|fault| fault.error)?;
    Ok(report.files()?)
}

/// What policies lost in a sweep's folder, for predictions about other treebanks.
///
/// # Errors
/// If the folder is not a sweep's or cannot be read.
pub fn measured_losses(folder: &Path) -> anyhow::Result<Vec<PolicyLoss>> {
    let sweep = Sweep::read(folder)?;
    Ok(policy_losses(&sweep, &sweep.records(folder)?))
}

/// Returns the report, and the numbers of done and of all cells.
fn compute_report(folder: &Path) -> CommandResult<(Report, [usize; 2])> {
    let sweep = Sweep::read(folder).blame_environment()?;
    let records = sweep.records(folder).blame_environment()?;
    let done: HashSet<&str> = records
        .iter()
        .filter(|record| record.error.is_none())
        .map(|record| record.cell.id.as_str())
        .collect();
    let done = |cell: &Cell| done.contains(cell.id.as_str());
    let timed = sweep.timed_groups(done);
    let times: Vec<PairedTimes> = timed.iter().filter_map(|cells| usable_times(folder, cells)).collect();
    let count = records.iter().filter(|record| record.error.is_none()).count();
    let mut read = |cell: &Cell, file: &StoredFile| read_prediction(folder, cell, file);
    let report = Report::new(&sweep, &records, &times, Some(&mut read));
    Ok((report, [count, sweep.cells.len()]))
}

/// Returns the times of these cells' steps; prints a warning if some cannot be used.
pub(crate) fn usable_times(folder: &Path, cells: &[Cell]) -> Option<PairedTimes> {
    Sweep::read_times(folder, cells).unwrap_or_else(|error| {
        note!("left out  {error}; the same sweep command without --no-timing measures them again");
        None
    })
}

/// Returns the text of a cell's file in a sweep's folder.
pub(crate) fn read_prediction(folder: &Path, cell: &Cell, file: &StoredFile) -> Option<String> {
    frostline_files::read_text(&Sweep::cell_folder(folder, cell).join(&file.file), MOST_READ).ok()
}

/// Writes a report's files and removes those that only the last report had. Until this is complete, the list of
/// contents names both, so that the next report can clean up after an interrupted one.
fn replace_files(into: &Path, files: &[ReportFile]) -> anyhow::Result<()> {
    let list = into.join(CONTENTS);
    let note = |names: &BTreeSet<&str>| {
        let lines: String = names.iter().map(|name| format!("{name}\n")).collect();
        frostline_files::write(&list, lines.as_bytes())
    };
    let inside = |name: &&str| Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    let before = frostline_files::read_text(&list, MOST_READ).unwrap_or_default();
    let before: BTreeSet<&str> = before.lines().filter(inside).collect();
    let foreign = |file: &&ReportFile| !before.contains(file.path.as_str()) && into.join(&file.path).exists();
    if let Some(file) = files.iter().find(foreign) {
        bail!(
            "{}: the report would replace it, but Frostline did not write it; move it away, then run `frostline \
             report` on the sweep's folder",
            into.join(&file.path).display()
        );
    }
    let now: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    frostline_files::create_own_folder(into)?;
    note(&before.union(&now).copied().collect())?;
    for file in files {
        put_file(into, file)?;
    }
    for old in before.difference(&now) {
        // It may have been removed already.
        let _ = frostline_files::remove(&into.join(old));
    }
    Ok(note(&now)?)
}

fn put_file(into: &Path, file: &ReportFile) -> anyhow::Result<()> {
    let path = into.join(&file.path);
    let folder = path.parent().unwrap_or(into);
    frostline_files::create_own_folder(folder)?;
    Ok(frostline_files::write(&path, &file.bytes)?)
}
