//! XLM-R XL and XXL: RoBERTa with norms before the layers, and none after the embeddings.

use serde_json::Value;

use super::bert;
use crate::family::{Family, Name, Table};
use crate::{Architecture, EncoderConfig, NormPlace};

pub(super) static TABLE: Table = Table {
    name: "xlm-roberta-xl",
    types: &[("xlm-roberta-xl", "XLMRobertaXL")],
    keys: bert::KEYS,
    prefix: "roberta",
    outside: &[
        Name::own("embeddings.word", "embeddings.word_embeddings"),
        Name::own("embeddings.position", "embeddings.position_embeddings"),
        Name::own("embeddings.token_type", "embeddings.token_type_embeddings"),
        Name::own("final_norm", "encoder.LayerNorm"),
    ],
    blocks: "encoder.layer",
    block: &[
        Name::own("query", "attention.self.query"),
        Name::own("key", "attention.self.key"),
        Name::own("value", "attention.self.value"),
        Name::own("attention_output", "attention.output.dense"),
        Name::own("attention_norm", "attention.self_attn_layer_norm"),
        Name::own("intermediate", "intermediate.dense"),
        Name::own("output", "output.dense"),
        Name::own("output_norm", "LayerNorm"),
    ],
    modules: None,
    heads: &[Name::own("classifier", "classifier")],
    sentences: None,
};

pub(super) fn read(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let broken = |error: serde_json::Error| format!("not an {model_type} config: {error}");
    let file: bert::File = serde_json::from_value(file).map_err(broken)?;
    let first = file.pad_token_id.unwrap_or(1).saturating_add(1);
    let encoder = file.encoder(Family(&TABLE), first)?;
    let architecture =
        Architecture { embedding_norm: false, norms: NormPlace::Before, ..encoder.architecture };
    // No dropout follows the feed-forward part.
    Ok(EncoderConfig { architecture, dropout: 0.0, ..encoder })
}
