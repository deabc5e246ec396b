//! An encoder with heads: a tagger of words, a classifier of sentences, or several of both.

use burn::module::Module;
use burn::prelude::*;
use frostline_kernels::{Kernels, Pack};

use crate::encoder::Builder;
use crate::{Encoder, EncoderConfig, Head, HeadShape, Input, Mix, ModelError, Pass, Source, Vocabulary};

/// An encoder with heads on top.
#[derive(Module, Debug)]
pub struct Tagger<B: Backend> {
    /// The encoder.
    pub encoder: Encoder<B>,
    /// At least one.
    pub heads: Vec<Head<B>>,
    /// What heads read instead of the last block's output, where it was added.
    pub mix: Option<Mix<B>>,
}

impl<B: Kernels> Tagger<B> {
    /// Builds a model; encoder and heads may come from different sources. A pooler comes with the
    /// encoder where its source has one.
    ///
    /// # Errors
    /// Where a source lacks a parameter or has another shape.
    pub fn build(
        config: &EncoderConfig,
        vocabulary: &Vocabulary,
        heads: &[HeadShape],
        [encoder, head]: [&dyn Source; 2],
        device: &B::Device,
    ) -> Result<Self, ModelError> {
        let build = |shape| Head::build(shape, config, [encoder, head], device);
        Ok(Self {
            encoder: Encoder::build(config, vocabulary, [encoder, head], device)?,
            heads: heads.iter().map(build).collect::<Result<_, _>>()?,
            mix: Builder { source: head, device }.mix(config)?,
        })
    }

    /// One row of logits of a head per speaking position.
    ///
    /// # Shapes
    /// N subwords, M speaking rows below N -> \[M, labels\]
    #[must_use]
    pub fn forward(
        &self,
        head: usize,
        config: &EncoderConfig,
        input: Input<'_>,
        speaking: &[u32],
        pass: &Pass,
    ) -> Tensor<B, 2> {
        let x = self.encoder.embed(config, input, pass);
        let x = self.features(0, config, x, input.pack, speaking, pass);
        self.heads[head].forward(x, pass, &input.pack.rows().select(speaking))
    }

    /// What goes into a head, from the hidden states that go into the block `first`, or with
    /// `first` equal to the depth into the head.
    ///
    /// # Shapes
    /// \[N, H\], M speaking rows below N -> \[M, H\]
    #[must_use]
    pub fn features(
        &self,
        first: usize,
        config: &EncoderConfig,
        x: Tensor<B, 2>,
        pack: &Pack,
        speaking: &[u32],
        pass: &Pass,
    ) -> Tensor<B, 2> {
        if let Some(mix) = &self.mix {
            return mix.forward(self.layers(first, config, x, pack, speaking, pass));
        }
        let encoder = &self.encoder;
        match encoder.blocks[first..].split_last() {
            None => B::k_gather(x, speaking),
            // The last block is needed where somebody speaks, and nowhere else.
            Some((last, _)) => {
                let top = encoder.blocks.len() - 1;
                let x = encoder.climb(config, x, first..top, pack, pass);
                last.forward(x, config, pack, &pass.blocks[top], pass.precision, Some(speaking))
            }
        }
    }

    /// What comes out of the embeddings and of each block, where somebody speaks.
    ///
    /// # Panics
    /// Where what goes in is not the embeddings' output: `first` is not 0.
    ///
    /// # Shapes
    /// \[N, H\], M speaking rows below N -> depth + 1 of \[M, H\]
    #[must_use]
    pub fn layers(
        &self,
        first: usize,
        config: &EncoderConfig,
        x: Tensor<B, 2>,
        pack: &Pack,
        speaking: &[u32],
        pass: &Pass,
    ) -> Vec<Tensor<B, 2>> {
        assert_eq!(first, 0, "every block's output is asked for, but some blocks were passed over");
        let mut layers = vec![B::k_gather(x.clone(), speaking)];
        let mut x = x;
        for block in 0..self.encoder.blocks.len() {
            x = self.encoder.climb(config, x, block..block + 1, pack, pass);
            layers.push(B::k_gather(x.clone(), speaking));
        }
        layers
    }

    /// Where the model is.
    #[must_use]
    pub fn device(&self) -> B::Device {
        self.heads[0].classifier.bias.val().device()
    }
}

impl<B: Kernels> Head<B> {
    fn build(
        shape: &HeadShape,
        config: &EncoderConfig,
        [encoder, head]: [&dyn Source; 2],
        device: &B::Device,
    ) -> Result<Self, ModelError> {
        let (name, h) = (&shape.name, config.hidden);
        let from_head = Builder { source: head, device };
        Ok(Self {
            dense: match shape.dense(encoder) {
                None => None,
                Some((path, true)) => Some(Builder { source: encoder, device }.linear(&path, h, h)?),
                Some((path, false)) => Some(from_head.linear(&path, h, h)?),
            },
            classifier: from_head.linear(name, h, shape.labels)?,
            kind: shape.kind,
        })
    }
}
