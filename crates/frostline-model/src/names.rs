//! The Hugging Face names of this crate's parameter paths.

use crate::family::{Modules, Name};
use crate::{EncoderConfig, Family, Sharing};

/// What the names of an encoder's tensors depend on: the family, and which blocks have the same weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naming {
    pub(crate) family: Family,
    sharing: Option<Sharing>,
    /// Whether layers get their names in memory, which differ from the names in files in some families.
    in_memory: bool,
}

impl From<Family> for Naming {
    /// Returns the names if each block has weights of its own.
    fn from(family: Family) -> Self {
        Self { family, sharing: None, in_memory: false }
    }
}

impl From<&EncoderConfig> for Naming {
    fn from(config: &EncoderConfig) -> Self {
        Self { family: config.family, sharing: config.architecture.sharing, in_memory: false }
    }
}

impl Naming {
    /// Returns the names of layers of blocks in memory, by which PEFT finds them.
    pub(crate) fn in_memory(config: &EncoderConfig) -> Self {
        Self { in_memory: true, ..config.into() }
    }

    fn modules(self) -> Option<&'static Modules> {
        self.family.table().modules.as_ref().filter(|_| self.in_memory)
    }

    /// Returns path and name of the layers of a block.
    pub(crate) fn layers(self) -> &'static [Name] {
        self.modules().map_or(self.family.table().block, |modules| modules.block)
    }

    /// Returns the name of the list of blocks.
    pub(crate) fn blocks(self) -> &'static str {
        self.modules().map_or(self.family.table().blocks, |modules| modules.blocks)
    }

    /// Returns the name of a block, without the family's prefix.
    pub(crate) fn block(self, block: usize) -> String {
        let [group, number] = self.sharing.map_or([0, block], |sharing| sharing.place(block));
        format!("{}.{number}", self.blocks().replace("{group}", &group.to_string()))
    }
}

/// The place of a parameter in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredName {
    /// The name of the tensor.
    pub name: String,
    /// Whether the tensor is the transpose of the parameter (linear weights are \[out, in\]).
    pub transposed: bool,
    /// The number of the part and the number of parts: some files have several layers in one tensor, one below the other.
    pub part: [usize; 2],
}

/// Returns a parameter's name in a Hugging Face token classifier of this family, and whether it is stored
/// transposed there (linear weights are \[out, in\]). Parameters that files have in one tensor share a name.
///
/// # Panics
/// If the path is not a parameter path of this crate.
#[must_use]
pub fn hugging_face_name(naming: impl Into<Naming>, path: &str) -> (String, bool) {
    let StoredName { name, transposed, .. } = stored_name(naming, path);
    (name, transposed)
}

/// Returns the place of a parameter in a Hugging Face token classifier of this family.
///
/// # Panics
/// If the path is not a parameter path of this crate.
#[must_use]
pub fn stored_name(naming: impl Into<Naming>, path: &str) -> StoredName {
    let naming: Naming = naming.into();
    let unknown = || -> ! { panic!("`{path}` is not a parameter of this crate") };
    let table = naming.family.table();
    // Tables of embeddings are parameters by themselves.
    let is_table =
        ["word", "position", "token_type", "relative"].map(|name| format!("encoder.embeddings.{name}"));
    let (stem, kind) = match is_table.iter().any(|table| table == path) {
        true => (path, "weight"),
        false => path.rsplit_once('.').unwrap_or_else(|| unknown()),
    };
    let is_norm = matches!(kind, "gamma" | "beta");
    let file_kind = match kind {
        "gamma" => "weight",
        "beta" => "bias",
        kind => kind,
    };
    let transposed = kind == "weight" && stem != path;
    let stored = |prefix: &str, entry: &Name| StoredName {
        name: format!("{prefix}{}.{file_kind}", entry.name),
        transposed,
        part: entry.part,
    };
    let prefix = format!("{}.", table.prefix);
    if stem == "pooler" {
        return stored(&prefix, &Name { path: "pooler", name: "pooler.dense", part: [0, 1] });
    }
    if let Some(layer) = head_layer(stem) {
        let named = |entry: &&Name| entry.path == layer;
        return match table.heads.iter().find(named) {
            Some(entry) => stored("", entry),
            None => StoredName { name: format!("{layer}.{file_kind}"), transposed, part: [0, 1] },
        };
    }
    let inner = stem.strip_prefix("encoder.").unwrap_or_else(|| unknown());
    if let Some((block, part)) = inner.strip_prefix("blocks.").and_then(|rest| rest.split_once('.')) {
        let entry = naming.layers().iter().find(|entry| entry.path == part).unwrap_or_else(|| unknown());
        debug_assert_eq!(is_norm, part.ends_with("norm"), "{path}");
        let block = block.parse().unwrap_or_else(|_| unknown());
        return stored(&format!("{prefix}{}.", naming.block(block)), entry);
    }
    match table.outside.iter().find(|entry| entry.path == inner) {
        Some(entry) => stored(&prefix, entry),
        // A table that this family lacks has the usual name.
        None if stem == path => {
            let usual = inner.strip_prefix("embeddings.").unwrap_or_else(|| unknown());
            StoredName {
                name: format!("{prefix}embeddings.{usual}_embeddings.weight"),
                transposed,
                part: [0, 1],
            }
        }
        None => unknown(),
    }
}

