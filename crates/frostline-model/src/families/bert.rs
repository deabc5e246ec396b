//! BERT, and RoBERTa with its relatives: the same encoder with positions that start after the padding token's.

use serde::Deserialize;
use serde_json::Value;

use super::read::{
    activation, default_activation, default_dropout_rate, default_initializer_range, default_norm_eps,
    default_position_type,
};
use crate::family::{Family, Name, SentenceHead, Table};
use crate::{Architecture, EncoderConfig, Extras, HeadKind};

pub(super) static BERT: Table = Table {
    name: "bert",
    types: &[("bert", "Bert")],
    keys: KEYS,
    prefix: "bert",
    outside: OUTSIDE,
    blocks: "encoder.layer",
    block: BLOCK,
    modules: None,
    heads: &[Name::own("dense", "bert.pooler.dense"), Name::own("classifier", "classifier")],
    sentences: Some(SentenceHead {
        kind: HeadKind::Pooler,
        classifier: "classifier",
        pooler: true,
        saved: Some("pooler"),
    }),
};

pub(super) static ROBERTA: Table = Table {
    name: "roberta",
    types: &[("roberta", "Roberta"), ("xlm-roberta", "XLMRoberta"), ("camembert", "Camembert")],
    keys: KEYS,
    prefix: "roberta",
    outside: OUTSIDE,
    blocks: "encoder.layer",
    block: BLOCK,
    modules: None,
    heads: &[Name::own("dense", "classifier.dense"), Name::own("classifier", "classifier")],
    // The dense layer is part of the classifier, so that PEFT saves both.
    sentences: Some(SentenceHead {
        kind: HeadKind::Pooler,
        classifier: "classifier.out_proj",
        pooler: false,
        saved: None,
    }),
};

pub(super) const KEYS: &[&str] = &[
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
    "position_embedding_type",
];

pub(super) const OUTSIDE: &[Name] = &[
    Name::own("embeddings.word", "embeddings.word_embeddings"),
    Name::own("embeddings.position", "embeddings.position_embeddings"),
    Name::own("embeddings.token_type", "embeddings.token_type_embeddings"),
    Name::own("embeddings.norm", "embeddings.LayerNorm"),
];

pub(super) const BLOCK: &[Name] = &[
    Name::own("query", "attention.self.query"),
    Name::own("key", "attention.self.key"),
    Name::own("value", "attention.self.value"),
    Name::own("attention_output", "attention.output.dense"),
    Name::own("attention_norm", "attention.output.LayerNorm"),
    Name::own("intermediate", "intermediate.dense"),
    Name::own("output", "output.dense"),
    Name::own("output_norm", "output.LayerNorm"),
];

/// The config of BERT and of encoders with its keys.
#[derive(Deserialize)]
pub(super) struct File {
    vocab_size: usize,
    pub hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    #[serde(default = "default_norm_eps")]
    layer_norm_eps: f64,
    #[serde(default = "default_dropout_rate")]
    hidden_dropout_prob: f64,
    #[serde(default = "default_dropout_rate")]
    attention_probs_dropout_prob: f64,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    #[serde(default = "default_activation")]
    hidden_act: String,
    #[serde(default = "default_position_type")]
    position_embedding_type: String,
    #[serde(default)]
    is_decoder: bool,
    pub pad_token_id: Option<usize>,
}

impl File {
    /// Returns the encoder of this family, with this first position.
    ///
    /// # Errors
    /// If it is a decoder, or has positions or an activation that are not supported.
    pub fn encoder(self, family: Family, first_position: usize) -> Result<EncoderConfig, String> {
        if self.position_embedding_type != "absolute" {
            return Err(format!(
                "position_embedding_type is `{}`; only `absolute` is supported",
                self.position_embedding_type
            ));
        }
        if self.is_decoder {
            return Err(
                "is_decoder is true: its attention looks back alone; only encoders are supported".into()
            );
        }
        Ok(EncoderConfig {
            family,
            vocabulary: self.vocab_size,
            embedding: self.hidden_size,
            hidden: self.hidden_size,
            depth: self.num_hidden_layers,
            heads: self.num_attention_heads,
            key_heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            positions: self.max_position_embeddings,
            first_position,
            token_types: self.type_vocab_size,
            norm_eps: self.layer_norm_eps,
            embedding_dropout: self.hidden_dropout_prob,
            dropout: self.hidden_dropout_prob,
            attention_dropout: self.attention_probs_dropout_prob,
            attention_output_dropout: self.hidden_dropout_prob,
            initializer_range: self.initializer_range,
            architecture: Architecture::bert(activation(&self.hidden_act)?),
            extras: Extras::default(),
        })
    }
}

pub(super) fn read(file: Value, model_type: &str) -> Result<EncoderConfig, String> {
    let file: File =
        serde_json::from_value(file).map_err(|error| format!("not a {model_type} config: {error}"))?;
    if model_type == "bert" {
        return file.encoder(Family::BERT, 0);
    }
    // If the config names no padding token, `transformers` uses token 1.
    let first = file.pad_token_id.unwrap_or(1).saturating_add(1);
    file.encoder(Family::ROBERTA, first)
}
