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
pub(crate) struct Taken {
    /// Mean over its labels, in nats; 0 where there is none.
    pub loss: f32,
    /// Of the gradients, before clipping.
    pub norms: Norms,
    /// Whether there was a gradient, and so an update.
    pub updated: bool,
}

impl Step<'_> {
    /// Takes the step.
    pub fn take<B: Train>(
        mut self,
        model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
    ) -> (Network<B>, Taken) {
        if self.batch.label_rows.is_empty() {
            return (model, Taken { loss: 0.0, norms: Norms::default(), updated: false });
        }
        let forward = trace_span!("forward").entered();
        let logits = logits(&model, self.head, self.encoder, &mut self.batch, self.pass);
        let labels = &self.batch.labels;
        let mean = B::k_cross_entropy(logits, labels).div_scalar(labels.len() as f64);
        let loss: f32 = mean.clone().into_scalar().elem();
        drop(forward);
        if !self.learns {
            return (model, Taken { loss, norms: Norms::default(), updated: false });
        }
        let weighted = if self.weight == 1.0 { mean } else { mean.mul_scalar(self.weight) };
        let backward = || GradientsParams::from_grads(weighted.backward(), &model);
        let gradients = trace_span!("backward").in_scope(backward);
        let (model, norms) = trace_span!("update").in_scope(|| optimizer.step(self.lr, model, gradients));
        (model, Taken { loss, norms, updated: true })
    }
}
