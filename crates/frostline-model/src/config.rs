//! An encoder's shape, read from Hugging Face's `config.json`.

use serde::Deserialize;
use serde_json::Value;

use crate::{Extras, HeadKind, HeadShape, ModelError};

/// The model families whose weights and forward pass are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `model_type` "distilbert".
    DistilBert,
    /// `model_type` "bert".
    Bert,
    /// `model_type` "roberta" or "xlm-roberta": BERT with positions that start behind the padding
    /// token's, see [`EncoderConfig::first_position`].
    Roberta,
}

/// An encoder's shape and rates.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Which family.
    pub family: Family,
    /// Rows of the word table.
    pub vocabulary: usize,
    /// Width of a row, H.
    pub hidden: usize,
    /// Transformer blocks.
    pub depth: usize,
    /// Attention heads; H divides by them.
    pub heads: usize,
    /// Width inside the feed-forward layer.
    pub intermediate: usize,
    /// Rows of the position table. Not every one need be read: see [`Self::longest_input`].
    pub positions: usize,
    /// The row of the position table that a sentence's first subword reads; the next subword reads
    /// the next row. 0, but in RoBERTa the row after its padding token's.
    pub first_position: usize,
    /// Rows of the token-type table; 0 where the family has none.
    pub token_types: usize,
    /// Added to a LayerNorm's variance.
    pub norm_eps: f64,
    /// Dropout after embeddings and feed-forward layers, and after attention outputs where
    /// [`Self::attention_output_dropout`] says so.
    pub dropout: f64,
    /// Dropout on attention probabilities.
    pub attention_dropout: f64,
    /// Standard deviation of randomly drawn weights.
    pub initializer_range: f64,
    /// What a policy adds; a config file knows of nothing.
    pub extras: Extras,
}

#[derive(Deserialize)]
struct DistilBertFile {
    vocab_size: usize,
    dim: usize,
    n_layers: usize,
    n_heads: usize,
    hidden_dim: usize,
    max_position_embeddings: usize,
    #[serde(default = "tenth")]
    dropout: f64,
    #[serde(default = "tenth")]
    attention_dropout: f64,
    #[serde(default = "fiftieth")]
    initializer_range: f64,
    #[serde(default = "gelu")]
    activation: String,
}

/// BERT's config, and RoBERTa's.
#[derive(Deserialize)]
struct BertFile {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    #[serde(default = "tiny")]
    layer_norm_eps: f64,
    #[serde(default = "tenth")]
    hidden_dropout_prob: f64,
    #[serde(default = "tenth")]
    attention_probs_dropout_prob: f64,
    #[serde(default = "fiftieth")]
    initializer_range: f64,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    pad_token_id: Option<usize>,
}

fn tenth() -> f64 {
    0.1
}
fn fiftieth() -> f64 {
    0.02
}
fn tiny() -> f64 {
    1e-12
}
fn gelu() -> String {
    "gelu".into()
}
fn absolute() -> String {
    "absolute".into()
}

