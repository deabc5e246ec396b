//! Whether a device trains as a processor does: every operation, then the gradients and short runs of a tiny encoder under
//! each kind of policy.

use std::collections::BTreeMap;

use burn::module::{AutodiffModule as _, Module as _, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use frostline_freeze::{ResolvedPolicy, SettlingRule};
use frostline_kernels::Train;
use frostline_kernels::conformance::{self, ROUNDING, deviation};
pub use frostline_kernels::conformance::{Checked, Reference};
use frostline_model::{EncoderConfig, HeadShape, Network, RandomInit, Vocabulary, set_trainable, snapshot};
use frostline_random::Stream;
use frostline_record::{ScheduleKind, Settings, UnfreezeUnit};

use crate::batch::Batch;
use crate::prefix::compute_logits;
use crate::{
    Dataset, Example, Finished, Run, RunEvent, TrainError, extras, pass, settling_rule, timeline, train,
};

/// Subword ids, blocks and labels of the encoder.
const SIZES: [usize; 3] = [50, 3, 5];

/// One of each kind: where the backward pass ends differs, and what has a gradient.
const POLICIES: [&str; 18] = [
    "none",
    "all",
    "first-1",
    "last-1",
    "top-1",
    "alternating",
    "blocks-0.2",
    "head-only",
    "none+embeddings",
    "first-2+embeddings",
    "first-1+heads",
    "none+adaptive",
    "none+lora",
    "first-1+lora",
    "none+adapters",
    "none+bitfit",
    "first-1+norms",
    "first-2+mix",
];

/// What 20 steps of AdamW may make of differences in rounding.
const AFTER_20_STEPS: f64 = 2e-3;

/// Largest deviation of a gradient that rounding in every operation of the two passes explains.
const GRADIENTS: f64 = 1e-4;

/// Sentences: a multiple of every number of steps.
const SENTENCES: usize = 60;

/// Compares a device with a processor. What fails deviates without limit.
#[must_use]
pub fn check<B: Train>(device: &B::Device) -> Vec<Checked> {
    let mut all = conformance::check::<B>(device);
    all.extend(check_training::<B>(device));
    all
}

/// The part of [`check`] that trains.
#[must_use]
pub fn check_training<B: Train>(device: &B::Device) -> Vec<Checked> {
    let mut all = Vec::new();
    for policy in POLICIES {
        all.push(of_gradients::<B>(policy, device));
        all.push(of_steps::<B>(policy, policy, &three_steps(), device));
    }
    let mut gradual = three_steps();
    (gradual.unfreeze.every, gradual.unfreeze.unit) = (1, UnfreezeUnit::Steps);
    all.push(of_steps::<B>("gradual unfreezing", "none", &gradual, device));
    let settings = settings(20);
    let compared = run::<B>("none", &settings, device).and_then(|ours| {
        let theirs = run::<Reference>("none", &settings, &Default::default())?;
        Ok(deviation(&[losses(&ours)], &[losses(&theirs)]))
    });
    all.push(checked("20 steps: every loss".into(), compared, AFTER_20_STEPS));
    all
}

/// [`check_training`] of wgpu's devices. It is compiled here, with all of training, so that in builds without optimisation
/// other crates use these instead of compiling their own, which takes minutes.
#[cfg(feature = "wgpu")]
#[must_use]
pub fn check_training_wgpu(device: &burn::backend::wgpu::WgpuDevice) -> Vec<Checked> {
    check_training::<burn::backend::Autodiff<burn::backend::Wgpu>>(device)
}

fn checked(name: String, compared: Result<f64, TrainError>, limit: f64) -> Checked {
    match compared {
        Ok(deviation) => Checked { name, deviation, limit },
        Err(error) => Checked { name: format!("{name}: {error}"), deviation: f64::INFINITY, limit },
    }
}

/// The gradient of every parameter that learns, at the start.
fn of_gradients<B: Train>(policy: &str, device: &B::Device) -> Checked {
    let ours = gradients::<B>(policy, device);
    let theirs = gradients::<Reference>(policy, &Default::default());
    checked(format!("gradients, {policy}"), Ok(gradient_deviation(&ours, &theirs)), GRADIENTS)
}

/// Every parameter after three steps. The update is nearly proportional to the gradient, so that a gradient near 0 is not
/// blown up to a whole step.
fn of_steps<B: Train>(name: &str, policy: &str, settings: &Settings, device: &B::Device) -> Checked {
    let compared = run::<B>(policy, settings, device).and_then(|ours| {
        let theirs = run::<Reference>(policy, settings, &Default::default())?;
        Ok(deviation(&parameters(&ours), &parameters(&theirs)))
    });
    checked(format!("3 steps, {name}: every parameter"), compared, ROUNDING)
}

fn settings(steps: usize) -> Settings {
    let mut settings = Settings::default();
    (settings.train.epochs, settings.train.batch, settings.train.log_every) = (1, SENTENCES / steps, 1);
    settings.optimizer.lr = 1e-3;
    settings.lora.rank = 2;
    settings.adapters.size = 5;
    settings.adaptive = SettlingRule { every: 1, ..SettlingRule::default() };
    settings
}

fn three_steps() -> Settings {
    let mut settings = settings(3);
    (settings.optimizer.eps, settings.optimizer.lr) = (1.0, 1.0);
    settings.schedule.kind = ScheduleKind::Constant;
    settings
}

fn losses<B: Train>(finished: &Finished<B>) -> Vec<f32> {
    finished.losses.iter().map(|point| point.loss_nats as f32).collect()
}

fn parameters<B: Train>(finished: &Finished<B>) -> Vec<Vec<f32>> {
    snapshot(&finished.model.valid()).into_values().map(|values| values.data).collect()
}

/// The tiny encoder under a policy.
fn encoder(policy: &ResolvedPolicy, settings: &Settings) -> EncoderConfig {
    let [ids, depth, _] = SIZES;
    let text = format!(
        r#"{{"model_type": "bert", "vocab_size": {ids}, "hidden_size": 32, "num_hidden_layers": {depth},
        "num_attention_heads": 2, "intermediate_size": 48, "max_position_embeddings": 64, "type_vocab_size": 2}}"#
    );
    let mut encoder = EncoderConfig::parse(&text, "the encoder of the conformance suite").expect("a config");
    encoder.extras = extras(settings, &[policy], depth).expect("layers that are there");
    encoder
}

