//! A family of encoders: what is particular about its `config.json` and its tensors. The families are in `families/`.

use std::fmt;

use crate::HeadKind;

/// A family of encoders, whose `config.json` and tensor names have the same form.
#[derive(Clone, Copy)]
pub struct Family(pub(crate) &'static Table);

/// What is particular about a family.
pub(crate) struct Table {
    /// The name in records.
    pub name: &'static str,
    /// Each `model_type` with how `transformers` begins the names of its classes.
    pub types: &'static [(&'static str, &'static str)],
    /// The keys of `config.json` that determine the encoder.
    pub keys: &'static [&'static str],
    /// The first segment of the encoder's tensor names in a model with a head.
    pub prefix: &'static str,
    /// Path and name of the parameters outside the blocks, without the prefix.
    pub outside: &'static [Name],
    /// The name of the list of blocks, without the prefix. If blocks share weights, it has `{group}` in place of the number of a
    /// group of weights.
    pub blocks: &'static str,
    /// Path and name of the parameters of a block.
    pub block: &'static [Name],
    /// The blocks of a model in memory, if `transformers` splits or renames tensors when it reads a file. PEFT's names are these.
    pub modules: Option<Modules>,
    /// Layer and name of the parameters of heads; the last layer is `classifier`.
    pub heads: &'static [Name],
    /// The head for sentences, if one is supported.
    pub sentences: Option<SentenceHead>,
}

/// The names of the layers of blocks in memory.
pub(crate) struct Modules {
    /// The name of the list of blocks, without the prefix.
    pub blocks: &'static str,
    /// Path and name of the layers of a block.
    pub block: &'static [Name],
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
    pub const fn own(path: &'static str, name: &'static str) -> Self {
        Self { path, name, part: [0, 1] }
    }

    /// A layer that is a part of a tensor.
    pub const fn part(path: &'static str, name: &'static str, number: usize, of: usize) -> Self {
        Self { path, name, part: [number, of] }
    }
}

impl Family {
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
