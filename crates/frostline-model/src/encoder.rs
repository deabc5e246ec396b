//! Transformer encoders over packed sentences, as their [`Architecture`](crate::Architecture) describes them.

use std::ops::Range;

use burn::module::{Module, Param};
use burn::prelude::*;
use frostline_kernels::{
    Activation, AddNorm, AttentionForm, Dropout, Kernels, Pack, Picked, Precision, RelativePositions, Rows,
};

use crate::adapter::Adapter;
use crate::forms::AttentionForms;
use crate::linear::{Builder, Linear, Norm, add_norm};
use crate::{
    EncoderConfig, Matrix, ModelError, NormPlace, PackedInput, ParameterSource, RelativeTable, Vocabulary,
};

/// Word, position and token-type tables, and the norm of their sum.
#[derive(Module, Debug)]
pub struct Embeddings<B: Backend> {
    /// \[rows kept, E\], see [`Vocabulary`].
    pub word: Param<Tensor<B, 2>>,
    /// \[positions, E\], unless positions are rotary.
    pub position: Option<Param<Tensor<B, 2>>>,
    /// \[token types, E\]; only row 0 is used.
    pub token_type: Option<Param<Tensor<B, 2>>>,
    /// \[2 × span, H\], if attention has relative positions; all blocks share it.
    pub relative: Option<Param<Tensor<B, 2>>>,
    /// The norm of the rows of relative positions.
    pub relative_norm: Option<Norm<B>>,
    /// The norm of the sum, if there is one.
    pub norm: Option<Norm<B>>,
    /// \[E, H\], if the tables are not as wide as the blocks.
    pub projection: Option<Linear<B>>,
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
    /// The norm after attention, or before it.
    pub attention_norm: Option<Norm<B>>,
    /// The first layer of the feed-forward part, which the activation follows.
    pub intermediate: Linear<B>,
    /// The layer by which the activation is multiplied, if the feed-forward part is gated.
    pub gate: Option<Linear<B>>,
    /// The last layer of the feed-forward part.
    pub output: Linear<B>,
    /// The bottleneck after it, if one was added.
    pub adapter: Option<Adapter<B>>,
    /// The norm after the feed-forward part, or before it.
    pub output_norm: Norm<B>,
    /// The form of attention.
    #[module(skip)]
    pub form: AttentionForm,
}

/// A transformer encoder.
#[derive(Module, Debug)]
pub struct Encoder<B: Backend> {
    /// The embedding tables.
    pub embeddings: Embeddings<B>,
    /// The blocks, from the input to the output; `None` for a block that has the weights of an earlier one.
    pub blocks: Vec<Option<Block<B>>>,
    /// The norm after the last block, if norms come before the layers.
    pub final_norm: Option<Norm<B>>,
    /// The rows of relative positions by distance.
    #[module(skip)]
    pub relative_positions: Option<RelativePositions>,
}

/// The input that all blocks of a forward pass share.
pub(crate) struct Surroundings<'a, B: Backend> {
    pub config: &'a EncoderConfig,
    pub pack: &'a Pack,
    pub precision: Precision,
    relative: Option<Relative<'a, B>>,
}

/// The rows of relative positions that a pass needs.
struct Relative<'a, B: Backend> {
    /// \[R, H\]
    rows: Tensor<B, 2>,
    identities: Rows,
    positions: &'a RelativePositions,
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
    /// After the feed-forward part; before its last layer if it is gated.
    pub output: Dropout,
    /// On the rows of relative positions, of which the block makes keys and queries.
    pub relative: Dropout,
}

impl BlockDropout {
    /// No dropout.
    pub const OFF: Self = Self {
        attention: Dropout::OFF,
        attention_output: Dropout::OFF,
        output: Dropout::OFF,
        relative: Dropout::OFF,
    };
}

