//! An encoder's form, sizes and dropout rates.

use crate::{Architecture, Extras, Family};

/// An encoder: its form, its sizes and its dropout rates.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// The model family.
    pub family: Family,
    /// Rows of the word table.
    pub vocabulary: usize,
    /// Width of the tables of embeddings, E: H, unless a layer projects them to H.
    pub embedding: usize,
    /// Hidden size, H.
    pub hidden: usize,
    /// Number of transformer blocks.
    pub depth: usize,
    /// Number of attention heads; H is a multiple of it.
    pub heads: usize,
    /// Number of heads of keys and values; so many queries share one of them that `heads` is a multiple of it.
    pub key_heads: usize,
    /// Width inside the feed-forward layer.
    pub intermediate: usize,
    /// Rows of the position table, or the most positions of an encoder that has none. Some may be unusable: see
    /// [`Self::longest_input`].
    pub positions: usize,
    /// The row of the position table for a sentence's first subword; the next subword has the next row. It is
    /// 0, except in RoBERTa: there it is the row after the padding token's.
    pub first_position: usize,
    /// Rows of the token-type table; 0 if the family has none.
    pub token_types: usize,
    /// Added to a LayerNorm's variance.
    pub norm_eps: f64,
    /// Dropout after the embeddings.
    pub embedding_dropout: f64,
    /// Dropout after the feed-forward part; before its last layer if that part is gated.
    pub dropout: f64,
    /// Dropout on attention probabilities.
    pub attention_dropout: f64,
    /// Dropout after attention outputs; 0 in DistilBERT.
    pub attention_output_dropout: f64,
    /// Standard deviation of randomly initialised weights.
    pub initializer_range: f64,
    /// The form of its parts.
    pub architecture: Architecture,
    /// Parameters that a policy adds to the encoder; config files do not contain them.
    pub extras: Extras,
}

impl EncoderConfig {
    /// Returns the maximum number of subwords in a sentence, including special tokens: the usable rows of the
    /// position table.
    #[must_use]
    pub fn longest_input(&self) -> usize {
        self.positions - self.first_position
    }
}
