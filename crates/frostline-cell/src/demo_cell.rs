//! For tests: a cell of the demo's English.

use frostline_assets::Places;
use frostline_record::{Cell, Input, Settings};

/// Returns a cell with the default settings but for a change, whose inputs are embedded in the program.
pub(crate) fn demo_cell(change: impl FnOnce(&mut Settings)) -> Cell {
    let mut settings = Settings { lang: "en".parse().expect("a name"), ..Settings::default() };
    settings.encoder.name = "embedded:demo-distilbert".into();
    change(&mut settings);
    let places = Places::default();
    let encoder = places.encoder(&settings.encoder.name, true).expect("the demo's encoder").sources;
    let treebank = places.treebank("embedded:en").expect("the demo's treebank").sources;
    let inputs = encoder.into_iter().chain(treebank).map(|(role, source)| {
        (role, Input { path: source.path, sha256: source.sha256, bytes: source.bytes })
    });
    Cell::new(settings, inputs.collect(), "flex", "code")
}
