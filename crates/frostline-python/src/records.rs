//! The records of a sweep as a table: a row for each cell.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};
use frostline_record::{Cell, FolderError, Record, Score, Sweep, read_record};
use pyo3::prelude::*;

use crate::errors::raise_text;
use crate::table::Table;

/// A cell of the sweep, with its record if there is one.
struct RecordRow {
    cell: Cell,
    record: Option<Record>,
}

impl RecordRow {
    fn status(&self) -> &'static str {
        match &self.record {
            None => "missing",
            Some(record) if record.result.is_some() => "done",
            Some(_) => "failed",
        }
    }

    fn outcome(&self) -> Option<&frostline_record::Outcome> {
        self.record.as_ref()?.result.as_ref()
    }

    fn score(&self, split: &str) -> Option<&Score> {
        self.outcome()?.scores().get(split)
    }
}

/// Reads the cells of a sweep's folder. Their files are checked against their checksums.
#[pyfunction]
pub fn read_records(py: Python<'_>, folder: PathBuf) -> PyResult<Table> {
    let rows = py.detach(|| read_rows(&folder));
    let place = folder.display().to_string();
    let fail = |text: String| raise_text(py, "DataError", Some(place.clone()), &text);
    table(&rows.map_err(|error| fail(error.to_string()))?).map_err(fail)
}

fn read_rows(folder: &std::path::Path) -> Result<Vec<RecordRow>, FolderError> {
    let sweep = Sweep::read(folder)?;
    let row = |cell: Cell| {
        let record = read_record(&Sweep::cell_folder(folder, &cell))?;
        Ok(RecordRow { cell, record })
    };
    sweep.cells.into_iter().map(row).collect()
}

fn table(rows: &[RecordRow]) -> Result<Table, String> {
    let text = |get: &dyn Fn(&RecordRow) -> Option<String>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<StringArray>())
    };
    let float = |get: &dyn Fn(&RecordRow) -> Option<f64>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<Float64Array>())
    };
    let count = |get: &dyn Fn(&RecordRow) -> Option<u64>| -> ArrayRef {
        Arc::new(rows.iter().map(get).collect::<UInt64Array>())
    };
    Table::of(vec![
        ("cell", text(&|row| Some(row.cell.folder()))),
        ("id", text(&|row| Some(row.cell.id.clone()))),
        ("language", text(&|row| Some(row.cell.settings.lang.to_string()))),
        ("policy", text(&|row| Some(row.cell.settings.policy.to_string()))),
        ("seed", count(&|row| Some(row.cell.settings.seed))),
        ("encoder", text(&|row| Some(row.cell.settings.encoder.name.clone()))),
        ("backend", text(&|row| Some(row.cell.backend.clone()))),
        ("status", text(&|row| Some(row.status().into()))),
        ("error", text(&|row| row.record.as_ref()?.error.clone())),
        ("task", text(&|row| Some(row.outcome()?.headline.clone()))),
        ("dev_accuracy", float(&|row| Some(row.score("dev")?.accuracy()))),
        ("test_accuracy", float(&|row| Some(row.score("test")?.accuracy()))),
        ("dev_words", count(&|row| Some(row.score("dev")?.words))),
        ("test_words", count(&|row| Some(row.score("test")?.words))),
        ("dev_entity_f1", float(&|row| Some(row.score("dev")?.entities?.f1()))),
        ("test_entity_f1", float(&|row| Some(row.score("test")?.entities?.f1()))),
        ("parameters", count(&|row| Some(row.outcome()?.accounts().total))),
        ("trainable", count(&|row| Some(row.outcome()?.accounts().trainable))),
        ("steps", count(&|row| Some(row.outcome()?.steps))),
        ("selected_epoch", count(&|row| Some(u64::from(row.outcome()?.last().selected_epoch)))),
        ("predicted_speedup", float(&|row| Some(row.outcome()?.cost.predicted_speedup))),
        ("train_ms", float(&|row| Some(row.record.as_ref()?.timing.as_ref()?.train_ms))),
        ("step_ms_median", float(&|row| Some(row.record.as_ref()?.timing.as_ref()?.step_ms_median))),
    ])
}
