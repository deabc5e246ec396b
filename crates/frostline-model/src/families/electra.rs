//! ELECTRA's discriminator: BERT whose tables may be narrower than its blocks, without a pooler.

use serde::Deserialize;
use serde_json::Value;

use super::bert;
use crate::EncoderConfig;
use crate::family::{Family, Name, Table};

pub(super) static TABLE: Table = Table {
    name: "electra",
    types: &[("electra", "Electra")],
    keys: &[
        "embedding_size",
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
    ],
    prefix: "electra",
    outside: &[
        Name::own("embeddings.word", "embeddings.word_embeddings"),
        Name::own("embeddings.position", "embeddings.position_embeddings"),
        Name::own("embeddings.token_type", "embeddings.token_type_embeddings"),
        Name::own("embeddings.norm", "embeddings.LayerNorm"),
        Name::own("embeddings.projection", "embeddings_project"),
    ],
    blocks: "encoder.layer",
    block: bert::BLOCK,
    modules: None,
    heads: &[Name::own("classifier", "classifier")],
    sentences: None,
};

#[derive(Deserialize)]
struct File {
    #[serde(default = "default_embedding_size")]
    embedding_size: usize,
}

fn default_embedding_size() -> usize {
    128
}

pub(super) fn read(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let broken = |error: serde_json::Error| format!("not an {model_type} config: {error}");
    let File { embedding_size } = File::deserialize(&file).map_err(broken)?;
    let file: bert::File = serde_json::from_value(file).map_err(broken)?;
    let encoder = file.encoder(Family(&TABLE), 0)?;
    Ok(EncoderConfig { embedding: embedding_size, ..encoder })
}
