//! One training step: forward, and backward and update where something learns from the batch.

use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::prelude::*;
use frostline_kernels::{Kernels as _, Train, awake, compute_in_background};
use frostline_model::{EncoderConfig, Network, Pass};
use tracing::trace_span;

use crate::batch::Batch;
use crate::prefix::logits;
use crate::{Norms, Optimizer};

/// From so many multiplications in a step's largest product on, threads without work stay awake: several times as many as a product
/// needs to be shared by threads at all.
const SHARED_FROM: usize = 1 << 24;

/// A training step.
pub(crate) struct Step<'a> {
    pub encoder: &'a EncoderConfig,
    /// The task's head.
    pub head: usize,
    /// What the task's loss is multiplied with.
    pub weight: f64,
    /// The batch, in parts whose gradients are summed.
    pub parts: Vec<Batch>,
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
    /// Takes the step. The optimiser may keep the word table until it is [given back](Optimizer::give_back).
    pub fn take<B: Train>(
        self,
        model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
    ) -> (Network<B>, Taken<B::InnerBackend>) {
        if !self.is_shared::<B>() {
            return self.compute(model, optimizer, false);
        }
        let after = awake(|| self.compute(model, optimizer, true));
        optimizer.deferred().into_iter().for_each(compute_in_background);
        after
    }

    /// Whether the step ends before its updates, which overlap what follows.
    pub fn leaves_updates<B: Train>(&self) -> bool {
        self.learns && self.is_shared::<B>() && B::InnerBackend::k_defers().is_some()
    }

    /// Whether its work is worth sharing by threads that stay awake meanwhile.
    fn is_shared<B: Train>(&self) -> bool {
        let subwords = self.parts.iter().map(|part| part.input.pack().len()).max().unwrap_or(0);
        subwords * self.encoder.hidden * self.encoder.intermediate >= SHARED_FROM && !B::k_queues()
    }

    fn compute<B: Train>(
        self,
        model: Network<B>,
        optimizer: &mut Optimizer<B::InnerBackend>,
        defers: bool,
    ) -> (Network<B>, Taken<B::InnerBackend>) {
        let Self { encoder, head, weight, mut parts, pass, lr, learns } = self;
        let model = optimizer.lend(model, &mut parts);
        let labels: usize = parts.iter().map(|part| part.labels.len()).sum();
        let is_whole = parts.len() == 1;
        let mut loss: Option<Tensor<B::InnerBackend, 1>> = None;
        let mut gradients: Option<GradientsParams> = None;
        for mut part in parts.into_iter().filter(|part| !part.labels.is_empty()) {
            let mean = trace_span!("forward").in_scope(|| {
                let logits = logits(&model, head, encoder, &mut part, pass);
                B::k_cross_entropy(logits, &part.labels).div_scalar(labels as f64)
            });
            let own = mean.clone().inner();
            loss = Some(loss.map_or(own.clone(), |sum| sum + own));
            if learns {
                let weighted = if weight == 1.0 { mean } else { mean.mul_scalar(weight) };
                let own = trace_span!("backward")
                    .in_scope(|| GradientsParams::from_grads(B::k_backward(&weighted, is_whole), &model));
                gradients = Some(match gradients {
                    None => own,
                    Some(before) => added(&model, [before, own]),
                });
            }
        }
        let Some(gradients) = gradients else {
            return (model, Taken { loss, norms: Norms::NONE, updated: false });
        };
        let (model, norms) =
            trace_span!("update").in_scope(|| optimizer.take_step(lr, model, gradients, defers));
        (model, Taken { loss, norms, updated: true })
    }
}

/// Waits until the model's device has done what was asked of it: some backends only queue their work.
pub(crate) fn wait<B: Train>(model: &Network<B>) {
    let _ = B::sync(&model.device());
}

/// The sums of two parts' gradients.
fn added<B: Train>(model: &Network<B>, parts: [GradientsParams; 2]) -> GradientsParams {
    let mut sum = GradientsAccumulator::new();
    for part in parts {
        sum.accumulate(model, part);
    }
    sum.grads()
}

#[cfg(test)]
mod tests {
    use frostline_freeze::ResolvedPolicy;
    use frostline_kernels::Precision;
    use frostline_model::{fingerprints, set_trainable};
    use frostline_random::Stream;

    use super::*;
    use crate::fixture::{Fixture, Processor};
    use crate::{Settings, pass};

    /// Hashes of all parameters and moments after some steps, whose updates are deferred or not.
    fn after(
        defers: bool,
        name: &str,
        precision: Precision,
        accumulate: usize,
    ) -> impl PartialEq + Send + use<> {
        let Fixture { encoder, train, model } = Fixture::new(254);
        let policy = ResolvedPolicy::parse(name, 1).expect("a policy");
        let mut settings = Settings::default();
        settings.train.precision = precision;
        let mut optimizer = Optimizer::new(settings.optimizer.clone(), 1);
        let mut model = set_trainable(model, |path| !policy.freezes(path));
        for number in 0..5_usize {
            let masks = Stream::new(7, "dropout").child(number as u64);
            let pass = pass::training(masks, &encoder, &policy, &settings);
            let batch: Vec<usize> = (number..number + 2 * accumulate).map(|sentence| sentence % 4).collect();
            let parts = Batch::parts(&encoder, (&train).into(), &batch, accumulate);
            let step =
                Step { encoder: &encoder, head: 0, weight: 1.0, parts, pass: &pass, lr: 1e-3, learns: true };
            assert!(step.leaves_updates::<Processor>(), "{name}, {accumulate} parts");
            model = match defers {
                true => step.take(model, &mut optimizer).0,
                false => step.compute(model, &mut optimizer, false).0,
            };
        }
        let model = optimizer.give_back(model);
        (fingerprints(&model), optimizer.save(&model))
    }

    #[test]
    fn deferred_updates_change_no_bit() {
        for (name, precision, accumulate) in [
            ("none", Precision::F32, 1),
            ("none", Precision::F32, 2),
            ("none+embeddings", Precision::Bf16, 1),
            ("head-only", Precision::F32, 1),
        ] {
            let expected = after(false, name, precision, accumulate);
            for threads in 1..=3 {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                let found = pool.install(|| after(true, name, precision, accumulate));
                assert!(found == expected, "{name}, {precision:?}, {accumulate} parts, {threads} threads");
            }
        }
    }
}
