//! DistilBERT.

use serde::Deserialize;
use serde_json::Value;

use super::read::{activation, default_activation, default_dropout_rate, default_initializer_range};
use crate::family::{Family, Name, SentenceHead, Table};
use crate::{Architecture, EncoderConfig, Extras, HeadKind};

pub(super) static TABLE: Table = Table {
    name: "distilbert",
    types: &[("distilbert", "DistilBert")],
    keys: &[
        "vocab_size",
        "dim",
        "n_layers",
        "n_heads",
        "hidden_dim",
        "max_position_embeddings",
        "activation",
    ],
    prefix: "distilbert",
    outside: &[
        Name::own("embeddings.word", "embeddings.word_embeddings"),
        Name::own("embeddings.position", "embeddings.position_embeddings"),
        Name::own("embeddings.norm", "embeddings.LayerNorm"),
    ],
    blocks: "transformer.layer",
    block: &[
        Name::own("query", "attention.q_lin"),
        Name::own("key", "attention.k_lin"),
        Name::own("value", "attention.v_lin"),
        Name::own("attention_output", "attention.out_lin"),
        Name::own("attention_norm", "sa_layer_norm"),
        Name::own("intermediate", "ffn.lin1"),
        Name::own("output", "ffn.lin2"),
        Name::own("output_norm", "output_layer_norm"),
    ],
    modules: None,
    heads: &[Name::own("dense", "pre_classifier"), Name::own("classifier", "classifier")],
    sentences: Some(SentenceHead {
        kind: HeadKind::DistilBert,
        classifier: "classifier",
        pooler: false,
        saved: Some("pre_classifier"),
    }),
};

#[derive(Deserialize)]
struct File {
    vocab_size: usize,
    dim: usize,
    n_layers: usize,
    n_heads: usize,
    hidden_dim: usize,
    max_position_embeddings: usize,
    #[serde(default = "default_dropout_rate")]
    dropout: f64,
    #[serde(default = "default_dropout_rate")]
    attention_dropout: f64,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    #[serde(default = "default_activation")]
    activation: String,
}

pub(super) fn read(file: Value, _: &str) -> Result<EncoderConfig, String> {
    let file: File =
        serde_json::from_value(file).map_err(|error| format!("not a distilbert config: {error}"))?;
    Ok(EncoderConfig {
        family: Family::DISTILBERT,
        vocabulary: file.vocab_size,
        embedding: file.dim,
        hidden: file.dim,
        depth: file.n_layers,
        heads: file.n_heads,
        key_heads: file.n_heads,
        intermediate: file.hidden_dim,
        positions: file.max_position_embeddings,
        first_position: 0,
        token_types: 0,
        norm_eps: 1e-12,
        embedding_dropout: file.dropout,
        dropout: file.dropout,
        attention_dropout: file.attention_dropout,
        attention_output_dropout: 0.0,
        initializer_range: file.initializer_range,
        architecture: Architecture::bert(activation(&file.activation)?),
        extras: Extras::default(),
    })
}
