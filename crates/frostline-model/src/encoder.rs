//! DistilBERT, BERT and RoBERTa over packed sentences. Post-LayerNorm transformers; they differ in
//! token types, in where positions start, in one dropout site and in the names of their weights.

use std::ops::Range;

use burn::module::{Module, Param};
use burn::prelude::*;
use frostline_kernels::{Dropout, Kernels, Pack, Precision};

use crate::{Adapter, EncoderConfig, Lora, Matrix, ModelError, Source, Vocabulary};

/// A linear layer.
#[derive(Module, Debug)]
pub struct Linear<B: Backend> {
    /// \[in, out\]
    pub weight: Param<Tensor<B, 2>>,
    /// \[out\]
    pub bias: Param<Tensor<B, 1>>,
    /// What is added to the weight, where something is.
    pub lora: Option<Lora<B>>,
}

/// A LayerNorm.
#[derive(Module, Debug)]
pub struct Norm<B: Backend> {
    /// \[H\]
    pub gamma: Param<Tensor<B, 1>>,
    /// \[H\]
    pub beta: Param<Tensor<B, 1>>,
}

/// Word, position and token-type tables, and the LayerNorm of their sum.
#[derive(Module, Debug)]
pub struct Embeddings<B: Backend> {
    /// \[rows carried, H\], see [`Vocabulary`].
    pub word: Param<Tensor<B, 2>>,
    /// \[positions, H\]
    pub position: Param<Tensor<B, 2>>,
    /// \[token types, H\]; only row 0 is used.
    pub token_type: Option<Param<Tensor<B, 2>>>,
    /// Of the sum.
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
    /// What attention's context goes through.
    pub attention_output: Linear<B>,
    /// After attention.
    pub attention_norm: Norm<B>,
    /// Into the feed-forward layer.
    pub intermediate: Linear<B>,
    /// Out of the feed-forward layer.
    pub output: Linear<B>,
    /// What was added after it, where something was.
    pub adapter: Option<Adapter<B>>,
    /// After the feed-forward layer.
    pub output_norm: Norm<B>,
}

/// A transformer encoder.
#[derive(Module, Debug)]
pub struct Encoder<B: Backend> {
    /// The tables.
    pub embeddings: Embeddings<B>,
    /// The blocks, from the input up.
    pub blocks: Vec<Block<B>>,
}

/// A packed batch.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The compact row of every subword, N.
    pub ids: &'a [u32],
    /// The position of every subword in its sentence, N; 0 is the first in every family.
    pub positions: &'a [u32],
    /// Where the sentences are.
    pub pack: &'a Pack,
}

/// How one forward pass is computed: its precision, and what it drops.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Of the linear layers.
    pub precision: Precision,
    /// Dropped after the embeddings.
    pub embeddings: Dropout,
    /// Dropped in each block.
    pub blocks: Vec<BlockDropout>,
    /// Dropped before the head.
    pub head: Dropout,
}

/// What is dropped in one block.
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
    /// In f32, without dropout.
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

/// Builds tensors from a [`Source`].
pub(crate) struct Builder<'a, B: Backend> {
    pub source: &'a dyn Source,
    pub device: &'a B::Device,
}

impl<B: Backend> Builder<'_, B> {
    pub fn tensor<const D: usize>(
        &self,
        path: &str,
        shape: [usize; D],
    ) -> Result<Param<Tensor<B, D>>, ModelError> {
        Ok(self.parameter(self.source.values(path, &shape)?, shape))
    }

    fn parameter<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<B, D>> {
        Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), self.device))
    }

    pub fn linear(&self, path: &str, from: usize, to: usize) -> Result<Linear<B>, ModelError> {
        Ok(Linear {
            weight: self.tensor(&format!("{path}.weight"), [from, to])?,
            bias: self.tensor(&format!("{path}.bias"), [to])?,
            lora: None,
        })
    }

    fn norm(&self, path: &str, h: usize) -> Result<Norm<B>, ModelError> {
        Ok(Norm {
            gamma: self.tensor(&format!("{path}.gamma"), [h])?,
            beta: self.tensor(&format!("{path}.beta"), [h])?,
        })
    }
}