impl EncoderConfig {
    /// Reads a `config.json`; `place` is named in errors.
    ///
    /// # Errors
    /// Where the file is no such config, its family is unknown, or it asks for something that is
    /// not implemented.
    pub fn parse(text: &str, place: &str) -> Result<Self, ModelError> {
        let fail = |reason: String| ModelError::Config { place: place.into(), reason };
        let file: Value = serde_json::from_str(text).map_err(|error| fail(format!("no JSON: {error}")))?;
        let family = file.get("model_type").and_then(Value::as_str).unwrap_or("nothing").to_string();
        let broken = |error: serde_json::Error| fail(format!("no {family} config: {error}"));
        let (config, activation) = match family.as_str() {
            "distilbert" => {
                let file: DistilBertFile = serde_json::from_value(file).map_err(broken)?;
                let config = Self {
                    family: Family::DistilBert,
                    vocabulary: file.vocab_size,
                    hidden: file.dim,
                    depth: file.n_layers,
                    heads: file.n_heads,
                    intermediate: file.hidden_dim,
                    positions: file.max_position_embeddings,
                    first_position: 0,
                    token_types: 0,
                    norm_eps: 1e-12,
                    dropout: file.dropout,
                    attention_dropout: file.attention_dropout,
                    initializer_range: file.initializer_range,
                    extras: Extras::default(),
                };
                (config, file.activation)
            }
            "bert" | "roberta" | "xlm-roberta" => {
                let file: BertFile = serde_json::from_value(file).map_err(broken)?;
                // Where RoBERTa's config names no padding token, `transformers` takes the token 1.
                let (family, first_position) = match family.as_str() {
                    "bert" => (Family::Bert, 0),
                    _ => (Family::Roberta, file.pad_token_id.unwrap_or(1) + 1),
                };
                if file.position_embedding_type != "absolute" {
                    return Err(fail(format!(
                        "position_embedding_type is `{}`; only `absolute` is known",
                        file.position_embedding_type
                    )));
                }
                let config = Self {
                    family,
                    vocabulary: file.vocab_size,
                    hidden: file.hidden_size,
                    depth: file.num_hidden_layers,
                    heads: file.num_attention_heads,
                    intermediate: file.intermediate_size,
                    positions: file.max_position_embeddings,
                    first_position,
                    token_types: file.type_vocab_size,
                    norm_eps: file.layer_norm_eps,
                    dropout: file.hidden_dropout_prob,
                    attention_dropout: file.attention_probs_dropout_prob,
                    initializer_range: file.initializer_range,
                    extras: Extras::default(),
                };
                (config, file.hidden_act)
            }
            other => {
                return Err(fail(format!(
                    "model_type is `{other}`; the families known are `distilbert`, `bert`, `roberta` and \
                     `xlm-roberta`"
                )));
            }
        };
        if activation != "gelu" {
            return Err(fail(format!("the activation is `{activation}`; only `gelu` is known")));
        }
        if config.heads == 0 || config.hidden % config.heads != 0 {
            return Err(fail(format!(
                "a width of {} does not divide into {} heads",
                config.hidden, config.heads
            )));
        }
        let sizes = [
            ("width", config.hidden),
            ("number of blocks", config.depth),
            ("intermediate width", config.intermediate),
            ("vocabulary", config.vocabulary),
        ];
        if let Some((what, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(fail(format!("the {what} is 0; expected at least 1")));
        }
        let rates = [("dropout", config.dropout), ("attention dropout", config.attention_dropout)];
        if let Some((what, rate)) = rates.into_iter().find(|(_, rate)| !(0.0..1.0).contains(rate)) {
            return Err(fail(format!("the {what} is {rate}; expected a rate in [0, 1)")));
        }
        if config.first_position >= config.positions {
            return Err(fail(format!(
                "max_position_embeddings is {}, but pad_token_id takes the first {} of them; expected more",
                config.positions, config.first_position
            )));
        }
        Ok(config)
    }

    /// The most subwords of a sentence, specials included: those for which the position table has
    /// rows.
    #[must_use]
    pub fn longest_input(&self) -> usize {
        self.positions - self.first_position
    }

    /// The rate of dropout after attention outputs, where DistilBERT drops nothing.
    #[must_use]
    pub fn attention_output_dropout(&self) -> f64 {
        if self.family == Family::DistilBert { 0.0 } else { self.dropout }
    }

    /// Path and shape of every parameter of the encoder with these heads on top, in this crate's
    /// layout.
    #[must_use]
    pub fn parameters(&self, heads: &[HeadShape]) -> Vec<(String, Vec<usize>)> {
        let h = self.hidden;
        let mut out: Vec<(String, Vec<usize>)> = Vec::new();
        let mut add = |path: String, shape: &[usize]| out.push((path, shape.to_vec()));
        add("encoder.embeddings.word".into(), &[self.vocabulary, h]);
        add("encoder.embeddings.position".into(), &[self.positions, h]);
        if self.token_types > 0 {
            add("encoder.embeddings.token_type".into(), &[self.token_types, h]);
        }
        let mut norm = |path: String| {
            add(format!("{path}.gamma"), &[h]);
            add(format!("{path}.beta"), &[h]);
        };
        norm("encoder.embeddings.norm".into());
        for block in 0..self.depth {
            norm(format!("encoder.blocks.{block}.attention_norm"));
            norm(format!("encoder.blocks.{block}.output_norm"));
        }
        let mut linear = |path: String, from: usize, to: usize| {
            add(format!("{path}.weight"), &[from, to]);
            add(format!("{path}.bias"), &[to]);
        };
        for block in 0..self.depth {
            for part in ["query", "key", "value", "attention_output"] {
                linear(format!("encoder.blocks.{block}.{part}"), h, h);
            }
            linear(format!("encoder.blocks.{block}.intermediate"), h, self.intermediate);
            linear(format!("encoder.blocks.{block}.output"), self.intermediate, h);
        }
        for (number, head) in heads.iter().enumerate() {
            if head.kind != HeadKind::Linear {
                linear(format!("heads.{number}.dense"), h, h);
            }
            linear(format!("heads.{number}.classifier"), h, head.labels);
        }
        out.extend(self.extras.parameters(self));
        out
    }
}
