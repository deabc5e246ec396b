//! The families of encoders: one table each of `config.json` keys and tensor names. Nothing else knows a family.
//!
//! # To add an encoder family
//!
//! A file here with a [`Table`], and the table in [`FAMILIES`]. If the family consists of known parts, nothing else changes. A new part is a field of
//! [`Architecture`](crate::Architecture), which the encoder (`encoder.rs`), the list of parameters (`layout.rs`) and, if it
//! changes the work or the memory of a step, `shape` in `crates/frostline-cell/src/cost.rs` read. Paths must keep the form
//! `encoder.blocks.I.…` and `encoder.embeddings.…`, which policies depend on. First compare with the original
//! (`crates/frostline-model/tests/references/make.py`). A tokenizer of another kind needs cases in
//! `crates/frostline-align/tests/data`.

use std::fmt;

use serde_json::Value;

use crate::{EncoderConfig, HeadKind};

mod bert;
mod distilbert;
mod electra;
mod modernbert;
mod nearest;
mod read;
mod rotary;

pub(crate) use nearest::unknown_type;

/// A family of encoders, whose `config.json` and tensor names have the same form.
#[derive(Clone, Copy)]
pub struct Family(&'static Table);

/// What is particular about a family.
pub(crate) struct Table {
    /// The name in records.
    pub name: &'static str,
    /// Each `model_type` with how `transformers` begins the names of its classes.
    pub types: &'static [(&'static str, &'static str)],
    /// The keys of `config.json` that determine the encoder.
    pub keys: &'static [&'static str],
    /// Reads a config of this `model_type`.
    pub read: fn(Value, &str) -> Result<EncoderConfig, String>,
    /// The first segment of the encoder's tensor names in a model with a head.
    pub prefix: &'static str,
    /// Path and name of the parameters outside the blocks, without the prefix.
    pub outside: &'static [Name],
    /// The name of the list of blocks, without the prefix.
    pub blocks: &'static str,
    /// Path and name of the parameters of a block.
    pub block: &'static [Name],
    /// Layer and name of the parameters of heads; the last layer is `classifier`.
    pub heads: &'static [Name],
    /// The head for sentences, if one is supported.
    pub sentences: Option<SentenceHead>,
}

/// Path and name of a layer.
pub(crate) struct Name {
    /// The path in this crate, without what is common to the list.
    pub path: &'static str,
    /// The name in files.
    pub name: &'static str,
    /// The number of the part and the number of parts, if the file has several layers in one tensor, one below the other.
    pub part: [usize; 2],
}

/// How a family labels sentences.
pub(crate) struct SentenceHead {
    /// The architecture.
    pub kind: HeadKind,
    /// The name of the classifier in a model for sentences.
    pub classifier: &'static str,
    /// Whether the layer before the classifier is the encoder's pooler, which files for words may contain, too.
    pub pooler: bool,
    /// The module that PEFT saves in addition to the classifier.
    pub saved: Option<&'static str>,
}

impl Name {
    /// A layer with a tensor of its own.
    const fn own(path: &'static str, name: &'static str) -> Self {
        Self { path, name, part: [0, 1] }
    }

    /// A layer that is a part of a tensor.
    const fn part(path: &'static str, name: &'static str, number: usize, of: usize) -> Self {
        Self { path, name, part: [number, of] }
    }
}

/// All families. Names in errors are listed in this order.
static FAMILIES: [&Table; 7] = [
    &distilbert::TABLE,
    &bert::BERT,
    &bert::ROBERTA,
    &electra::TABLE,
    &modernbert::TABLE,
    &rotary::NOMIC,
    &rotary::GTE,
];

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
        Self::all().find(|family| family.0.types.iter().any(|(name, _)| *name == model_type))
    }

    /// Returns the name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns each `model_type` of the family.
    pub fn model_types(self) -> impl Iterator<Item = &'static str> {
        self.0.types.iter().map(|(name, _)| *name)
    }

    /// Returns whether `transformers` has models of this family with such a head; only then can a config be exported.
    #[must_use]
    pub fn has_head(self, kind: HeadKind) -> bool {
        kind == HeadKind::Linear || self.sentence_head() == Some(kind)
    }

    /// Returns the head for sentences, if one is supported.
    #[must_use]
    pub fn sentence_head(self) -> Option<HeadKind> {
        self.0.sentences.as_ref().map(|head| head.kind)
    }

    /// Returns whether files for words may contain the layer before a sentence classifier.
    #[must_use]
    pub fn has_pooler(self) -> bool {
        self.0.sentences.as_ref().is_some_and(|head| head.pooler)
    }

    /// Returns whether a model for sentences has a layer of its own instead of the pooler.
    pub(crate) fn replaces_pooler(self) -> bool {
        self.0.sentences.as_ref().is_some_and(|head| head.kind == HeadKind::Pooler && !head.pooler)
    }

    /// Returns the family's table.
    pub(crate) const fn table(self) -> &'static Table {
        self.0
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Family {}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.types[0].1)
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
