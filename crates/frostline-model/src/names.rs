//! The Hugging Face names of this crate's parameter paths.

use crate::Family;

/// Returns a parameter's name in a Hugging Face token classifier of this family, and whether it is stored
/// transposed there (linear weights are \[out, in\]).
///
/// # Panics
/// If the path is not a parameter path of this crate.
#[must_use]
pub fn hugging_face_name(family: Family, path: &str) -> (String, bool) {
    let unknown = || -> ! { panic!("`{path}` is not a parameter of this crate") };
    let (stem, kind) = match path {
        "encoder.embeddings.word" => ("word_embeddings", "weight"),
        "encoder.embeddings.position" => ("position_embeddings", "weight"),
        "encoder.embeddings.token_type" => ("token_type_embeddings", "weight"),
        _ => path.rsplit_once('.').unwrap_or_else(|| unknown()),
    };
    let kind = match kind {
        "gamma" => "weight",
        "beta" => "bias",
        kind => kind,
    };
    let prefix = family.name();
    if stem == "pooler" {
        return (format!("{prefix}.pooler.dense.{kind}"), kind == "weight");
    }
    if ["head", "head.dense"].contains(&stem) || stem.starts_with("heads.") {
        let layer = match (family, stem.ends_with(".dense")) {
            (_, false) => "classifier",
            (Family::DistilBert, true) => "pre_classifier",
            (Family::Bert, true) => "bert.pooler.dense",
            (Family::Roberta, true) => "classifier.dense",
        };
        return (format!("{layer}.{kind}"), kind == "weight");
    }
    if let Some(table) = stem.strip_suffix("_embeddings") {
        return (format!("{prefix}.embeddings.{table}_embeddings.weight"), false);
    }
    if stem == "encoder.embeddings.norm" {
        return (format!("{prefix}.embeddings.LayerNorm.{kind}"), false);
    }
    let (block, part) = stem
        .strip_prefix("encoder.blocks.")
        .and_then(|rest| rest.split_once('.'))
        .unwrap_or_else(|| unknown());
    let (folder, part) = match (family, part) {
        (Family::DistilBert, part) => (
            "transformer",
            match part {
                "query" => "attention.q_lin",
                "key" => "attention.k_lin",
                "value" => "attention.v_lin",
                "attention_output" => "attention.out_lin",
                "attention_norm" => "sa_layer_norm",
                "intermediate" => "ffn.lin1",
                "output" => "ffn.lin2",
                "output_norm" => "output_layer_norm",
                _ => unknown(),
            },
        ),
        (Family::Bert | Family::Roberta, part) => (
            "encoder",
            match part {
                "query" => "attention.self.query",
                "key" => "attention.self.key",
                "value" => "attention.self.value",
                "attention_output" => "attention.output.dense",
                "attention_norm" => "attention.output.LayerNorm",
                "intermediate" => "intermediate.dense",
                "output" => "output.dense",
                "output_norm" => "output.LayerNorm",
                _ => unknown(),
            },
        ),
    };
    let transposed = kind == "weight" && !part.to_lowercase().ends_with("norm");
    (format!("{prefix}.{folder}.layer.{block}.{part}.{kind}"), transposed)
}

/// Returns the name, in RoBERTa's sentence head, of a tensor that its token head calls `classifier`; `None` for
/// any other name.
pub(crate) fn sentence_name(family: Family, name: &str) -> Option<String> {
    let kind = name.strip_prefix("classifier.").filter(|_| family == Family::Roberta)?;
    (!kind.starts_with("dense.")).then(|| format!("classifier.out_proj.{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_hugging_face() {
        let cases = [
            (
                Family::Bert,
                "encoder.embeddings.token_type",
                "bert.embeddings.token_type_embeddings.weight",
                false,
            ),
            (Family::Bert, "encoder.embeddings.norm.gamma", "bert.embeddings.LayerNorm.weight", false),
            (
                Family::Bert,
                "encoder.blocks.3.query.weight",
                "bert.encoder.layer.3.attention.self.query.weight",
                true,
            ),
            (
                Family::Bert,
                "encoder.blocks.3.attention_norm.beta",
                "bert.encoder.layer.3.attention.output.LayerNorm.bias",
                false,
            ),
            (
                Family::Roberta,
                "encoder.embeddings.position",
                "roberta.embeddings.position_embeddings.weight",
                false,
            ),
            (
                Family::Roberta,
                "encoder.blocks.3.intermediate.weight",
                "roberta.encoder.layer.3.intermediate.dense.weight",
                true,
            ),
            (Family::Roberta, "head.bias", "classifier.bias", false),
            (
                Family::DistilBert,
                "encoder.embeddings.word",
                "distilbert.embeddings.word_embeddings.weight",
                false,
            ),
            (
                Family::DistilBert,
                "encoder.blocks.0.attention_norm.gamma",
                "distilbert.transformer.layer.0.sa_layer_norm.weight",
                false,
            ),
            (
                Family::DistilBert,
                "encoder.blocks.5.output.bias",
                "distilbert.transformer.layer.5.ffn.lin2.bias",
                false,
            ),
            (Family::DistilBert, "head.weight", "classifier.weight", true),
            (Family::DistilBert, "heads.0.dense.weight", "pre_classifier.weight", true),
            (Family::DistilBert, "head.dense.weight", "pre_classifier.weight", true),
            (Family::Roberta, "head.dense.bias", "classifier.dense.bias", false),
            (Family::Bert, "heads.1.dense.bias", "bert.pooler.dense.bias", false),
            (Family::Bert, "heads.1.classifier.bias", "classifier.bias", false),
            (Family::Bert, "pooler.weight", "bert.pooler.dense.weight", true),
        ];
        for (family, path, name, transposed) in cases {
            assert_eq!(hugging_face_name(family, path), (name.to_string(), transposed));
        }
    }

    #[test]
    fn only_robertas_last_layer_has_another_name_for_sentences() {
        let named = |family, path| sentence_name(family, &hugging_face_name(family, path).0);
        let last = Some("classifier.out_proj.weight".to_string());
        assert_eq!(named(Family::Roberta, "head.weight"), last);
        assert_eq!(named(Family::Roberta, "heads.2.classifier.weight"), last);
        assert_eq!(named(Family::Roberta, "heads.2.dense.weight"), None);
        assert_eq!(named(Family::Roberta, "encoder.embeddings.word"), None);
        assert_eq!(named(Family::Bert, "head.weight"), None);
    }
}