/// Returns the layer in a path of a head: `head.dense` and `heads.0.dense` are `dense`; others are the classifier.
fn head_layer(stem: &str) -> Option<&str> {
    let is_head = stem == "head" || stem.starts_with("head.") || stem.starts_with("heads.");
    let last = stem.rsplit('.').next().unwrap_or_default();
    is_head.then_some(if ["dense", "norm"].contains(&last) { last } else { "classifier" })
}

/// Returns the name, in a family's sentence head, of a tensor that its token head calls `classifier`; `None` for
/// any other name, and if both have the same name.
pub(crate) fn sentence_name(family: Family, name: &str) -> Option<String> {
    let head = family.table().sentences.as_ref().filter(|head| head.classifier != "classifier")?;
    let kind = name.strip_prefix("classifier.").filter(|kind| !kind.contains('.'))?;
    Some(format!("{}.{kind}", head.classifier))
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_hugging_face() {
        let cases = [
            (
                Family::BERT,
                "encoder.embeddings.token_type",
                "bert.embeddings.token_type_embeddings.weight",
                false,
            ),
            (Family::BERT, "encoder.embeddings.norm.gamma", "bert.embeddings.LayerNorm.weight", false),
            (
                Family::BERT,
                "encoder.blocks.3.query.weight",
                "bert.encoder.layer.3.attention.self.query.weight",
                true,
            ),
            (
                Family::BERT,
                "encoder.blocks.3.attention_norm.beta",
                "bert.encoder.layer.3.attention.output.LayerNorm.bias",
                false,
            ),
            (
                Family::ROBERTA,
                "encoder.embeddings.position",
                "roberta.embeddings.position_embeddings.weight",
                false,
            ),
            (
                Family::ROBERTA,
                "encoder.blocks.3.intermediate.weight",
                "roberta.encoder.layer.3.intermediate.dense.weight",
                true,
            ),
            (Family::ROBERTA, "head.bias", "classifier.bias", false),
            (
                Family::DISTILBERT,
                "encoder.embeddings.word",
                "distilbert.embeddings.word_embeddings.weight",
                false,
            ),
            (
                Family::DISTILBERT,
                "encoder.blocks.0.attention_norm.gamma",
                "distilbert.transformer.layer.0.sa_layer_norm.weight",
                false,
            ),
            (
                Family::DISTILBERT,
                "encoder.blocks.5.output.bias",
                "distilbert.transformer.layer.5.ffn.lin2.bias",
                false,
            ),
            (Family::DISTILBERT, "head.weight", "classifier.weight", true),
            (Family::DISTILBERT, "heads.0.dense.weight", "pre_classifier.weight", true),
            (Family::DISTILBERT, "head.dense.weight", "pre_classifier.weight", true),
            (Family::ROBERTA, "head.dense.bias", "classifier.dense.bias", false),
            (Family::BERT, "heads.1.dense.bias", "bert.pooler.dense.bias", false),
            (Family::BERT, "heads.1.classifier.bias", "classifier.bias", false),
            (Family::BERT, "pooler.weight", "bert.pooler.dense.weight", true),
        ];
        for (family, path, name, transposed) in cases {
            assert_eq!(hugging_face_name(family, path), (name.to_string(), transposed));
        }
    }

    #[test]
    fn only_robertas_last_layer_has_another_name_for_sentences() {
        let named = |family, path| sentence_name(family, &hugging_face_name(family, path).0);
        let last = Some("classifier.out_proj.weight".to_string());
        assert_eq!(named(Family::ROBERTA, "head.weight"), last);
        assert_eq!(named(Family::ROBERTA, "heads.2.classifier.weight"), last);
        assert_eq!(named(Family::ROBERTA, "heads.2.dense.weight"), None);
        assert_eq!(named(Family::ROBERTA, "encoder.embeddings.word"), None);
        assert_eq!(named(Family::BERT, "head.weight"), None);
    }
}
