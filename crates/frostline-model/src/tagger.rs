//! A token classifier: an encoder, dropout, and one linear layer over speaking positions.

use burn::module::Module;
use burn::prelude::*;
use frostline_kernels::Kernels;

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
        let x = self.encoder.forward(config, input, pass);
        let x = B::k_gather(x, speaking);
        let x = B::k_dropout(x, pass.head, &input.pack.rows().select(speaking));
        self.head.forward(x, pass.precision)
    }
}
