//! An encoder's shape, read from Hugging Face's `config.json`.
//!
//! # To add an encoder family
//!
//! In `crates/frostline-model/src`: a `Family` and its `config.json` in `config.rs`, including its first
//! position; its parameters' names in `names.rs`; its forward pass in `encoder.rs`; its class name in
//! `export.rs`. Then the work of its blocks in `crates/frostline-freeze/src/cost.rs` and their activations for
//! backward in `memory.rs` if they differ, its dropout sites in `encoder_dropout`
//! (`crates/frostline-train/src/pass.rs`) and, if its config has the depth under another key, `blocks` in
//! `crates/frostline-sweep/src/inputs.rs`. A tokenizer of another kind needs cases in
//! `crates/frostline-align/tests/data`. Paths must keep the form `encoder.blocks.I.…` and
//! `encoder.embeddings.…`, which policies depend on. First compare with reference outputs of the original
//! (`crates/frostline-model/tests/references/make.py`).

use serde::Deserialize;
use serde_json::Value;

use crate::{Extras, ModelError};

/// The most blocks of an encoder; the deepest in use have about a hundred.
const MOST_BLOCKS: usize = 4096;

/// The most hidden units and attention heads.
const MOST_WIDTH: usize = 1 << 16;

/// The most units inside a feed-forward layer.
const MOST_INTERMEDIATE: usize = 1 << 20;

/// The most rows of a table: words, positions or token types.
const MOST_ROWS: usize = 1 << 26;

/// Maximum number of an encoder's parameters: about a hundred times the largest encoder in use.
const MOST_PARAMETERS: u64 = 1 << 40;

/// The supported model families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `model_type` "distilbert".
    DistilBert,
    /// `model_type` "bert".
    Bert,
    /// `model_type` "roberta" or "xlm-roberta": BERT with positions that start after the padding
    /// token's, see [`EncoderConfig::first_position`].
    Roberta,
}

impl Family {
    /// Returns the family's name in Hugging Face's parameter names, and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DistilBert => "distilbert",
            Self::Bert => "bert",
            Self::Roberta => "roberta",
        }
    }
}

/// An encoder's sizes and dropout rates.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// The model family.
    pub family: Family,
    /// Rows of the word table.
    pub vocabulary: usize,
    /// Hidden size, H.
    pub hidden: usize,
    /// Number of transformer blocks.
    pub depth: usize,
    /// Number of attention heads; H is a multiple of it.
    pub heads: usize,
    /// Width inside the feed-forward layer.
    pub intermediate: usize,
    /// Rows of the position table. Some may be unusable: see [`Self::longest_input`].
    pub positions: usize,
    /// The row of the position table for a sentence's first subword; the next subword has the next row. It is
    /// 0, except in RoBERTa: there it is the row after the padding token's.
    pub first_position: usize,
    /// Rows of the token-type table; 0 if the family has none.
    pub token_types: usize,
    /// Added to a LayerNorm's variance.
    pub norm_eps: f64,
    /// Dropout after embeddings and feed-forward layers; for attention outputs see
    /// [`Self::attention_output_dropout`].
    pub dropout: f64,
    /// Dropout on attention probabilities.
    pub attention_dropout: f64,
    /// Standard deviation of randomly initialised weights.
    pub initializer_range: f64,
    /// Parameters that a policy adds to the encoder; config files do not contain them.
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
    #[serde(default = "default_dropout_rate")]
    dropout: f64,
    #[serde(default = "default_dropout_rate")]
    attention_dropout: f64,
    #[serde(default = "default_initializer_range")]
    initializer_range: f64,
    #[serde(default = "default_activation")]
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
    pad_token_id: Option<usize>,
}

fn default_dropout_rate() -> f64 {
    0.1
}
fn default_initializer_range() -> f64 {
    0.02
}
fn default_norm_eps() -> f64 {
    1e-12
}
fn default_activation() -> String {
    "gelu".into()
}
fn default_position_type() -> String {
    "absolute".into()
}

