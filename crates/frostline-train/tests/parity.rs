//! Fifty training steps against PyTorch: the loss of every step, for five policies on every model
//! family. `../../frostline-model/tests/references/make.py` made the models and the losses.

use std::collections::BTreeMap;

use burn::backend::{Autodiff, Flex};
use burn::optim::GradientsParams;
use burn::tensor::ElementConversion;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::{Index, Kernels};
use frostline_model::{Pass, set_trainable};
use frostline_record::{OptimizerSettings, ScheduleSettings, Switch};
use frostline_train::{Dataset, Example, LrSchedule, Optimizer, Run, RunEvent, Settings, train};

mod references;
use references::{MODELS, Sentence, open, pack_sentences, read, sentences};

type B = Autodiff<Flex>;

const STEPS: u32 = 50;
/// The models whose blocks share weights, each with the number of its policies: parts of a set of weights cannot be frozen. All
/// other models have five.
const SHARED: [(&str, usize); 2] = [("albert", 4), ("albert-groups", 5)];

/// PyTorch's losses.
#[derive(serde::Deserialize)]
struct Losses {
    /// Step `t` on the `t`-th stretch of `batch` sentences, and round again.
    batches: Vec<f64>,
    /// Every step on all sentences.
    whole: Vec<f64>,
}

#[derive(serde::Deserialize)]
struct Reference {
    lr: f64,
    batch: usize,
    losses: BTreeMap<String, Losses>,
}

/// The policies under which a model was trained.
fn policies_of<'a>(name: &str, reference: &'a Reference) -> impl Iterator<Item = &'a str> {
    let expected = SHARED.iter().find(|(shared, _)| *shared == name).map_or(5, |(_, count)| *count);
    assert_eq!(reference.losses.len(), expected, "{name}");
    reference.losses.keys().map(String::as_str)
}

/// The largest distance over all steps. Forgetting who is spared weight decay moves most losses by
/// less than 1e-3, so no distance may be above 1e-4.
fn compare(what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), STEPS as usize);
    assert_eq!(theirs.len(), STEPS as usize);
    let mut most = 0.0;
    for (step, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let far = (ours - theirs).abs();
        assert!(far <= 1e-4, "{what}, step {step}: {ours} against {theirs}");
        most = f64::max(most, far);
    }
    println!("{what}: {STEPS} losses within {most:.1e}");
}

#[test]
fn a_run_has_pytorchs_losses() {
    let example = |sentence: &Sentence| Example {
        ids: sentence.ids.clone(),
        rows: sentence.ids.clone(),
        words: sentence.speaking.iter().map(|&position| Ok(position)).collect(),
        gold: sentence.labels.iter().map(|&label| Some(label)).collect(),
    };
    for name in MODELS {
        let examples = sentences(name).iter().map(example).collect();
        let data = Dataset { examples, unseen_tags: vec![] };
        let reference: Reference = read(&format!("{name}.json"));
        let (encoder, start) = open(name);
        for policy in policies_of(name, &reference) {
            // A batch of all sentences makes a step's loss independent of their order.
            let mut settings = Settings::default();
            settings.train.epochs = STEPS;
            settings.train.batch = data.examples.len();
            settings.train.log_every = 1;
            settings.optimizer.lr = reference.lr;
            (settings.dropout.head, settings.dropout.encoder) = (0.0, Switch::Off);
            let frozen = ResolvedPolicy::parse(policy, encoder.depth).unwrap();
            let tasks = [Run::task((&data).into(), (&data).into())];
            let timeline = frozen.into();
            let run = Run::new(&settings, &encoder, &timeline, &tasks);
            let finished = train(&run, start.clone(), None, &mut |_: RunEvent<'_>| ()).unwrap();
            let ours: Vec<f64> = finished.losses.iter().map(|point| point.loss_nats).collect();
            compare(&format!("{name}, {policy}, whole"), &ours, &reference.losses[policy].whole);
            assert!(ours[49] < ours[0] - 0.05, "{name}, {policy}: nothing was learned");
        }
    }
}

#[test]
fn changing_batches_have_pytorchs_losses() {
    for name in MODELS {
        let sentences = sentences(name);
        let reference: Reference = read(&format!("{name}.json"));
        let (encoder, start) = open(name);
        let off = Pass::plain(encoder.depth);
        for policy in policies_of(name, &reference) {
            let frozen = ResolvedPolicy::parse(policy, encoder.depth).unwrap();
            let mut model = set_trainable(start.clone(), |path| !frozen.freezes(path));
            let optimizer = OptimizerSettings { lr: reference.lr, ..OptimizerSettings::default() };
            let schedule = LrSchedule::new(&ScheduleSettings::default(), optimizer.lr, STEPS.into());
            let mut optimizer = Optimizer::<Flex>::new(optimizer, encoder.depth);
            let mut ours = Vec::new();
            let batches = sentences.chunks(reference.batch).cycle();
            for (step, batch) in batches.take(STEPS as usize).enumerate() {
                let (input, labels) = pack_sentences(&encoder, batch);
                let labels = Index::from(labels);
                let logits = model.forward(0, &encoder, &input, &off);
                let loss = B::k_cross_entropy(logits, &labels).div_scalar(labels.len() as f64);
                ours.push(loss.clone().into_scalar().elem());
                let gradients = GradientsParams::from_grads(loss.backward(), &model);
                model = optimizer.step(schedule.at(step as u64), model, gradients).0;
            }
            compare(&format!("{name}, {policy}, batches"), &ours, &reference.losses[policy].batches);
        }
    }
}
