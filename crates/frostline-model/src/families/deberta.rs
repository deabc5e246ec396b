//! DeBERTa-v2, DeBERTa-v3 and mDeBERTa: BERT whose attention compares subwords with relative positions, too.

use serde::Deserialize;
use serde_json::Value;

use super::bert;
use crate::family::{Family, Name, Table};
use crate::{Architecture, EncoderConfig, RelativeTable};

pub(super) static TABLE: Table = Table {
    name: "deberta-v2",
    types: &[("deberta-v2", "DebertaV2")],
    keys: &[
        "vocab_size",
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
        "type_vocab_size",
        "layer_norm_eps",
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "hidden_act",
        "relative_attention",
        "max_relative_positions",
        "position_buckets",
        "position_biased_input",
        "norm_rel_ebd",
        "share_att_key",
        "pos_att_type",
    ],
    prefix: "deberta",
    outside: &[
        Name::own("embeddings.word", "embeddings.word_embeddings"),
        Name::own("embeddings.position", "embeddings.position_embeddings"),
        Name::own("embeddings.token_type", "embeddings.token_type_embeddings"),
        Name::own("embeddings.norm", "embeddings.LayerNorm"),
        Name::own("embeddings.relative", "encoder.rel_embeddings"),
        Name::own("embeddings.relative_norm", "encoder.LayerNorm"),
    ],
    blocks: "encoder.layer",
    block: &[
        Name::own("query", "attention.self.query_proj"),
        Name::own("key", "attention.self.key_proj"),
        Name::own("value", "attention.self.value_proj"),
        Name::own("attention_output", "attention.output.dense"),
        Name::own("attention_norm", "attention.output.LayerNorm"),
        Name::own("intermediate", "intermediate.dense"),
        Name::own("output", "output.dense"),
        Name::own("output_norm", "output.LayerNorm"),
    ],
    modules: None,
    heads: &[Name::own("classifier", "classifier")],
    sentences: None,
};

/// The keys of a config that BERT's configs lack, with the values of `transformers` for those that are missing.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    relative_attention: bool,
    #[serde(default = "default_negative")]
    max_relative_positions: i64,
    #[serde(default = "default_negative")]
    position_buckets: i64,
    #[serde(default = "default_true")]
    position_biased_input: bool,
    #[serde(default)]
    norm_rel_ebd: String,
    #[serde(default)]
    share_att_key: bool,
    #[serde(default)]
    pos_att_type: Option<PositionTerms>,
    #[serde(default)]
    conv_kernel_size: usize,
    embedding_size: Option<usize>,
    attention_head_size: Option<usize>,
}

/// The terms of scores: a list, or names with bars between them.
#[derive(Deserialize)]
#[serde(untagged)]
enum PositionTerms {
    Names(String),
    List(Vec<String>),
}

fn default_negative() -> i64 {
    -1
}
fn default_true() -> bool {
    true
}

impl File {
    /// Returns the table of relative positions, if there is one.
    fn relative_table(&self, positions: usize) -> Result<Option<RelativeTable>, String> {
        if !self.relative_attention {
            return Ok(None);
        }
        if !self.share_att_key {
            return Err(
                "share_att_key is false: keys of positions have layers of their own; only true is supported"
                    .into(),
            );
        }
        let mut terms = match &self.pos_att_type {
            None => Vec::new(),
            Some(PositionTerms::Names(names)) => {
                names.split('|').map(|name| name.trim().to_lowercase()).collect()
            }
            Some(PositionTerms::List(names)) => names.iter().map(|name| name.to_lowercase()).collect(),
        };
        terms.sort_unstable();
        if terms != ["c2p", "p2c"] {
            return Err(format!(
                "pos_att_type has the terms `{}`; only `c2p` and `p2c` together are supported",
                terms.join("`, `")
            ));
        }
        let above_zero = |number: i64| usize::try_from(number).ok().filter(|number| *number > 0);
        Ok(Some(RelativeTable {
            buckets: above_zero(self.position_buckets),
            farthest: above_zero(self.max_relative_positions).unwrap_or(positions),
            has_norm: self.norm_rel_ebd.split('|').any(|part| part.trim() == "layer_norm"),
        }))
    }

    /// Checks that the encoder has no part of which the released models that are supported have none.
    fn check_parts(&self, encoder: &EncoderConfig) -> Result<(), String> {
        if self.conv_kernel_size > 0 {
            return Err(format!(
                "conv_kernel_size is {}: a convolution follows the first block; only encoders without it are supported",
                self.conv_kernel_size
            ));
        }
        let sizes = [
            ("embedding_size", self.embedding_size, "hidden_size", encoder.hidden),
            (
                "attention_head_size",
                self.attention_head_size,
                "hidden_size / num_attention_heads",
                encoder.hidden / encoder.heads.max(1),
            ),
        ];
        for (key, found, other, expected) in sizes {
            if let Some(found) = found.filter(|found| *found != expected) {
                return Err(format!("{key} is {found}; only {other}, {expected}, is supported"));
            }
        }
        Ok(())
    }
}

pub(super) fn read(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let broken = |error: serde_json::Error| format!("not a {model_type} config: {error}");
    let own = File::deserialize(&file).map_err(broken)?;
    let file: bert::File = serde_json::from_value(file).map_err(broken)?;
    let encoder = file.encoder(Family(&TABLE), 0)?;
    own.check_parts(&encoder)?;
    let architecture = Architecture {
        learned_positions: own.position_biased_input,
        relative: own.relative_table(encoder.positions)?,
        ..encoder.architecture
    };
    Ok(EncoderConfig { architecture, ..encoder })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns what is read of a small config with one key replaced.
    fn read_with(key: &str, value: Value) -> Result<EncoderConfig, String> {
        let mut file = json!({
            "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 16, "max_position_embeddings": 512, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
            "relative_attention": true, "position_buckets": 256, "position_biased_input": false,
            "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p"
        });
        file[key] = value;
        read(file, "deberta-v2")
    }

    #[test]
    fn the_table_has_a_row_for_each_bucket_or_distance() {
        let table = |key, value| read_with(key, value).expect("a config").architecture.relative;
        let buckets = RelativeTable { buckets: Some(256), farthest: 512, has_norm: true };
        assert_eq!(table("max_relative_positions", json!(-1)), Some(buckets));
        assert_eq!(table("pos_att_type", json!(["c2p", "p2c"])), Some(buckets));
        let each = table("position_buckets", json!(-1)).expect("a table");
        assert_eq!((each.buckets, each.span()), (None, 512));
        assert!(!table("norm_rel_ebd", json!("none")).expect("a table").has_norm);
        assert_eq!(table("relative_attention", json!(false)), None);
    }

    #[test]
    fn parts_that_are_missing_here_are_errors_that_name_them() {
        let cases = [
            ("share_att_key", json!(false), "share_att_key is false"),
            ("pos_att_type", json!("c2p"), "terms `c2p`"),
            ("conv_kernel_size", json!(3), "a convolution follows the first block"),
            ("embedding_size", json!(4), "embedding_size is 4; only hidden_size, 8"),
            ("attention_head_size", json!(3), "attention_head_size is 3"),
        ];
        for (key, value, part) in cases {
            let error = read_with(key, value).expect_err(key);
            assert!(error.contains(part), "{key}: {error}");
        }
    }
}