impl EncoderConfig {
    /// Reads a `config.json`; `place` names the file in errors.
    ///
    /// # Errors
    /// If the file is not such a config, its family is not supported, it needs something that is not implemented, or a
    /// size is 0 or above the limits of `docs/limits.md`.
    pub fn parse(text: &str, place: &str) -> Result<Self, ModelError> {
        let fail = |reason: String| ModelError::Config { place: place.into(), reason };
        let file: Value = serde_json::from_str(text).map_err(|error| fail(format!("not JSON: {error}")))?;
        let family = file.get("model_type").and_then(Value::as_str).unwrap_or("missing").to_string();
        let broken = |error: serde_json::Error| fail(format!("not a {family} config: {error}"));
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
                // If RoBERTa's config names no padding token, `transformers` uses token 1.
                let (family, first_position) = match family.as_str() {
                    "bert" => (Family::Bert, 0),
                    _ => (Family::Roberta, file.pad_token_id.unwrap_or(1).saturating_add(1)),
                };
                if file.position_embedding_type != "absolute" {
                    return Err(fail(format!(
                        "position_embedding_type is `{}`; only `absolute` is supported",
                        file.position_embedding_type
                    )));
                }
                if file.is_decoder {
                    return Err(fail(
                        "is_decoder is true: its attention looks back alone; only encoders are supported"
                            .into(),
                    ));
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
                    "model_type is `{other}`; the supported families are `distilbert`, `bert`, `roberta` and \
                     `xlm-roberta`"
                )));
            }
        };
        if activation != "gelu" {
            return Err(fail(format!("the activation is `{activation}`; only `gelu` is supported")));
        }
        config.check_sizes().map_err(fail)?;
        let rates = [("dropout", config.dropout), ("attention dropout", config.attention_dropout)];
        if let Some((what, rate)) = rates.into_iter().find(|(_, rate)| !(0.0..1.0).contains(rate)) {
            return Err(fail(format!("the {what} is {rate}, expected a rate in [0, 1)")));
        }
        if !(config.norm_eps > 0.0 && config.norm_eps <= 1.0) {
            return Err(fail(format!("layer_norm_eps is {}, expected a number in (0, 1]", config.norm_eps)));
        }
        if !(0.0..=1000.0).contains(&config.initializer_range) {
            let range = config.initializer_range;
            return Err(fail(format!("initializer_range is {range}, expected a number from 0 to 1000")));
        }
        if config.first_position >= config.positions {
            return Err(fail(format!(
                "max_position_embeddings is {}, but pad_token_id takes the first {} of them; expected more",
                config.positions, config.first_position
            )));
        }
        Ok(config)
    }

    /// Checks that every size is possible and that the parameters can be counted.
    fn check_sizes(&self) -> Result<(), String> {
        let sizes = [
            ("width", self.hidden, MOST_WIDTH),
            ("number of blocks", self.depth, MOST_BLOCKS),
            ("number of attention heads", self.heads, MOST_WIDTH),
            ("intermediate width", self.intermediate, MOST_INTERMEDIATE),
            ("vocabulary", self.vocabulary, MOST_ROWS),
            ("number of positions", self.positions, MOST_ROWS),
        ];
        if let Some((what, _, most)) = sizes.into_iter().find(|(_, size, _)| *size == 0) {
            return Err(format!("the {what} is 0, expected 1 to {most}"));
        }
        let sizes = sizes.into_iter().chain([("number of token types", self.token_types, MOST_ROWS)]);
        if let Some((what, size, most)) = { sizes }.find(|(_, size, most)| size > most) {
            return Err(format!("the {what} is {size}, expected at most {most}"));
        }
        if !self.hidden.is_multiple_of(self.heads) {
            return Err(format!(
                "the hidden size {} is not a multiple of the number of heads, {}",
                self.hidden, self.heads
            ));
        }
        match self.count_parameters() {
            Some(0..=MOST_PARAMETERS) => Ok(()),
            _ => Err(format!("its sizes make more than {MOST_PARAMETERS} parameters")),
        }
    }

    /// Returns the number of parameters of the encoder without extras; `None` if it is above 2⁶⁴.
    fn count_parameters(&self) -> Option<u64> {
        let [h, inner] = [self.hidden as u64, self.intermediate as u64];
        let rows = (self.vocabulary as u64).checked_add(self.positions as u64)?;
        let rows = rows.checked_add(self.token_types as u64)?;
        // Four products of attention, two of the feed-forward layer, two norms, all biases.
        let squares = h.checked_mul(h)?.checked_mul(4)?.checked_add(h.checked_mul(inner)?.checked_mul(2)?)?;
        let block = squares.checked_add(h.checked_mul(9)?)?.checked_add(inner)?;
        let table = rows.checked_mul(h)?.checked_add(h.checked_mul(2)?)?;
        block.checked_mul(self.depth as u64)?.checked_add(table)
    }

    /// Returns the maximum number of subwords in a sentence, including special tokens: the usable rows of the
    /// position table.
    #[must_use]
    pub fn longest_input(&self) -> usize {
        self.positions - self.first_position
    }

    /// Returns the rate of dropout after attention outputs; 0 in DistilBERT.
    #[must_use]
    pub fn attention_output_dropout(&self) -> f64 {
        if self.family == Family::DistilBert { 0.0 } else { self.dropout }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the config of a small BERT with one size replaced, or why it is refused.
    fn parse(key: &str, value: u64) -> Result<EncoderConfig, String> {
        let mut file = serde_json::json!({
            "model_type": "bert", "vocab_size": 100, "hidden_size": 8, "num_hidden_layers": 2,
            "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 32, "type_vocab_size": 2
        });
        file[key] = value.into();
        EncoderConfig::parse(&file.to_string(), "config.json").map_err(|error| error.to_string())
    }

    #[test]
    fn sizes_have_limits_that_are_checked_without_wrapping() {
        let keys = [
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
        ];
        for key in keys {
            for value in [u64::MAX, 1 << 63, 1 << 40, (1 << 26) + 1] {
                let error = parse(key, value).expect_err(key);
                assert!(error.contains("expected at most"), "{key} {value}: {error}");
            }
            assert_eq!(parse(key, 0).is_ok(), key == "type_vocab_size", "{key}");
        }
        assert!(parse("num_hidden_layers", 10_000_000).is_err());
        assert!(parse("hidden_size", 9).expect_err("9 of 2 heads").contains("not a multiple"));
        let large = parse("num_hidden_layers", 4096).expect("as deep as allowed");
        assert_eq!(large.depth, 4096);
    }

    #[test]
    fn the_count_is_that_of_the_parameters() {
        let config = parse("num_hidden_layers", 3).expect("a config");
        let all = config.parameters(&[]);
        let sum: usize = all.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
        assert_eq!(config.count_parameters(), Some(sum as u64));
    }
}
