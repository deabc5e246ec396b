//! `results.csv` and `results.parquet`: the same rows, read back, and every column explained.

use std::collections::BTreeSet;

use bytes::Bytes;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

use crate::common::{demo, failed, records, sweep};
use crate::{files, gaps, text, whole};
use frostline_report::{Report, ReportFile};

/// The names and rows that the format's own reader finds.
fn parquet(files: &[ReportFile]) -> (Vec<String>, Vec<Vec<Field>>) {
    let file = files.iter().find(|file| file.path == "results.parquet").expect("results.parquet");
    let reader = SerializedFileReader::new(Bytes::from(file.bytes.clone())).expect("Parquet");
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let names = columns.iter().map(|column| column.name().to_string()).collect();
    let rows = reader.get_row_iter(None).expect("rows");
    let row = |row: parquet::record::Row| row.get_column_iter().map(|(_, field)| field.clone()).collect();
    (names, rows.map(|found| row(found.expect("a row"))).collect())
}

/// A value as the CSV file has it.
fn shown(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(whole) => whole.to_string(),
        Field::Double(real) => format!("{real:?}"),
        Field::Bool(truth) => truth.to_string(),
        other => panic!("a type that no column has: {other:?}"),
    }
}

#[test]
fn both_files_hold_the_same_rows() {
    for (name, (sweep, records)) in [("whole", whole()), ("gaps", gaps())] {
        let files = files(name, &sweep, &records);
        let (names, rows) = parquet(&files);
        // The message of a cell that failed has line breaks.
        let quoted = |field: String| match field.contains([',', '"', '\n']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field,
        };
        let line =
            |row: &Vec<Field>| row.iter().map(|field| quoted(shown(field))).collect::<Vec<_>>().join(",");
        let lines: Vec<String> = [names.join(",")].into_iter().chain(rows.iter().map(line)).collect();
        assert_eq!(text(&files, "results.csv"), lines.join("\n") + "\n");
    }
}

#[test]
fn there_is_a_row_per_cell_epoch_and_task_and_one_per_cell_without_a_result() {
    let (sweep, records) = gaps();
    let files = files("gaps", &sweep, &records);
    let (names, rows) = parquet(&files);
    let at = |name: &str| names.iter().position(|other| other == name).expect("a column");
    let of = |status: &str| rows.iter().filter(|row| shown(&row[at("status")]) == status).count();
    let done = records.iter().filter(|record| record.error.is_none()).count();
    assert_eq!(of("done"), 4 * done, "four epochs of one task");
    assert_eq!(of("done") / 4 + of("failed") + of("missing"), sweep.cells.len());
    let cells: BTreeSet<String> = rows.iter().map(|row| shown(&row[at("cell_id")])).collect();
    assert_eq!(cells.len(), sweep.cells.len());
    let selected = rows.iter().filter(|row| row[at("selected")] == Field::Bool(true)).count();
    assert_eq!(selected, done);
}

#[test]
fn an_axis_is_a_column_of_its_own_type() {
    let grid = "'optimizer.lr' = [5e-5, 1e-4]\n'data.lowercase' = [true, false]\n'train.batch' = [8, 16]\n";
    let sweep = sweep("axes", &demo(), 1, true, grid);
    let mut records = records(&sweep, &demo());
    records[0] = failed(&records[0].cell.clone(), "it failed");
    let (names, rows) = parquet(&Report::new(&sweep, &records, &[], None).files().expect("a report"));
    let of = |name: &str| {
        let at = names.iter().position(|other| other == name).expect("a column");
        rows.iter().map(|row| shown(&row[at])).collect::<BTreeSet<String>>()
    };
    let set = |values: [&str; 2]| values.map(String::from).into();
    assert_eq!(of("setting_optimizer_lr"), set(["0.0001", "5e-5"]));
    assert_eq!(of("setting_data_lowercase"), set(["false", "true"]));
    assert_eq!(of("setting_train_batch"), set(["16", "8"]));
}

/// The table of docs/records.md has every column and no other, in the same order.
#[test]
fn every_column_is_explained() {
    let path = format!("{}/../../docs/records.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).expect("the page");
    let section = page.split("### `results.csv` and `results.parquet`").nth(1).expect("the section");
    let section = section.split("\n### ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let mut explained: Vec<&str> = rows.flat_map(|names| names.split('`')).map(str::trim).collect();
    explained.retain(|name| !name.is_empty() && !name.starts_with(',') && *name != "setting_NAME");
    let (sweep, records) = whole();
    let (mut names, _) = parquet(&files("whole", &sweep, &records));
    let mut explained: Vec<String> = explained.into_iter().map(String::from).collect();
    names.sort();
    explained.sort();
    assert_eq!(explained, names);
}
