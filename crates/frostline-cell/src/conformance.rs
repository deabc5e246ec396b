//! Whether a device trains as a processor does: every operation, then a tiny encoder under each kind of policy.

use anyhow::{Context as _, Result};
use burn::module::AutodiffModule as _;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::Train;
use frostline_kernels::backend::Work;
use frostline_kernels::conformance::{self, Checked, ROUNDING, Reference, deviation};
use frostline_model::{EncoderConfig, HeadShape, Network, RandomInit, Vocabulary, snapshot};
use frostline_random::Stream;
use frostline_record::{ScheduleKind, Settings};
use frostline_train::{Dataset, Example, Finished, Run, RunEvent, extras, train};

use crate::cell::HEAD_STD;

/// Subword ids, blocks and labels of the encoder.
const SIZES: [usize; 3] = [50, 3, 5];

/// One of each kind: where the backward pass ends differs, and what has a gradient.
const POLICIES: [&str; 14] = [
    "none",
    "all",
    "first-1",
    "last-1",
    "alternating",
    "head-only",
    "none+embeddings",
    "first-2+embeddings",
    "none+lora",
    "first-1+lora",
    "none+adapters",
    "none+bitfit",
    "first-1+norms",
    "first-2+mix",
];

/// What 20 steps of AdamW may make of differences in rounding.
const AFTER_20_STEPS: f64 = 2e-3;

/// Compares a backend with a processor.
pub struct Conformance;

impl Work for Conformance {
    type Output = Result<Vec<Checked>>;

    fn run<B: Train>(self, device: &B::Device) -> Self::Output {
        let mut all = conformance::check::<B>(device);
        for policy in POLICIES {
            let name = format!("3 steps, {policy}: every parameter");
            all.push(of_policy::<B>(name, policy, device).with_context(|| format!("under {policy}"))?);
        }
        let settings = settings(20);
        let [ours, theirs] = [
            losses(&run::<B>("none", &settings, device)?),
            losses(&run::<Reference>("none", &settings, &Default::default())?),
        ];
        let name = "20 steps: every loss".into();
        all.push(Checked { name, deviation: deviation(&[ours], &[theirs]), limit: AFTER_20_STEPS });
        Ok(all)
    }
}

/// Every parameter after three steps against the processor's. The update is nearly proportional to the gradient, so that a
/// gradient near 0 is not blown up to a whole step.
fn of_policy<B: Train>(name: String, policy: &str, device: &B::Device) -> Result<Checked> {
    let mut settings = settings(3);
    (settings.optimizer.eps, settings.optimizer.lr) = (1.0, 1.0);
    settings.schedule.kind = ScheduleKind::Constant;
    let [ours, theirs] = [
        parameters(&run::<B>(policy, &settings, device)?),
        parameters(&run::<Reference>(policy, &settings, &Default::default())?),
    ];
    Ok(Checked { name, deviation: deviation(&ours, &theirs), limit: ROUNDING })
}

fn settings(steps: usize) -> Settings {
    let mut settings = Settings::default();
    (settings.train.epochs, settings.train.batch, settings.train.log_every) = (1, SENTENCES / steps, 1);
    settings.optimizer.lr = 1e-3;
    settings.lora.rank = 2;
    settings.adapters.size = 5;
    settings
}

/// Sentences: a multiple of every number of steps.
const SENTENCES: usize = 60;

fn losses<B: Train>(finished: &Finished<B>) -> Vec<f32> {
    finished.losses.iter().map(|point| point.loss_nats as f32).collect()
}

fn parameters<B: Train>(finished: &Finished<B>) -> Vec<Vec<f32>> {
    snapshot(&finished.model.valid()).into_values().map(|values| values.data).collect()
}

/// A run of a tiny encoder on made-up sentences. It checks itself that what is frozen keeps its bits.
fn run<B: Train>(policy: &str, settings: &Settings, device: &B::Device) -> Result<Finished<B>> {
    let [ids, depth, labels] = SIZES;
    let text = format!(
        r#"{{"model_type": "bert", "vocab_size": {ids}, "hidden_size": 32, "num_hidden_layers": {depth},
        "num_attention_heads": 2, "intermediate_size": 48, "max_position_embeddings": 64, "type_vocab_size": 2}}"#
    );
    let mut encoder = EncoderConfig::parse(&text, "the encoder of the conformance suite")?;
    let policy = ResolvedPolicy::parse(policy, depth)?;
    encoder.extras = extras(settings, &[&policy], depth)?;
    let vocabulary = Vocabulary::full(ids);
    let [source, added] = [0.2, HEAD_STD].map(|std| RandomInit::new(5, std));
    let model =
        Network::<B>::build(&encoder, &vocabulary, &[HeadShape::linear(labels)], [&source, &added], device)?;
    let [train_set, dev] = [(1, SENTENCES), (2, 4)].map(|(seed, count)| sentences(seed, count, &vocabulary));
    let tasks = [Run::task((&train_set).into(), (&dev).into())];
    let timeline = policy.into();
    let run = Run::new(settings, &encoder, &timeline, &tasks);
    Ok(train::<B>(&run, model, None, &mut |_: RunEvent<'_>| {})?)
}

/// Sentences of 1 to 40 subwords, each of which has a label that follows from it.
fn sentences(seed: u64, count: usize, vocabulary: &Vocabulary) -> Dataset {
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
    data.compact(vocabulary);
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_agrees_with_itself() {
        let all = Conformance.run::<Reference>(&Default::default()).expect("runs");
        let failed: Vec<_> = all.iter().filter(|one| !one.passes() && !one.name.contains("bf16")).collect();
        assert!(failed.is_empty(), "{failed:?}");
        assert!(all.len() > POLICIES.len() + 10);
        for one in all.iter().filter(|one| one.name.contains("steps")) {
            assert_eq!(one.deviation, 0.0, "{}", one.name);
        }
    }
}
