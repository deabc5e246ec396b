#![doc = include_str!("../README.md")]
//!
//! ## Map
//! `source` reads files and file objects; `treebank` and `token` are the objects of CoNLL-U, `layers` those of IOB2 and
//! labelled sentences; `columns` and `table` export Arrow; `faults` validates, `errors` raises; `aligner`, `scores` (with
//! `scored`), `entities`, `policies`, `records` and `checkpoints` wrap the crates of these names. `python/frostline/` contains the part that is written
//! in Python.

mod aligner;
mod checkpoints;
mod columns;
mod entities;
mod errors;
mod faults;
mod layers;
mod policies;
mod records;
mod scored;
mod scores;
mod source;
mod table;
mod token;
mod treebank;

use pyo3::prelude::*;

/// The compiled part of the package `frostline`.
#[pymodule]
fn _frostline(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<treebank::Treebank>()?;
    module.add_class::<treebank::Sentences>()?;
    module.add_class::<token::Sentence>()?;
    module.add_class::<token::Token>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<faults::Fault>()?;
    module.add_class::<layers::EntityLayer>()?;
    module.add_class::<layers::TaggedSentence>()?;
    module.add_class::<layers::LabelledText>()?;
    module.add_class::<layers::LabelledSentence>()?;
    module.add_class::<aligner::Aligner>()?;
    module.add_class::<aligner::Alignment>()?;
    module.add_class::<scores::Metric>()?;
    module.add_class::<policies::Policy>()?;
    module.add_class::<policies::NamedParts>()?;
    module.add_function(wrap_pyfunction!(treebank::read_conllu, module)?)?;
    module.add_function(wrap_pyfunction!(layers::read_iob2, module)?)?;
    module.add_function(wrap_pyfunction!(layers::read_labelled, module)?)?;
    module.add_function(wrap_pyfunction!(faults::validate, module)?)?;
    module.add_function(wrap_pyfunction!(scores::score, module)?)?;
    module.add_function(wrap_pyfunction!(scores::compare, module)?)?;
    module.add_function(wrap_pyfunction!(entities::score_entities, module)?)?;
    module.add_function(wrap_pyfunction!(policies::gradual, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoints::compare_checkpoints, module)?)?;
    module.add_function(wrap_pyfunction!(checkpoints::tensor_shapes, module)?)?;
    module.add_function(wrap_pyfunction!(records::read_records, module)?)
}
