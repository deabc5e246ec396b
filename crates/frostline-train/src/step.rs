//! One training step: forward, backward and update.

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::prelude::*;
use frostline_freeze::{Group, LayerDecay, ResolvedPolicy};
use frostline_kernels::{Train, awake};
use frostline_model::{EncoderConfig, Network, Pass};
use frostline_random::Stream;
use frostline_record::Settings;
use tracing::trace_span;

use crate::batch::Batch;
use crate::prefix::compute_logits;
use crate::{Norms, Optimizer, Task, pass};

/// From so many multiplications in a step's largest product on, threads without work stay awake: several times as many as a product
/// needs to be shared by threads at all.
const SHARED_FROM: usize = 1 << 24;

/// A training step.
pub(crate) struct TrainingStep<'a> {
    encoder: &'a EncoderConfig,
    settings: &'a Settings,
    policy: &'a ResolvedPolicy,
    /// The task's head.
    head: usize,
    /// The factor of the task's loss.
    weight: f64,
    /// The batch, in parts whose gradients are summed.
    parts: Vec<Batch>,
    /// What the forward pass drops.
    pass: Pass,
    lr: f64,
}

/// The results of a step.
pub(crate) struct StepResult<B: Backend> {
    /// The mean loss of the step's labels in nats, still on the device; `None` for a batch without labels.
    pub loss: Option<Tensor<B, 1>>,
    /// The norms of the gradients, before clipping.
    pub norms: Norms<B>,
    /// The factor by which weight decay shrank the rows of the word table that have no gradient. It is 1 in a step without a
    /// gradient, and while the table is frozen.
    pub unread_rows: f64,
}

impl<'a> TrainingStep<'a> {
    /// Packs the batch of some of the task's train sentences. `masks` is the step's stream of dropout.
    pub fn new(
        encoder: &'a EncoderConfig,
        settings: &'a Settings,
        policy: &'a ResolvedPolicy,
        task: Task<'_>,
        sentences: &[usize],
        masks: Stream,
        lr: f64,
    ) -> Self {
        let parts = Batch::parts(encoder, task.train, sentences, settings.train.accumulate);
        let pass = pass::training_pass(masks, encoder, policy, settings);
        Self { encoder, settings, policy, head: task.head, weight: task.weight, parts, pass, lr }
    }

    /// Subwords of the batch.
    pub fn subwords(&self) -> usize {
        self.parts.iter().map(|part| part.input.pack().len()).sum()
    }

    /// Computes losses and gradients, and updates the model. The optimiser may keep the word table until it is
    /// [given back](Optimizer::give_back).
    pub fn forward_backward_update<B: Train>(
        self,
        model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
    ) -> (Network<B>, StepResult<B::InnerBackend>) {
        match self.is_shared::<B>() {
            true => awake(|| self.update_model(model, optimizer)),
            false => self.update_model(model, optimizer),
        }
    }

    /// Returns whether the step is large enough to be shared by threads that stay awake meanwhile.
    fn is_shared<B: Train>(&self) -> bool {
        let subwords = self.parts.iter().map(|part| part.input.pack().len()).max().unwrap_or(0);
        subwords * self.encoder.hidden * self.encoder.intermediate >= SHARED_FROM && !B::k_queues()
    }

    fn update_model<B: Train>(
        mut self,
        model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
    ) -> (Network<B>, StepResult<B::InnerBackend>) {
        let model = optimizer.lend(model, &mut self.parts);
        let (unread_rows, lr) = (self.unread_rows_decay(), self.lr);
        let (loss, gradients) = self.forward_backward(&model);
        let Some(gradients) = gradients else {
            return (model, StepResult { loss, norms: Norms::NONE, unread_rows: 1.0 });
        };
        let (model, norms) = trace_span!("update").in_scope(|| optimizer.step(lr, model, gradients));
        (model, StepResult { loss, norms, unread_rows })
    }

    /// Returns the mean loss of all labels, and its gradients if the policy trains something that this head reads.
    fn forward_backward<B: Train>(
        self,
        model: &Network<B>,
    ) -> (Option<Tensor<B::InnerBackend, 1>>, Option<GradientsParams>) {
        let Self { encoder, policy, head, weight, parts, pass, .. } = self;
        let labels: usize = parts.iter().map(|part| part.labels.len()).sum();
        let is_whole = parts.len() == 1;
        let mut loss: Option<Tensor<B::InnerBackend, 1>> = None;
        let mut gradients: Option<GradientsParams> = None;
        for mut part in parts.into_iter().filter(|part| !part.labels.is_empty()) {
            let mean = trace_span!("forward").in_scope(|| {
                let logits = compute_logits(model, head, encoder, &mut part, &pass);
                B::k_cross_entropy(logits, &part.labels).div_scalar(labels as f64)
            });
            let own = mean.clone().inner();
            loss = Some(loss.map_or(own.clone(), |sum| sum + own));
            if policy.learns_through(head) {
                let weighted = if weight == 1.0 { mean } else { mean.mul_scalar(weight) };
                let own = trace_span!("backward")
                    .in_scope(|| GradientsParams::from_grads(B::k_backward(&weighted, is_whole), model));
                gradients = Some(match gradients {
                    None => own,
                    Some(before) => sum_gradients(model, [before, own]),
                });
            }
        }
        (loss, gradients)
    }

    /// The factor by which weight decay shrinks rows of the word table without a gradient in this step.
    fn unread_rows_decay(&self) -> f64 {
        if self.policy.freezes("encoder.embeddings.word") {
            return 1.0;
        }
        let settings = &self.settings.optimizer;
        let rates = LayerDecay::new(settings.layer_decay, self.encoder.depth);
        1.0 - self.lr * rates.of(Group::Embeddings) * settings.decay()
    }
}

/// Waits until the model's device has done what was asked of it: some backends only queue their work.
pub(crate) fn wait_for_device<B: Train>(model: &Network<B>) {
    let _ = B::sync(&model.device());
}

/// Adds up two parts' gradients.
fn sum_gradients<B: Train>(model: &Network<B>, parts: [GradientsParams; 2]) -> GradientsParams {
    let mut sum = GradientsAccumulator::new();
    for part in parts {
        sum.accumulate(model, part);
    }
    sum.grads()
}