impl Pass {
    /// Returns a pass in f32 without dropout.
    #[must_use]
    pub fn plain(depth: usize) -> Self {
        Self {
            precision: Precision::F32,
            embeddings: Dropout::OFF,
            blocks: vec![BlockDropout::OFF; depth],
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
        around: &Surroundings<'_, B>,
        drop: &BlockDropout,
        only: Option<&Picked>,
    ) -> Tensor<B, 2> {
        let Surroundings { config, pack, precision, .. } = *around;
        let norms = config.architecture.norms;
        let normed = match (norms, &self.attention_norm) {
            (NormPlace::Before, Some(norm)) => norm.forward(x.clone(), config.norm_eps, pack.rows()),
            _ => x.clone(),
        };
        let context = self.attend(normed, around, drop);
        let (context, x, rows) = match only {
            None => (context, x, pack.rows()),
            Some(only) => (B::k_gather(context, &only.rows), B::k_gather(x, &only.rows), &only.identities),
        };
        match norms {
            NormPlace::After => self.norm_after([context, x], config, drop, precision, rows),
            NormPlace::Before => self.norm_before([context, x], config, drop, precision, rows),
        }
    }

    /// Returns the context of attention, \[N, H\] -> \[N, H\].
    fn attend(&self, x: Tensor<B, 2>, around: &Surroundings<'_, B>, drop: &BlockDropout) -> Tensor<B, 2> {
        let Surroundings { pack, precision, .. } = *around;
        let (layers, dropout) = ([&self.query, &self.key, &self.value], drop.attention);
        if let Some(Relative { rows, identities, positions }) = &around.relative {
            let qkv = layers.map(|part| part.forward(x.clone(), precision));
            let rows = B::k_dropout(rows.clone(), drop.relative, identities);
            let relative = [&self.key, &self.query].map(|part| part.forward(rows.clone(), precision));
            return B::k_relative_attention(qkv, relative, self.form.heads, positions, pack, dropout);
        }
        let (heads, key_heads) = (around.config.heads, around.config.key_heads);
        if key_heads < heads {
            let [q, k, v] = layers.map(|part| part.forward(x.clone(), precision));
            let [k, v] = [k, v].map(|part| B::k_repeat_heads(part, key_heads, heads));
            return B::k_form_attention([q, k, v], &self.form, pack, dropout);
        }
        match layers.map(Linear::weight_and_bias) {
            [Some(query), Some(key), Some(value)] => {
                let layers = [query, key, value];
                B::k_form_self_attention(x, layers, &self.form, pack, dropout, precision)
            }
            _ => {
                let qkv = layers.map(|part| part.forward(x.clone(), precision));
                B::k_form_attention(qkv, &self.form, pack, dropout)
            }
        }
    }

    /// Returns the block's output from the context of attention and the block's input, with a norm after each residual.
    fn norm_after(
        &self,
        [context, x]: [Tensor<B, 2>; 2],
        config: &EncoderConfig,
        drop: &BlockDropout,
        precision: Precision,
        rows: &Rows,
    ) -> Tensor<B, 2> {
        let add = |residual, norm: &Norm<B>, dropout| AddNorm {
            residual,
            affine: norm.parts(),
            eps: config.norm_eps,
            dropout,
            rows,
        };
        let attention_norm = self.attention_norm.as_ref().expect("a norm follows attention");
        let after_attention = add(x, attention_norm, drop.attention_output);
        let x = self.attention_output.forward_add_norm(context, after_attention, precision);
        let inner = self.inner(x.clone(), config.architecture.activation, precision);
        let after_all = add(x, &self.output_norm, drop.output);
        match &self.adapter {
            None => self.output.forward_add_norm(inner, after_all, precision),
            Some(adapter) => {
                add_norm(adapter.forward(self.output.forward(inner, precision), precision), after_all)
            }
        }
    }

    /// Returns the same with norms before the layers: the sum of the residuals is never normed.
    fn norm_before(
        &self,
        [context, x]: [Tensor<B, 2>; 2],
        config: &EncoderConfig,
        drop: &BlockDropout,
        precision: Precision,
        rows: &Rows,
    ) -> Tensor<B, 2> {
        let context = self.attention_output.forward(context, precision);
        let x = B::k_drop_add(context, x, drop.attention_output, rows);
        let normed = self.output_norm.forward(x.clone(), config.norm_eps, rows);
        let inner = self.inner(normed, config.architecture.activation, precision);
        let [inside, outside] = match &self.gate {
            Some(_) => [drop.output, Dropout::OFF],
            None => [Dropout::OFF, drop.output],
        };
        let inner = B::k_dropout(inner, inside, rows);
        let output = self.output.forward(inner, precision);
        let output = match &self.adapter {
            None => output,
            Some(adapter) => adapter.forward(output, precision),
        };
        B::k_drop_add(output, x, outside, rows)
    }

    /// Returns the input of the last layer of the feed-forward part, \[M, H\] -> \[M, I\].
    fn inner(&self, x: Tensor<B, 2>, activation: Activation, precision: Precision) -> Tensor<B, 2> {
        match &self.gate {
            None => self.intermediate.forward_activation(x, activation, precision),
            Some(gate) => {
                let factor = gate.forward(x.clone(), precision);
                B::k_gated(self.intermediate.forward(x, precision), factor, activation)
            }
        }
    }
}

impl<B: Kernels> Embeddings<B> {
    fn build(
        config: &EncoderConfig,
        vocabulary: &Vocabulary,
        builder: &Builder<'_, B>,
    ) -> Result<Self, ModelError> {
        let e = config.embedding;
        let path = |name: &str| format!("encoder.embeddings.{name}");
        let word = builder.source.rows(&path("word"), [config.vocabulary, e], vocabulary.rows())?;
        let table =
            |name: &str, has: bool, rows| has.then(|| builder.tensor(&path(name), [rows, e])).transpose();
        let (projected, relative) = (e != config.hidden, config.architecture.relative.as_ref());
        Ok(Self {
            word: builder.parameter(word, [vocabulary.rows().len(), e]),
            position: table("position", config.architecture.learned_positions, config.positions)?,
            token_type: table("token_type", config.token_types > 0, config.token_types)?,
            relative: relative
                .map(|table| builder.tensor(&path("relative"), [2 * table.span(), config.hidden]))
                .transpose()?,
            relative_norm: RelativeTable::is_normed(relative)
                .then(|| builder.norm(&path("relative_norm"), config, config.hidden))
                .transpose()?,
            norm: config
                .architecture
                .embedding_norm
                .then(|| builder.norm(&path("norm"), config, e))
                .transpose()?,
            projection: projected
                .then(|| builder.linear(&path("projection"), [e, config.hidden], true))
                .transpose()?,
        })
    }
}

impl<B: Kernels> Block<B> {
    /// Builds a block; what a policy adds to it comes from the second builder.
    fn build(
        config: &EncoderConfig,
        number: usize,
        form: AttentionForm,
        [b, added]: [&Builder<'_, B>; 2],
    ) -> Result<Self, ModelError> {
        let (architecture, h) = (&config.architecture, config.hidden);
        let path = |part: &str| format!("encoder.blocks.{number}.{part}");
        let linear = |matrix: Matrix| {
            let own = b.linear(&path(matrix.name()), matrix.sides(config), matrix.has_bias(config))?;
            let lora = added.lora(config, number, matrix, &own.weight.val())?;
            Ok::<_, ModelError>(Linear { lora, ia3: added.ia3(config, number, matrix)?, ..own })
        };
        let has_attention_norm = architecture.has_attention_norm(number);
        Ok(Self {
            query: linear(Matrix::Query)?,
            key: linear(Matrix::Key)?,
            value: linear(Matrix::Value)?,
            attention_output: linear(Matrix::AttentionOutput)?,
            attention_norm: has_attention_norm
                .then(|| b.norm(&path("attention_norm"), config, h))
                .transpose()?,
            intermediate: linear(Matrix::Intermediate)?,
            gate: architecture.gated.then(|| linear(Matrix::Gate)).transpose()?,
            output: linear(Matrix::Output)?,
            adapter: added.adapter(config, number)?,
            output_norm: b.norm(&path("output_norm"), config, h)?,
            form,
        })
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
        let forms = AttentionForms::new(config);
        let block = |number| {
            let owns_weights = config.architecture.owns_weights(number);
            let build = || Block::build(config, number, forms.of_block(number), [&b, &added]);
            owns_weights.then(build).transpose()
        };
        let final_norm = config.architecture.has_final_norm();
        Ok(Self {
            embeddings: Embeddings::build(config, vocabulary, &b)?,
            blocks: (0..config.depth).map(block).collect::<Result<_, ModelError>>()?,
            final_norm: final_norm
                .then(|| b.norm("encoder.final_norm", config, config.hidden))
                .transpose()?,
            relative_positions: config
                .architecture
                .relative
                .map(|table| RelativePositions::new(table.buckets, table.farthest, config.positions)),
        })
    }

    /// Returns the last hidden states.
    ///
    /// # Shapes
    /// N subwords -> \[N, H\]
    #[must_use]
    pub fn forward(&self, config: &EncoderConfig, input: &PackedInput, pass: &Pass) -> Tensor<B, 2> {
        let x = self.embed(config, input, pass);
        let x = self.forward_blocks(config, x, 0..self.blocks.len(), &input.pack, pass);
        self.finish(config, x, input.pack.rows())
    }

    /// Returns what follows the last block: its output, or the norm of its output.
    ///
    /// # Shapes
    /// \[M, H\] -> \[M, H\]
    #[must_use]
    pub fn finish(&self, config: &EncoderConfig, x: Tensor<B, 2>, rows: &Rows) -> Tensor<B, 2> {
        match &self.final_norm {
            None => x,
            Some(norm) => norm.forward(x, config.norm_eps, rows),
        }
    }

    /// Returns the embeddings: the input of the first block.
    ///
    /// # Shapes
    /// N subwords -> \[N, H\]
    #[must_use]
    pub fn embed(&self, config: &EncoderConfig, input: &PackedInput, pass: &Pass) -> Tensor<B, 2> {
        let tables = &self.embeddings;
        let mut x = B::k_gather(tables.word.val(), &input.ids);
        if let Some(position) = &tables.position {
            x = x + B::k_gather(position.val(), &input.positions);
        }
        if let Some(token_type) = &tables.token_type {
            x = B::k_add_row(x, token_type.val().narrow(0, 0, 1));
        }
        let rows = input.pack.rows();
        let x = match &tables.norm {
            None => x,
            Some(norm) => norm.forward(x, config.norm_eps, rows),
        };
        let x = B::k_dropout(x, pass.embeddings, rows);
        match &tables.projection {
            None => x,
            Some(projection) => projection.forward(x, pass.precision),
        }
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
        let around = self.surroundings(config, pack, pass);
        self.forward_blocks_within(x, blocks, &around, pass)
    }

    /// [`Self::forward_blocks`], with the input that all blocks share.
    pub(crate) fn forward_blocks_within(
        &self,
        x: Tensor<B, 2>,
        blocks: Range<usize>,
        around: &Surroundings<'_, B>,
        pass: &Pass,
    ) -> Tensor<B, 2> {
        blocks.fold(x, |x, number| {
            self.block(around.config, number).forward(x, around, &pass.blocks[number], None)
        })
    }

    /// Returns the block of a number, or the earlier one whose weights it has.
    pub(crate) fn block(&self, config: &EncoderConfig, number: usize) -> &Block<B> {
        let owner = config.architecture.owner(number);
        self.blocks[owner].as_ref().expect("an owner of weights is built")
    }

    /// Returns the input that all blocks share, with the rows of relative positions that the longest sentence needs.
    pub(crate) fn surroundings<'a>(
        &'a self,
        config: &'a EncoderConfig,
        pack: &'a Pack,
        pass: &Pass,
    ) -> Surroundings<'a, B> {
        let tables = &self.embeddings;
        let relative = tables.relative.as_ref().zip(self.relative_positions.as_ref());
        let relative = relative.map(|(table, positions)| {
            let numbers: Vec<u32> = positions.rows(pack.longest()).map(|row| row as u32).collect();
            let identities = Rows::new(numbers.iter().map(|&row| u64::from(row)).collect());
            let rows = B::k_gather(table.val(), &numbers.into());
            let rows = match &tables.relative_norm {
                None => rows,
                Some(norm) => norm.forward(rows, config.norm_eps, &identities),
            };
            Relative { rows, identities, positions }
        });
        Surroundings { config, pack, precision: pass.precision, relative }
    }
}
