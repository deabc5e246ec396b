//! One training step: forward, and backward and update where something learns from the batch.

use burn::optim::GradientsParams;
use burn::prelude::*;
use frostline_kernels::Train;
use frostline_model::{EncoderConfig, Network, Pass};
use tracing::trace_span;

use crate::batch::Batch;
use crate::prefix::logits;
use crate::{Norms, Optimizer};

/// A training step.
pub(crate) struct Step<'a> {
    pub encoder: &'a EncoderConfig,
    /// The task's head.
    pub head: usize,
    /// What the task's loss is multiplied with.
    pub weight: f64,
    pub batch: Batch,
    pub pass: &'a Pass,
    pub lr: f64,
    /// Whether something learns from this head's loss.
    pub learns: bool,
}

/// What a step found.
pub(crate) struct Taken<B: Backend> {
    /// Mean over its labels, in nats, still on the device; nothing where there is no label.
    pub loss: Option<Tensor<B, 1>>,
    /// Of the gradients, before clipping.
    pub norms: Norms<B>,
    /// Whether there was a gradient, and so an update.
    pub updated: bool,
}

impl Step<'_> {
    /// Takes the step.
    pub fn take<B: Train>(
        mut self,
        model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
    ) -> (Network<B>, Taken<B::InnerBackend>) {
        if self.batch.labels.is_empty() {
            return (model, Taken { loss: None, norms: Norms::NONE, updated: false });
        }
        let forward = trace_span!("forward").entered();
        let logits = logits(&model, self.head, self.encoder, &mut self.batch, self.pass);
        let labels = &self.batch.labels;
        let mean = B::k_cross_entropy(logits, labels).div_scalar(labels.len() as f64);
        let loss = Some(mean.clone().inner());
        drop(forward);
        if !self.learns {
            return (model, Taken { loss, norms: Norms::NONE, updated: false });
        }
        let weighted = if self.weight == 1.0 { mean } else { mean.mul_scalar(self.weight) };
        let backward = || GradientsParams::from_grads(weighted.backward(), &model);
        let gradients = trace_span!("backward").in_scope(backward);
        let (model, norms) = trace_span!("update").in_scope(|| optimizer.step(self.lr, model, gradients));
        (model, Taken { loss, norms, updated: true })
    }
}
