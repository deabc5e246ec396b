//! A token classifier: an encoder, dropout, and one linear layer over speaking positions.

use burn::module::Module;
use burn::prelude::*;
use frostline_kernels::{Kernels, Pack};

use crate::encoder::Builder;
use crate::{Encoder, EncoderConfig, Input, Linear, ModelError, Pass, Source, Vocabulary};

/// An encoder with a tagging head.
#[derive(Module, Debug)]
pub struct Tagger<B: Backend> {
    /// The encoder.
    pub encoder: Encoder<B>,
    /// \[H, tags\]
    pub head: Linear<B>,
}

impl<B: Kernels> Tagger<B> {
    /// Builds a tagger; encoder and head may come from different sources.
    ///
    /// # Errors
    /// Where a source lacks a parameter or has another shape.
    pub fn build(
        config: &EncoderConfig,
        vocabulary: &Vocabulary,
        tags: usize,
        [encoder, head]: [&dyn Source; 2],
        device: &B::Device,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            encoder: Encoder::build(config, vocabulary, encoder, device)?,
            head: Builder { source: head, device }.linear("head", config.hidden, tags)?,
        })
    }

    /// One row of logits per speaking position.
    ///
    /// # Shapes
    /// N subwords, M speaking rows below N -> \[M, tags\]
    #[must_use]
    pub fn forward(
        &self,
        config: &EncoderConfig,
        input: Input<'_>,
        speaking: &[u32],
        pass: &Pass,
    ) -> Tensor<B, 2> {
        let x = self.encoder.embed(config, input, pass);
        self.forward_from(0, config, x, input.pack, speaking, pass)
    }

    /// As [`Tagger::forward`], from the hidden states that go into the block `first`, or with
    /// `first` equal to the depth into the head.
    ///
    /// # Shapes
    /// \[N, H\], M speaking rows below N -> \[M, tags\]
    #[must_use]
    pub fn forward_from(
        &self,
        first: usize,
        config: &EncoderConfig,
        x: Tensor<B, 2>,
        pack: &Pack,
        speaking: &[u32],
        pass: &Pass,
    ) -> Tensor<B, 2> {
        let encoder = &self.encoder;
        let x = match encoder.blocks[first..].split_last() {
            None => B::k_gather(x, speaking),
            // The last block is needed where somebody speaks, and nowhere else.
            Some((last, _)) => {
                let top = encoder.blocks.len() - 1;
                let x = encoder.climb(config, x, first..top, pack, pass);
                last.forward(x, config, pack, &pass.blocks[top], pass.precision, Some(speaking))
            }
        };
        let x = B::k_dropout(x, pass.head, &pack.rows().select(speaking));
        self.head.forward(x, pass.precision)
    }
}
