//! The cell that the tests use, and its predictions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use frostline_assets::{Places, Sources};
use frostline_cell::version::code;
use frostline_record::{Cell, HeadKind, Input, Settings, TaskSettings};
use tempfile::TempDir;

use crate::common;

/// The most positions in the cell's training: many sentences of the demo are longer.
pub const LENGTH: usize = 12;

/// The folder that holds the cell, trained once for all tests that run at the same time. Each of them
/// keeps it until its end; with the last one it is removed, which a static would never do.
pub fn shared_folder() -> Arc<TempDir> {
    static SHARED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let folder = Arc::new(train_cell());
        *shared = Arc::downgrade(&folder);
        folder
    })
}

/// A cell with three heads: parts of speech, names, and a label per sentence.
fn train_cell() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::default();
    let mut settings = Settings { policy: "first-2".parse().unwrap(), ..Settings::default() };
    settings.encoder.name = "embedded:demo-distilbert".into();
    (settings.train.epochs, settings.data.first, settings.save.model) = (1, 64, true);
    (settings.optimizer.lr, settings.data.max_length) = (3e-3, LENGTH);
    let task = |data: &str, labels: &str| TaskSettings {
        data: data.into(),
        labels: labels.into(),
        ..TaskSettings::default()
    };
    settings.tasks.insert("names".parse().expect("a name"), task("names", "entity"));
    let mood = TaskSettings { head: HeadKind::Distilbert, ..task("reviews", "label") };
    settings.tasks.insert("mood".parse().expect("a name"), mood);
    settings.eval.task = "upos".into();
    let named = |prefix: &str, sources: Sources| -> Vec<(String, Input)> {
        let input = |(role, source): (String, frostline_assets::Source)| {
            let input = Input { path: source.path, sha256: source.sha256, bytes: source.bytes };
            (format!("{prefix}{role}"), input)
        };
        sources.into_iter().map(input).collect()
    };
    let mut inputs = named("", places.encoder("embedded:demo-distilbert", true).unwrap().sources);
    for (prefix, name) in [("", "en"), ("names/", "names"), ("reviews/", "reviews")] {
        inputs.extend(named(prefix, places.dataset(&format!("embedded:{name}")).unwrap().sources));
    }
    let cell = Cell::new(settings, inputs.into_iter().collect(), "flex", code());
    let last = common::last_word(cell, &folder.path().join("cell"));
    assert!(last.contains("\"done\""), "{last}");
    folder
}

/// The cell's folder.
pub fn cell_folder() -> PathBuf {
    shared_folder().path().join("cell")
}

/// The tags that the cell gave to dev, sentence by sentence.
pub fn recorded_tags(file: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(cell_folder().join(file)).unwrap();
    let mut all: Vec<Vec<String>> = Vec::new();
    for line in text.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        if columns[1] == "1" {
            all.push(Vec::new());
        }
        all.last_mut().unwrap().push(columns[4].to_string());
    }
    all
}

/// A copy of the cell's model whose head has this value everywhere.
pub fn with_head(value: f32, to: &Path) {
    for entry in cell_folder().join("model").read_dir().unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let path = to.join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..start]).unwrap();
    let place = |end: usize| header["classifier.weight"]["data_offsets"][end].as_u64().unwrap() as usize;
    for four in bytes[start + place(0)..start + place(1)].as_chunks_mut::<4>().0 {
        *four = value.to_le_bytes();
    }
    fs::write(path, bytes).unwrap();
}
