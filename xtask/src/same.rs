//! `cargo xtask same BEFORE AFTER`: whether a change of the code changed any result.
//!
//! Two sweeps' folders are compared cell by cell. Cells belong together where their settings and inputs are the same;
//! their ids differ, since an id contains a hash of the code.

use std::collections::BTreeMap;
use std::path::Path;

use frostline_record::{Record, Sweep};
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, Result};
use frostline_sweep::say;
use frostline_sweep::units::counted;

/// Compares the results of all cells and lists those that differ.
pub(crate) fn same(before: &Path, after: &Path) -> Result<Ending> {
    let (before, after) = (records(before)?, records(after)?);
    let differences = differences(&before, &after);
    for line in &differences {
        say!("{line}");
    }
    if differences.is_empty() {
        say!("same      {}: every result is equal to the last bit", counted(before.len(), "cell"));
        return Ok(Ending::Done);
    }
    say!("differ    {} of {}", differences.len(), counted(before.len().max(after.len()), "cell"));
    Ok(Ending::Failed)
}

/// A sweep's records by what they were made from.
fn records(folder: &Path) -> Result<BTreeMap<String, Record>> {
    let records = Sweep::read(folder).environment()?.records(folder).environment()?;
    Ok(records.into_iter().map(|record| (key(&record), record)).collect())
}

/// Settings, backend and the hashes of all inputs.
fn key(record: &Record) -> String {
    let cell = &record.cell;
    let inputs: BTreeMap<&String, &String> =
        cell.inputs.iter().map(|(role, input)| (role, &input.sha256)).collect();
    serde_json::to_string(&(&cell.settings, &cell.backend, inputs)).expect("plain data always serialises")
}

fn differences(before: &BTreeMap<String, Record>, after: &BTreeMap<String, Record>) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, old) in before {
        let title = old.cell.title();
        match after.get(key) {
            None => lines.push(format!("{title}: only in the first sweep")),
            Some(new) if old.result.is_none() || new.result.is_none() => {
                lines.push(format!("{title}: has no result"));
            }
            Some(new) if bits(old) != bits(new) => lines.push(format!("{title}: other results")),
            Some(_) => {}
        }
    }
    let new = after.iter().filter(|(key, _)| !before.contains_key(*key));
    lines.extend(new.map(|(_, record)| format!("{}: only in the second sweep", record.cell.title())));
    lines
}

/// A result as JSON, in which every float is written with all its digits. Scores name the SHA-256 of the predictions.
fn bits(record: &Record) -> String {
    serde_json::to_string(&record.result).expect("plain data always serialises")
}
