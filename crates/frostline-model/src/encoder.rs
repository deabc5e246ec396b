//! DistilBERT, BERT and RoBERTa over packed sentences. All are post-LayerNorm transformers; they differ
//! in token types, in the first position, in one dropout site and in the names of their weights.

use std::ops::Range;

use burn::module::{Module, Param};
use burn::prelude::*;
use frostline_kernels::{AddNorm, Dropout, Kernels, Pack, Picked, Precision};

use crate::adapter::Adapter;
use crate::linear::{Builder, Linear, Norm, add_norm};
use crate::{EncoderConfig, Matrix, ModelError, PackedInput, ParameterSource, Vocabulary};

/// Word, position and token-type tables, and the LayerNorm of their sum.
#[derive(Module, Debug)]
pub struct Embeddings<B: Backend> {
    /// \[rows kept, H\], see [`Vocabulary`].
    pub word: Param<Tensor<B, 2>>,
    /// \[positions, H\]
    pub position: Param<Tensor<B, 2>>,
    /// \[token types, H\]; only row 0 is used.
    pub token_type: Option<Param<Tensor<B, 2>>>,
    /// The LayerNorm of the sum.
    pub norm: Norm<B>,
}

/// One transformer block.
#[derive(Module, Debug)]
pub struct Block<B: Backend> {
    /// Queries.
    pub query: Linear<B>,
    /// Keys.
    pub key: Linear<B>,
    /// Values.
    pub value: Linear<B>,
    /// The projection of the attention context.
    pub attention_output: Linear<B>,
    /// The LayerNorm after attention.
    pub attention_norm: Norm<B>,
    /// The first layer of the feed-forward part.
    pub intermediate: Linear<B>,
    /// The second layer of the feed-forward part.
    pub output: Linear<B>,
    /// The bottleneck after it, if one was added.
    pub adapter: Option<Adapter<B>>,
    /// The LayerNorm after the feed-forward part.
    pub output_norm: Norm<B>,
}

/// A transformer encoder.
#[derive(Module, Debug)]
pub struct Encoder<B: Backend> {
    /// The embedding tables.
    pub embeddings: Embeddings<B>,
    /// The blocks, from the input to the output.
    pub blocks: Vec<Block<B>>,
}

/// The settings of one forward pass: its precision and its dropout.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Precision of the linear layers.
    pub precision: Precision,
    /// Dropout after the embeddings.
    pub embeddings: Dropout,
    /// Dropout in each block.
    pub blocks: Vec<BlockDropout>,
    /// Dropout before the head.
    pub head: Dropout,
}

/// Dropout in one block.
#[derive(Clone, Copy, Debug)]
pub struct BlockDropout {
    /// On attention probabilities.
    pub attention: Dropout,
    /// After the attention output (off in DistilBERT).
    pub attention_output: Dropout,
    /// After the feed-forward layer.
    pub output: Dropout,
}

impl Pass {
    /// Returns a pass in f32 without dropout.
    #[must_use]
    pub fn plain(depth: usize) -> Self {
        let off =
            BlockDropout { attention: Dropout::OFF, attention_output: Dropout::OFF, output: Dropout::OFF };
        Self {
            precision: Precision::F32,
            embeddings: Dropout::OFF,
            blocks: vec![off; depth],
            head: Dropout::OFF,
        }
    }
}

impl<B: Kernels> Block<B> {
    /// Returns the block's output. With `only`, just its output at these rows: after attention, every row is
    /// computed independently.
    pub(crate) fn forward(
        &self,
        x: Tensor<B, 2>,
        config: &EncoderConfig,
        pack: &Pack,
        drop: &BlockDropout,
        precision: Precision,
        only: Option<&Picked>,
    ) -> Tensor<B, 2> {
        let linear = |part: &Linear<B>, x| part.forward(x, precision);
        let layers = [&self.query, &self.key, &self.value];
        let context = match layers.map(Linear::weight_and_bias) {
            [Some(query), Some(key), Some(value)] => {
                let layers = [query, key, value];
                B::k_self_attention(x.clone(), layers, config.heads, pack, drop.attention, precision)
            }
            _ => {
                let qkv = layers.map(|part| linear(part, x.clone()));
                B::k_attention(qkv, config.heads, pack, drop.attention)
            }
        };
        let (context, x, rows) = match only {
            None => (context, x, pack.rows()),
            Some(only) => (B::k_gather(context, &only.rows), B::k_gather(x, &only.rows), &only.identities),
        };
        let add = |residual, norm: &Norm<B>, dropout| AddNorm {
            residual,
            affine: norm.parts(),
            eps: config.norm_eps,
            dropout,
            rows,
        };
        let after_attention = add(x, &self.attention_norm, drop.attention_output);
        let x = self.attention_output.forward_add_norm(context, after_attention, precision);
        let inner = self.intermediate.forward_gelu(x.clone(), precision);
        let after_all = add(x, &self.output_norm, drop.output);
        match &self.adapter {
            None => self.output.forward_add_norm(inner, after_all, precision),
            Some(adapter) => add_norm(adapter.forward(linear(&self.output, inner), precision), after_all),
        }
    }
}

