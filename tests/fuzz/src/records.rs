//! Files of sweeps: records, `sweep.json`, predictions, and a saved model's notes.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use frostline_files::seal_json;
use frostline_record::{Event, Record, SavedModel, Sweep, read_record, sha256};
use frostline_report::Report;
use tempfile::TempDir;

/// The folder that inputs are written to.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// A good sweep of one cell and its record: inputs are put in the place of one of them.
static SWEEP: LazyLock<Sweep> =
    LazyLock::new(|| serde_json::from_str(include_str!("../corpus/sweep/good.json")).expect("a sweep"));
static RECORD: LazyLock<Record> =
    LazyLock::new(|| serde_json::from_str(include_str!("../corpus/record/good.json")).expect("a record"));

fn write_in_folder(name: &str, file: &str, data: &[u8]) -> std::path::PathBuf {
    let folder = FOLDER.path().join(name);
    fs::create_dir_all(&folder).expect("a temporary folder");
    fs::write(folder.join(file), data).expect("a temporary file");
    folder
}

/// All files of a report and its table can be made.
fn make_report(sweep: &Sweep, records: &[Record], predictions: Option<&str>) {
    let report = Report::new(sweep, records, &[], Some(&mut |_, _| predictions.map(Into::into)));
    if report.files().is_ok() {
        let _ = report.terminal_table(80);
    }
}

/// A line of `metrics.jsonl`: an event that is read can be written and read again.
pub(crate) fn fuzz_event(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let Some(event) = Event::read_line(line) else { return };
    let text = serde_json::to_string(&event).expect("an event is JSON");
    assert_eq!(Event::read_line(&text), Some(event), "an event changed when it was stored");
}

/// `record.json`: a record that is read can be reported and written again.
pub(crate) fn fuzz_record(data: &[u8]) {
    let cell = write_in_folder("record", "record.json", data);
    let Ok(Some(record)) = read_record(&cell) else { return };
    let sweep = Sweep { cells: vec![record.cell.clone()], ..SWEEP.clone() };
    make_report(&sweep, std::slice::from_ref(&record), None);
    let text = serde_json::to_string_pretty(&record).expect("a record is JSON");
    fs::write(cell.join("record.json"), seal_json(&text)).expect("a temporary file");
    let again = read_record(&cell).expect("what was written is read").expect("it is there");
    assert_eq!(again, record, "a record changed when it was stored");
}

/// `sweep.json`: a parsed sweep can be reported, without records and with its cell's record.
pub(crate) fn fuzz_sweep(data: &[u8]) {
    let folder = write_in_folder("sweep", "sweep.json", data);
    let Ok(sweep) = Sweep::read(&folder) else { return };
    make_report(&sweep, &[], None);
    for cell in sweep.cells.iter().take(2) {
        assert!(Sweep::cell_folder(&folder, cell).starts_with(&folder));
    }
    if let Some(cell) = sweep.cells.first() {
        make_report(&sweep, &[Record { cell: cell.clone(), ..RECORD.clone() }], None);
    }
}

/// `dev.tsv`: predictions that fit their record, as far as counts and checksum go.
pub(crate) fn fuzz_predictions(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut record = RECORD.clone();
    let columns = |line: &str| line.split('\t').map(String::from).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = text.lines().skip(1).map(columns).collect();
    let right = |row: &&Vec<String>| row.len() > 4 && row[3] == row[4];
    if let Some(result) = &mut record.result {
        for outcome in result.stages.iter_mut().flat_map(|stage| stage.tasks.values_mut()) {
            outcome.predictions.values_mut().for_each(|file| file.sha256 = sha256(data));
            for score in outcome.scores.values_mut() {
                score.words = rows.len() as u64;
                score.correct = rows.iter().filter(right).count() as u64;
                [score.truncated, score.vanished, score.unseen] = [0; 3];
            }
        }
    }
    make_report(&SWEEP, &[record], Some(text));
}

/// `frostline.json` of a saved model.
pub(crate) fn fuzz_notes(data: &[u8]) {
    let folder = write_in_folder("notes", SavedModel::FILE, data);
    let Ok(Some(saved)) = SavedModel::read(Path::new(&folder)) else { return };
    fs::write(folder.join(SavedModel::FILE), saved.text()).expect("a temporary file");
    assert_eq!(SavedModel::read(&folder).expect("what was written is read"), Some(saved));
}
