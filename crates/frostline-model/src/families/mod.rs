//! The families of encoders: one table each of `config.json` keys and tensor names. Nothing else knows a family.
//!
//! # To add an encoder family
//!
//! A file here with a [`Table`] and a function that reads a config, and both in the lists [`FAMILIES`] and [`READERS`]. If the family consists of known parts, nothing else changes. A new part is a field of
//! [`Architecture`](crate::Architecture), which the encoder (`encoder.rs`), the list of parameters (`layout.rs`) and, if it
//! changes the work or the memory of a step, `shape` in `crates/frostline-cell/src/cost.rs` read. The nodes of ONNX models
//! follow the encoder: `crates/frostline-onnx/src`. Paths must keep the form
//! `encoder.blocks.I.…` and `encoder.embeddings.…`, which policies depend on. First compare with the original
//! (`crates/frostline-model/tests/references/make.py`). A tokenizer of another kind needs cases in
//! `crates/frostline-align/tests/data`.

use serde_json::Value;

use crate::EncoderConfig;
use crate::family::{Family, Table};

mod albert;
mod bert;
mod deberta;
mod distilbert;
mod electra;
mod eurobert;
mod modernbert;
mod nearest;
mod read;
mod rotary;
mod xlm_roberta_xl;

use nearest::unknown_type;

/// All families. Names in errors are listed in this order.
static FAMILIES: [&Table; 11] = [
    &distilbert::TABLE,
    &bert::BERT,
    &bert::ROBERTA,
    &xlm_roberta_xl::TABLE,
    &electra::TABLE,
    &deberta::TABLE,
    &modernbert::TABLE,
    &eurobert::TABLE,
    &rotary::NOMIC,
    &rotary::GTE,
    &albert::TABLE,
];

/// How the configs of each family are read, in the same order.
static READERS: [Reader; 11] = [
    distilbert::read,
    bert::read,
    bert::read,
    xlm_roberta_xl::read,
    electra::read,
    deberta::read,
    modernbert::read,
    eurobert::read,
    rotary::read_nomic,
    rotary::read_gte,
    albert::read,
];

/// Reads a config of this `model_type`.
type Reader = fn(Value, &str) -> Result<EncoderConfig, String>;

impl Family {
    /// DistilBERT.
    pub const DISTILBERT: Self = Self(&distilbert::TABLE);
    /// BERT.
    pub const BERT: Self = Self(&bert::BERT);
    /// RoBERTa, XLM-R and CamemBERT.
    pub const ROBERTA: Self = Self(&bert::ROBERTA);

    /// Returns all families.
    pub fn all() -> impl Iterator<Item = Self> {
        FAMILIES.into_iter().map(Self)
    }

    /// Returns the family of a `model_type`, if it is supported.
    #[must_use]
    pub fn of_type(model_type: &str) -> Option<Self> {
        Self::all().find(|family| family.model_types().any(|name| name == model_type))
    }
}

/// Reads a config of a supported `model_type`.
///
/// # Errors
/// If the type is not supported, or the config is not one of its family.
pub(crate) fn read_config(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let family = Family::of_type(model_type);
    let place = family.and_then(|family| Family::all().position(|other| other == family));
    match place {
        Some(place) => READERS[place](file, model_type),
        None => Err(unknown_type(model_type, &file)),
    }
}

/// Returns how `transformers` begins the names of a model type's classes.
pub(crate) fn class_of_type(model_type: &str) -> Option<&'static str> {
    let mut types = FAMILIES.iter().flat_map(|table| table.types);
    types.find(|(name, _)| *name == model_type).map(|(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_belongs_to_one_family() {
        let mut types: Vec<_> = Family::all().flat_map(Family::model_types).collect();
        let count = types.len();
        types.sort_unstable();
        types.dedup();
        assert_eq!(types.len(), count);
        assert_eq!(Family::of_type("camembert"), Some(Family::ROBERTA));
        assert_eq!(Family::of_type("xlnet"), None);
        assert_eq!(format!("{:?} {:?}", Family::DISTILBERT, Family::ROBERTA), "DistilBert Roberta");
    }
}