impl<B: Kernels> Encoder<B> {
    /// Builds an encoder whose word table has the vocabulary's rows. The parameters of the config's
    /// `extras` come from the second source.
    ///
    /// # Errors
    /// If a source lacks a parameter or has it in another shape.
    pub fn build(
        config: &EncoderConfig,
        vocabulary: &Vocabulary,
        [source, added]: [&dyn ParameterSource; 2],
        device: &B::Device,
    ) -> Result<Self, ModelError> {
        let (b, added) = (Builder { source, device }, Builder { source: added, device });
        let h = config.hidden;
        let word = source.rows("encoder.embeddings.word", [config.vocabulary, h], vocabulary.rows())?;
        let token_type = match config.token_types {
            0 => None,
            rows => Some(b.tensor("encoder.embeddings.token_type", [rows, h])?),
        };
        let embeddings = Embeddings {
            word: b.parameter(word, [vocabulary.rows().len(), h]),
            position: b.tensor("encoder.embeddings.position", [config.positions, h])?,
            token_type,
            norm: b.norm("encoder.embeddings.norm", h)?,
        };
        let block = |number: usize| {
            let at = |part: &str| format!("encoder.blocks.{number}.{part}");
            let linear = |matrix: Matrix| {
                let [from, to] = matrix.sides(config);
                let own = b.linear(&at(matrix.name()), from, to)?;
                Ok::<_, ModelError>(Linear { lora: added.lora(config, number, matrix)?, ..own })
            };
            Ok(Block {
                query: linear(Matrix::Query)?,
                key: linear(Matrix::Key)?,
                value: linear(Matrix::Value)?,
                attention_output: linear(Matrix::AttentionOutput)?,
                attention_norm: b.norm(&at("attention_norm"), h)?,
                intermediate: linear(Matrix::Intermediate)?,
                output: linear(Matrix::Output)?,
                adapter: added.adapter(config, number)?,
                output_norm: b.norm(&at("output_norm"), h)?,
            })
        };
        let blocks = (0..config.depth).map(block).collect::<Result<_, ModelError>>()?;
        Ok(Self { embeddings, blocks })
    }

    /// Returns the last hidden states.
    ///
    /// # Shapes
    /// N subwords -> \[N, H\]
    #[must_use]
    pub fn forward(&self, config: &EncoderConfig, input: &PackedInput, pass: &Pass) -> Tensor<B, 2> {
        let x = self.embed(config, input, pass);
        self.forward_blocks(config, x, 0..self.blocks.len(), &input.pack, pass)
    }

    /// Returns the embeddings: the input of the first block.
    ///
    /// # Shapes
    /// N subwords -> \[N, H\]
    #[must_use]
    pub fn embed(&self, config: &EncoderConfig, input: &PackedInput, pass: &Pass) -> Tensor<B, 2> {
        let tables = &self.embeddings;
        let mut x =
            B::k_gather(tables.word.val(), &input.ids) + B::k_gather(tables.position.val(), &input.positions);
        if let Some(token_type) = &tables.token_type {
            x = B::k_add_row(x, token_type.val().narrow(0, 0, 1));
        }
        let rows = input.pack.rows();
        let x = B::k_drop_add_norm(x, None, tables.norm.parts(), config.norm_eps, Dropout::OFF, rows);
        B::k_dropout(x, pass.embeddings, rows)
    }

    /// Returns the output of consecutive blocks, given the input of the lowest one.
    ///
    /// # Shapes
    /// \[N, H\] -> \[N, H\]
    #[must_use]
    pub fn forward_blocks(
        &self,
        config: &EncoderConfig,
        x: Tensor<B, 2>,
        blocks: Range<usize>,
        pack: &Pack,
        pass: &Pass,
    ) -> Tensor<B, 2> {
        let steps = self.blocks[blocks.clone()].iter().zip(&pass.blocks[blocks]);
        steps.fold(x, |x, (block, drop)| block.forward(x, config, pack, drop, pass.precision, None))
    }
}
