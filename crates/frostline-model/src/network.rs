//! An encoder with heads: a tagger of words, a classifier of sentences, or several of both.

use burn::module::Module;
use burn::prelude::*;
use frostline_kernels::Kernels;

use crate::linear::Builder;
use crate::{
    Encoder, EncoderConfig, Head, HeadKind, HeadShape, Mix, ModelError, PackedInput, ParameterSource, Pass,
    Vocabulary,
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
        match config.depth.checked_sub(1).filter(|top| first <= *top) {
            None => encoder.finish(config, B::k_gather(x, &input.labels.rows), &input.labels.identities),
            // The last block is needed only at the label rows.
            Some(top) => {
                let around = encoder.surroundings(config, &input.pack, pass);
                let x = encoder.forward_blocks_within(x, first..top, &around, pass);
                let last = encoder.block(config, top);
                let x = last.forward(x, &around, &pass.blocks[top], Some(&input.labels));
                encoder.finish(config, x, &input.labels.identities)
            }
        }
    }

    /// Returns the output of the embeddings and of each block at the label rows; of the last block, after the norm that follows
    /// it, if there is one.
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
        let around = self.encoder.surroundings(config, &input.pack, pass);
        let mut x = x;
        for block in 0..config.depth {
            x = self.encoder.forward_blocks_within(x, block..block + 1, &around, pass);
            layers.push(B::k_gather(x.clone(), &input.labels.rows));
        }
        let last = layers.pop().expect("an encoder has blocks");
        layers.push(self.encoder.finish(config, last, &input.labels.identities));
        layers
    }

    /// Returns the device of the model.
    #[must_use]
    pub fn device(&self) -> B::Device {
        self.heads[0].classifier.weight.lazy_device()
    }
}

impl<B: Kernels> Head<B> {
    fn build(
        shape: &HeadShape,
        config: &EncoderConfig,
        [encoder, head]: [&dyn ParameterSource; 2],
        device: &B::Device,
    ) -> Result<Self, ModelError> {
        let shape = shape.in_encoder(config);
        let (kind, h) = (shape.kind, config.hidden);
        let builder =
            |of_encoder: bool| Builder::<B> { source: if of_encoder { encoder } else { head }, device };
        let dense = (kind != HeadKind::Linear).then(|| {
            let (path, of_encoder) = shape.layer_path("dense", encoder);
            builder(of_encoder).linear(&path, [h, h], kind.has_dense_bias())
        });
        let norm = kind.has_norm().then(|| {
            let (path, of_encoder) = shape.layer_path("norm", encoder);
            builder(of_encoder).norm(&path, config, h)
        });
        Ok(Self {
            dense: dense.transpose()?,
            norm: norm.transpose()?,
            classifier: builder(false).linear(&shape.name, [h, shape.labels], true)?,
            kind,
            norm_eps: config.norm_eps,
        })
    }
}