impl<B: Kernels> Linear<B> {
    /// x \[N, in\] -> \[N, out\].
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, precision: Precision) -> Tensor<B, 2> {
        let own = |x| B::k_linear(x, self.weight.val(), self.bias.val(), precision);
        match &self.lora {
            None => own(x),
            Some(lora) => own(x.clone()) + lora.forward(x, precision),
        }
    }
}

impl<B: Kernels> Norm<B> {
    fn parts(&self) -> [Tensor<B, 1>; 2] {
        [self.gamma.val(), self.beta.val()]
    }
}

impl<B: Kernels> Block<B> {
    /// With `only`, the block's output at these rows alone: what comes after attention knows no
    /// neighbours.
    pub(crate) fn forward(
        &self,
        x: Tensor<B, 2>,
        config: &EncoderConfig,
        pack: &Pack,
        drop: &BlockDropout,
        precision: Precision,
        only: Option<&[u32]>,
    ) -> Tensor<B, 2> {
        let linear = |part: &Linear<B>, x| part.forward(x, precision);
        let qkv = [&self.query, &self.key, &self.value].map(|part| linear(part, x.clone()));
        let context = B::k_attention(qkv, config.heads, pack, drop.attention);
        let (context, x, rows) = match only {
            None => (context, x, pack.rows().clone()),
            Some(only) => (B::k_gather(context, only), B::k_gather(x, only), pack.rows().select(only)),
        };
        let norm = |x, residual, norm: &Norm<B>, drop| {
            B::k_drop_add_norm(x, Some(residual), norm.parts(), config.norm_eps, drop, &rows)
        };
        let context = linear(&self.attention_output, context);
        let x = norm(context, x, &self.attention_norm, drop.attention_output);
        let inner = linear(&self.output, B::k_gelu(linear(&self.intermediate, x.clone())));
        let inner = match &self.adapter {
            None => inner,
            Some(adapter) => adapter.forward(inner, precision),
        };
        norm(inner, x, &self.output_norm, drop.output)
    }
}

impl<B: Kernels> Encoder<B> {
    /// Builds an encoder whose word table carries the vocabulary's rows. What the config's `extras`
    /// ask for comes from a source of its own.
    ///
    /// # Errors
    /// Where the source lacks a parameter or has another shape.
    pub fn build(
        config: &EncoderConfig,
        vocabulary: &Vocabulary,
        [source, added]: [&dyn Source; 2],
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

    /// The last hidden states.
    ///
    /// # Shapes
    /// N subwords -> \[N, H\]
    #[must_use]
    pub fn forward(&self, config: &EncoderConfig, input: Input<'_>, pass: &Pass) -> Tensor<B, 2> {
        let x = self.embed(config, input, pass);
        self.climb(config, x, 0..self.blocks.len(), input.pack, pass)
    }

    /// What goes into the first block.
    ///
    /// # Shapes
    /// N subwords -> \[N, H\]
    #[must_use]
    pub fn embed(&self, config: &EncoderConfig, input: Input<'_>, pass: &Pass) -> Tensor<B, 2> {
        let tables = &self.embeddings;
        let positions: Vec<u32> =
            input.positions.iter().map(|position| position + config.first_position as u32).collect();
        let mut x =
            B::k_gather(tables.word.val(), input.ids) + B::k_gather(tables.position.val(), &positions);
        if let Some(token_type) = &tables.token_type {
            x = x + B::k_gather(token_type.val(), &[0]);
        }
        let rows = input.pack.rows();
        let x = B::k_drop_add_norm(x, None, tables.norm.parts(), config.norm_eps, Dropout::OFF, rows);
        B::k_dropout(x, pass.embeddings, rows)
    }

    /// What comes out of some consecutive blocks, given what goes into the lowest of them.
    ///
    /// # Shapes
    /// \[N, H\] -> \[N, H\]
    #[must_use]
    pub fn climb(
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