fn resolved(policy: &str) -> ResolvedPolicy {
    ResolvedPolicy::parse(policy, SIZES[1]).expect("a policy of the list")
}

/// The encoder and its head with random weights.
fn model<B: Train>(encoder: &EncoderConfig, device: &B::Device) -> Network<B> {
    let [source, head] = [0.2, 0.02].map(|std| RandomInit::new(5, std));
    let heads = [HeadShape::linear(SIZES[2])];
    Network::build(encoder, &Vocabulary::full(SIZES[0]), &heads, [&source, &head], device)
        .expect("random weights have every parameter")
}

/// A run on made-up sentences. It checks itself that what is frozen keeps its bits.
fn run<B: Train>(policy: &str, settings: &Settings, device: &B::Device) -> Result<Finished<B>, TrainError> {
    let policy = resolved(policy);
    let encoder = encoder(&policy, settings);
    let [train_set, dev] = [(1, SENTENCES), (2, 4)].map(|(seed, count)| sentences(seed, count));
    let tasks = [Run::task((&train_set).into(), (&dev).into())];
    let steps = (SENTENCES / settings.train.batch) as u64;
    let timeline = timeline(&policy, settings, steps);
    let run =
        Run { settling: settling_rule(&policy, settings), ..Run::new(settings, &encoder, &timeline, &tasks) };
    train::<B>(&run, model::<B>(&encoder, device), None, &mut |_: RunEvent<'_>| {})
}

/// The gradient of every parameter that has one, by path.
fn gradients<B: Train>(policy: &str, device: &B::Device) -> BTreeMap<String, Vec<f32>> {
    let (policy, settings) = (resolved(policy), three_steps());
    let encoder = encoder(&policy, &settings);
    let model = set_trainable(model::<B>(&encoder, device), |path| !policy.freezes(path));
    let data = sentences(1, 20);
    let order: Vec<usize> = (0..data.examples.len()).collect();
    let mut batch = Batch::new(&encoder, (&data).into(), &order, true);
    let pass = pass::training_pass(Stream::new(7, "dropout"), &encoder, &policy, &settings);
    let labels = batch.labels.len() as f64;
    let loss = B::k_cross_entropy(compute_logits(&model, 0, &encoder, &mut batch, &pass), &batch.labels);
    let gradients = GradientsParams::from_grads(loss.div_scalar(labels).backward(), &model);
    let mut found = CollectedGradients { gradients, path: Vec::new(), all: BTreeMap::new() };
    model.visit(&mut found);
    found.all
}

/// Collects the gradients of a model.
struct CollectedGradients {
    gradients: GradientsParams,
    path: Vec<String>,
    all: BTreeMap<String, Vec<f32>>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for CollectedGradients {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<B, D>>) {
        if let Some(gradient) = self.gradients.remove::<B::InnerBackend, D>(parameter.id) {
            let values = gradient.into_data().into_vec().expect("gradients are f32");
            self.all.insert(self.path.join("."), values);
        }
    }
}

/// The largest difference of two models' gradients, each as a share of the largest number of its own parameter. Gradients that
/// are nothing but rounding, as those of the keys' biases, count as a share of a tenth of the largest number of all.
fn gradient_deviation(ours: &BTreeMap<String, Vec<f32>>, theirs: &BTreeMap<String, Vec<f32>>) -> f64 {
    let largest = |values: &Vec<f32>| values.iter().fold(0.0f32, |top, value| top.max(value.abs()));
    let least = theirs.values().map(largest).fold(0.0, f32::max) / 10.0;
    if !ours.keys().eq(theirs.keys()) || least == 0.0 {
        return f64::INFINITY;
    }
    // The shared function takes a share of 1 where numbers are smaller than 1.
    let scaled = |values: &Vec<f32>, scale: f32| values.iter().map(|value| value / scale).collect();
    let of_parameter = |(ours, theirs): (&Vec<f32>, &Vec<f32>)| {
        let scale = largest(theirs).max(least);
        deviation(&[scaled(ours, scale)], &[scaled(theirs, scale)])
    };
    ours.values().zip(theirs.values()).map(of_parameter).fold(0.0, f64::max)
}

/// Sentences of 1 to 40 subwords, each of which has a label that follows from it.
fn sentences(seed: u64, count: usize) -> Dataset {
    let [ids, _, labels] = SIZES.map(|size| size as u32);
    let examples = (0..count as u64).map(|number| {
        let draw = Stream::new(seed, "conformance").child(number);
        let length = 1 + draw.below(0, 40);
        let ids: Vec<u32> = (1..=length).map(|at| draw.below(at, u64::from(ids)) as u32).collect();
        Example {
            rows: Vec::new(),
            words: (0..length as u32).map(Ok).collect(),
            gold: ids.iter().map(|id| Some(id % labels)).collect(),
            ids,
        }
    });
    let mut data = Dataset { examples: examples.collect(), unseen_tags: Vec::new() };
    data.compact(&Vocabulary::full(SIZES[0]));
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_agrees_with_itself() {
        let all = check_training::<Reference>(&Default::default());
        let failed: Vec<_> = all.iter().filter(|one| one.deviation != 0.0).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(all.len(), 2 * POLICIES.len() + 2);
    }

    #[test]
    fn a_wrong_or_missing_gradient_deviates() {
        let none = gradients::<Reference>("none", &Default::default());
        let first = gradients::<Reference>("first-1", &Default::default());
        assert_eq!(gradient_deviation(&none, &none), 0.0);
        assert_eq!(gradient_deviation(&first, &none), f64::INFINITY, "some are missing");
        let path = "encoder.blocks.1.value.bias";
        let changed = |value: f32| {
            let mut changed = none.clone();
            changed.get_mut(path).expect("it learns")[0] += value;
            changed
        };
        assert!(gradient_deviation(&changed(1e-3), &none) > GRADIENTS);
        assert_eq!(gradient_deviation(&changed(f32::NAN), &none), f64::INFINITY);
    }
}
