//! The lowest part of an encoder where it is constant: its output for a dataset, and forward passes that
//! read it instead of computing it.
//!
//! Where the embeddings and the lowest blocks are frozen and nothing is dropped in them, their output is
//! a constant of the data.

use burn::prelude::*;
use frostline_kernels::Kernels;
use frostline_model::{EncoderConfig, Network, Pass};
use frostline_record::Settings;

use crate::batch::{Batch, batches};
use crate::{Dataset, pass};

/// Computes what goes into block `blocks` for every subword of a dataset, and passes it on in the
/// order of its sentences, about `eval.batch_tokens` rows of H numbers at a time. Nothing is dropped.
///
/// # Errors
/// Those of `take`.
pub fn compute_prefix<B: Kernels, E>(
    model: &Network<B>,
    config: &EncoderConfig,
    data: &Dataset,
    blocks: usize,
    settings: &Settings,
    take: &mut dyn FnMut(&[f32]) -> Result<(), E>,
) -> Result<(), E> {
    let pass = pass::scoring(config, settings);
    let order: Vec<usize> = (0..data.examples.len()).collect();
    for sentences in batches(data, &order, settings.eval.batch_tokens) {
        let batch = Batch::new(config, data.into(), sentences, true);
        let x = model.encoder.embed(config, &batch.input, &pass);
        let x = model.encoder.forward_blocks(config, x, 0..blocks, batch.input.pack(), &pass);
        take(&x.into_data().into_vec::<f32>().expect("hidden states are f32"))?;
    }
    Ok(())
}

/// What goes into a head at a batch's label positions, from its subwords or from its prefix.
pub(crate) fn label_states<B: Kernels>(
    model: &Network<B>,
    config: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
) -> Tensor<B, 2> {
    let (first, x) = match batch.prefix.take() {
        None => (0, model.encoder.embed(config, &batch.input, pass)),
        Some((blocks, states)) => (blocks, B::k_values(states, &model.device())),
    };
    model.features(first, config, x, &batch.input, pass)
}

/// The logits at a batch's label positions.
pub(crate) fn logits<B: Kernels>(
    model: &Network<B>,
    head: usize,
    config: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
) -> Tensor<B, 2> {
    let x = label_states(model, config, batch, pass);
    model.heads[head].forward(x, pass, &batch.input.label_rows().identities)
}
