//! An encoder with heads: a tagger of words, a classifier of sentences, or several of both.

use burn::module::Module;
use burn::prelude::*;
use frostline_kernels::Kernels;

use crate::linear::Builder;
use crate::{
    Encoder, EncoderConfig, Head, HeadShape, Mix, ModelError, PackedInput, ParameterSource, Pass, Vocabulary,
};

/// An encoder with heads.
#[derive(Module, Debug)]
pub struct Network<B: Backend> {
    /// The encoder.
    pub encoder: Encoder<B>,
    /// The heads, at least one.
    pub heads: Vec<Head<B>>,
    /// The mix of all blocks that replaces the last block's output as the heads' input, if added.
    pub mix: Option<Mix<B>>,
}

impl<B: Kernels> Network<B> {
    /// Builds a model; encoder and heads may come from different sources. A pooler comes from the
    /// encoder's source if it has one.
    ///
    /// # Errors
    /// If a source lacks a parameter or has it in another shape.
    pub fn build(
        config: &EncoderConfig,
        vocabulary: &Vocabulary,
        heads: &[HeadShape],
        [encoder, head]: [&dyn ParameterSource; 2],
        device: &B::Device,
    ) -> Result<Self, ModelError> {
        let build = |shape| Head::build(shape, config, [encoder, head], device);
        Ok(Self {
            encoder: Encoder::build(config, vocabulary, [encoder, head], device)?,
            heads: heads.iter().map(build).collect::<Result<_, _>>()?,
            mix: Builder { source: head, device }.mix(config)?,
        })
    }

    /// One row of logits of a head per label position.
    ///
    /// # Shapes
    /// N subwords, M label rows below N -> \[M, labels\]
    #[must_use]
    pub fn forward(
        &self,
        head: usize,
        config: &EncoderConfig,
        input: &PackedInput,
        pass: &Pass,
    ) -> Tensor<B, 2> {
        let x = self.encoder.embed(config, input, pass);
        let x = self.features(0, config, x, input, pass);
        self.heads[head].forward(x, pass, &input.labels.identities)
    }

    /// Returns the input of a head at the label rows, from `x`: the input of block `first`, or with `first`
    /// equal to the depth the encoder's output.
    ///
    /// # Panics
    /// If the model has a mix and `first` is not 0.
    ///
    /// # Shapes
    /// \[N, H\], M label rows below N -> \[M, H\]
    #[must_use]
    pub fn features(
        &self,
        first: usize,
        config: &EncoderConfig,
        x: Tensor<B, 2>,
        input: &PackedInput,
        pass: &Pass,
    ) -> Tensor<B, 2> {
        if let Some(mix) = &self.mix {
            return mix.forward(self.layers(first, config, x, input, pass));
        }
        let encoder = &self.encoder;
        match encoder.blocks[first..].split_last() {
            None => B::k_gather(x, &input.labels.rows),
            // The last block is needed only at the label rows.
            Some((last, _)) => {
                let top = encoder.blocks.len() - 1;
                let x = encoder.forward_blocks(config, x, first..top, &input.pack, pass);
                last.forward(x, config, &input.pack, &pass.blocks[top], pass.precision, Some(&input.labels))
            }
        }
    }

    /// Returns the output of the embeddings and of each block at the label rows.
    ///
    /// # Panics
    /// If `first` is not 0: `x` must be the embeddings' output.
    ///
    /// # Shapes
    /// \[N, H\], M label rows below N -> depth + 1 of \[M, H\]
    #[must_use]
    pub fn layers(
        &self,
        first: usize,
        config: &EncoderConfig,
        x: Tensor<B, 2>,
        input: &PackedInput,
        pass: &Pass,
    ) -> Vec<Tensor<B, 2>> {
        assert_eq!(first, 0, "every block's output is needed, but the input is that of block {first}");
        let mut layers = vec![B::k_gather(x.clone(), &input.labels.rows)];
        let mut x = x;
        for block in 0..self.encoder.blocks.len() {
            x = self.encoder.forward_blocks(config, x, block..block + 1, &input.pack, pass);
            layers.push(B::k_gather(x.clone(), &input.labels.rows));
        }
        layers
    }

    /// Returns the device of the model.
    #[must_use]
    pub fn device(&self) -> B::Device {
        self.heads[0].classifier.bias.lazy_device()
    }
}

impl<B: Kernels> Head<B> {
    fn build(
        shape: &HeadShape,
        config: &EncoderConfig,
        [encoder, head]: [&dyn ParameterSource; 2],
        device: &B::Device,
    ) -> Result<Self, ModelError> {
        let (name, h) = (&shape.name, config.hidden);
        let from_head = Builder { source: head, device };
        Ok(Self {
            dense: match shape.dense_path(encoder) {
                None => None,
                Some((path, true)) => Some(Builder { source: encoder, device }.linear(&path, h, h)?),
                Some((path, false)) => Some(from_head.linear(&path, h, h)?),
            },
            classifier: from_head.linear(name, h, shape.labels)?,
            kind: shape.kind,
        })
    }
}
