//! `cargo xtask same BEFORE AFTER`: whether a change of the code changed any result.
//!
//! Two sweeps' folders are compared cell by cell. Cells belong together if their settings and inputs are the same;
//! their ids differ, since an id contains a hash of the code.

use std::collections::BTreeMap;
use std::path::Path;

use frostline_record::{Record, Sweep};
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::say;
use frostline_sweep::units::count_noun;

/// Compares the results of all cells and lists those that differ.
pub(crate) fn compare_results(before: &Path, after: &Path) -> CommandResult<Ending> {
    let (before, after) = (records_by_origin(before)?, records_by_origin(after)?);
    let differences = list_differences(&before, &after);
    for line in &differences {
        say!("{line}");
    }
    if differences.is_empty() {
        say!("same      {}: every result is equal to the last bit", count_noun(before.len(), "cell"));
        return Ok(Ending::Done);
    }
    say!("differ    {} of {}", differences.len(), count_noun(before.len().max(after.len()), "cell"));
    Ok(Ending::Failed)
}

/// A sweep's records by what they were made from.
fn records_by_origin(folder: &Path) -> CommandResult<BTreeMap<String, Record>> {
    let records = Sweep::read(folder).blame_environment()?.records(folder).blame_environment()?;
    Ok(records.into_iter().map(|record| (origin_key(&record), record)).collect())
}

/// Settings, backend and the hashes of all inputs.
fn origin_key(record: &Record) -> String {
    let cell = &record.cell;
    let inputs: BTreeMap<&String, &String> =
        cell.inputs.iter().map(|(role, input)| (role, &input.sha256)).collect();
    serde_json::to_string(&(&cell.settings, &cell.backend, inputs)).expect("plain data always serialises")
}

fn list_differences(before: &BTreeMap<String, Record>, after: &BTreeMap<String, Record>) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, old) in before {
        let title = old.cell.title();
        match after.get(key) {
            None => lines.push(format!("{title}: only in the first sweep")),
            Some(new) if old.result.is_none() || new.result.is_none() => {
                lines.push(format!("{title}: has no result"));
            }
            Some(new) if result_bits(old) != result_bits(new) => {
                lines.push(format!("{title}: other results"))
            }
            Some(_) => {}
        }
    }
    let new = after.iter().filter(|(key, _)| !before.contains_key(*key));
    lines.extend(new.map(|(_, record)| format!("{}: only in the second sweep", record.cell.title())));
    lines
}

/// A result as JSON, in which every float is written with all its digits. Scores name the SHA-256 of the predictions.
fn result_bits(record: &Record) -> String {
    serde_json::to_string(&record.result).expect("plain data always serialises")
}
