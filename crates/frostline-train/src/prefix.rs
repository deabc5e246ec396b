//! The lowest part of an encoder where it is constant: its output for a dataset, and forward passes that
//! read it instead of computing it.
//!
//! Where the embeddings and the lowest blocks are frozen and nothing is dropped in them, their output is
//! a constant of the data.

use burn::prelude::*;
use frostline_kernels::Kernels;
use frostline_model::{EncoderConfig, Network, Pass};
use frostline_record::Settings;

use crate::batch::Batch;
use crate::passes::forward_passes;
use crate::{View, pass};

/// Computes what goes into block `blocks` for every subword of a dataset, and passes it on in the
/// order of its sentences, about `eval.batch_tokens` rows of H numbers at a time. Nothing is dropped. Where the view has the
/// output of some of these blocks, only those above are computed.
///
/// # Errors
/// Those of `take`.
pub fn compute_prefix<B: Kernels, E>(
    model: &Network<B>,
    config: &EncoderConfig,
    view: View<'_>,
    blocks: usize,
    settings: &Settings,
    take: &mut dyn FnMut(&[f32]) -> Result<(), E>,
) -> Result<(), E> {
    let pass = pass::scoring_pass(config, settings);
    let view = View { prefix: view.prefix.filter(|known| known.blocks <= blocks), ..view };
    let order: Vec<usize> = (0..view.data.examples.len()).collect();
    let states = |sentences: &[usize]| {
        let mut batch = Batch::new(config, view, sentences, true);
        let (first, x) = lowest_states(model, config, &mut batch, &pass);
        let x = model.encoder.forward_blocks(config, x, first..blocks, batch.input.pack(), &pass);
        x.into_data().into_vec::<f32>().expect("hidden states are f32")
    };
    forward_passes::<B, _, _>(view.data, &order, settings.eval.batch_tokens, states, |_, rows| take(&rows))
}

/// The lowest block that is not in a batch's prefix, and what goes into it, from the batch's subwords where it has no prefix.
fn lowest_states<B: Kernels>(
    model: &Network<B>,
    config: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
) -> (usize, Tensor<B, 2>) {
    match batch.prefix.take() {
        None => (0, model.encoder.embed(config, &batch.input, pass)),
        Some((blocks, states)) => (blocks, B::k_values(states, &model.device())),
    }
}

/// What goes into a head at a batch's label positions, from its subwords or from its prefix.
pub(crate) fn label_states<B: Kernels>(
    model: &Network<B>,
    config: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
) -> Tensor<B, 2> {
    let (first, x) = lowest_states(model, config, batch, pass);
    model.features(first, config, x, &batch.input, pass)
}

/// The logits at a batch's label positions.
pub(crate) fn compute_logits<B: Kernels>(
    model: &Network<B>,
    head: usize,
    config: &EncoderConfig,
    batch: &mut Batch,
    pass: &Pass,
) -> Tensor<B, 2> {
    let x = label_states(model, config, batch, pass);
    model.heads[head].forward(x, pass, &batch.input.label_rows().identities)
}
