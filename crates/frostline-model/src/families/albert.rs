//! ALBERT: BERT with narrow tables, whose blocks share their weights.

use serde::Deserialize;
use serde_json::{Value, json};

use super::bert;
use crate::family::{Family, Name, Table};
use crate::{Architecture, EncoderConfig, Sharing};

pub(super) static TABLE: Table = Table {
    name: "albert",
    types: &[("albert", "Albert")],
    keys: &[
        "vocab_size",
        "embedding_size",
        "hidden_size",
        "num_hidden_layers",
        "num_hidden_groups",
        "inner_group_num",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
        "type_vocab_size",
        "layer_norm_eps",
        "hidden_dropout_prob",
        "attention_probs_dropout_prob",
        "hidden_act",
    ],
    prefix: "albert",
    outside: &[
        Name::own("embeddings.word", "embeddings.word_embeddings"),
        Name::own("embeddings.position", "embeddings.position_embeddings"),
        Name::own("embeddings.token_type", "embeddings.token_type_embeddings"),
        Name::own("embeddings.norm", "embeddings.LayerNorm"),
        Name::own("embeddings.projection", "encoder.embedding_hidden_mapping_in"),
    ],
    blocks: "encoder.albert_layer_groups.{group}.albert_layers",
    block: &[
        Name::own("query", "attention.query"),
        Name::own("key", "attention.key"),
        Name::own("value", "attention.value"),
        Name::own("attention_output", "attention.dense"),
        Name::own("attention_norm", "attention.LayerNorm"),
        Name::own("intermediate", "ffn"),
        Name::own("output", "ffn_output"),
        Name::own("output_norm", "full_layer_layer_norm"),
    ],
    modules: None,
    heads: &[Name::own("classifier", "classifier")],
    sentences: None,
};

/// The keys of a config that BERT's configs lack, with the values of `transformers` for those that are missing.
#[derive(Deserialize)]
struct File {
    #[serde(default = "default_embedding_size")]
    embedding_size: usize,
    num_hidden_layers: usize,
    #[serde(default = "default_one")]
    num_hidden_groups: usize,
    #[serde(default = "default_one")]
    inner_group_num: usize,
}

fn default_embedding_size() -> usize {
    128
}
fn default_one() -> usize {
    1
}

/// The values of `transformers` for keys that BERT's configs have, too, where they differ from BERT's.
fn add_defaults(file: &mut Value) {
    let defaults = [
        ("hidden_dropout_prob", json!(0.0)),
        ("attention_probs_dropout_prob", json!(0.0)),
        ("hidden_act", json!("gelu_new")),
    ];
    for (key, value) in defaults {
        if let Some(all) = file.as_object_mut() {
            all.entry(key).or_insert(value);
        }
    }
}

impl File {
    /// Returns which blocks share weights, and the number of blocks: every layer of a config is `inner_group_num` blocks, and
    /// consecutive layers use a group.
    fn sharing(&self) -> Result<(Sharing, usize), String> {
        let Self { num_hidden_layers: layers, num_hidden_groups: groups, inner_group_num: inner, .. } = *self;
        if groups == 0 || inner == 0 || !layers.is_multiple_of(groups) {
            return Err(format!(
                "num_hidden_layers is {layers}, num_hidden_groups {groups} and inner_group_num {inner}; expected 1 or more of each, \
                 and as many layers in each group"
            ));
        }
        let sharing = Sharing { span: (layers / groups).saturating_mul(inner), cycle: inner };
        Ok((sharing, layers.saturating_mul(inner)))
    }
}

pub(super) fn read(mut file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let broken = |error: serde_json::Error| format!("not an {model_type} config: {error}");
    add_defaults(&mut file);
    let own = File::deserialize(&file).map_err(broken)?;
    let file: bert::File = serde_json::from_value(file).map_err(broken)?;
    let encoder = file.encoder(Family(&TABLE), 0)?;
    if own.embedding_size == encoder.hidden {
        return Err(format!(
            "embedding_size and hidden_size are both {}: ALBERT projects embeddings even so, which is not supported; expected \
             different sizes",
            encoder.hidden
        ));
    }
    let (sharing, depth) = own.sharing()?;
    // Nothing is dropped after the feed-forward part.
    Ok(EncoderConfig {
        embedding: own.embedding_size,
        depth,
        dropout: 0.0,
        architecture: Architecture { sharing: Some(sharing), ..encoder.architecture },
        ..encoder
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is read of a small config with these keys replaced.
    fn read_with(keys: &[(&str, usize)]) -> Result<EncoderConfig, String> {
        let mut file = json!({
            "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 12, "num_attention_heads": 2, "embedding_size": 4,
            "intermediate_size": 16, "max_position_embeddings": 32, "type_vocab_size": 2
        });
        for (key, value) in keys {
            file[*key] = (*value).into();
        }
        read(file, "albert")
    }

    #[test]
    fn blocks_have_the_weights_of_their_group() {
        let owners = |keys: &[(&str, usize)]| {
            let config = read_with(keys).expect("a config");
            (0..config.depth).map(|block| config.architecture.owner(block)).collect::<Vec<_>>()
        };
        assert_eq!(owners(&[]), [0; 12]);
        let six = [0, 0, 0, 0, 0, 0, 6, 6, 6, 6, 6, 6];
        assert_eq!(owners(&[("num_hidden_groups", 2)]), six);
        let keys = [("num_hidden_layers", 4), ("num_hidden_groups", 2), ("inner_group_num", 2)];
        assert_eq!(owners(&keys), [0, 1, 0, 1, 4, 5, 4, 5]);
        let names: Vec<String> = read_with(&keys)
            .expect("a config")
            .parameters(&[])
            .into_iter()
            .map(|(path, _)| crate::stored_name(&read_with(&keys).expect("a config"), &path).name)
            .filter(|name| name.ends_with("ffn.bias"))
            .collect();
        let place = |group, layer| {
            format!("albert.encoder.albert_layer_groups.{group}.albert_layers.{layer}.ffn.bias")
        };
        assert_eq!(names, [place(0, 0), place(0, 1), place(1, 0), place(1, 1)]);
    }

    #[test]
    fn missing_keys_have_the_values_of_transformers() {
        let config = read_with(&[]).expect("a config");
        let rates = [
            config.embedding_dropout,
            config.dropout,
            config.attention_dropout,
            config.attention_output_dropout,
        ];
        assert_eq!((rates, config.norm_eps), ([0.0; 4], 1e-12));
        assert_eq!(config.architecture.activation, frostline_kernels::Activation::GeluTanh);
    }

    #[test]
    fn groups_that_cannot_be_are_errors() {
        for (key, value, part) in [
            ("num_hidden_groups", 5, "num_hidden_groups 5"),
            ("num_hidden_groups", 0, "num_hidden_groups 0"),
            ("inner_group_num", 0, "inner_group_num 0"),
            ("embedding_size", 8, "embedding_size and hidden_size are both 8"),
        ] {
            let error = read_with(&[(key, value)]).expect_err(key);
            assert!(error.contains(part), "{error}");
        }
    }
}
