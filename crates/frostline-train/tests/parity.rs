//! Fifty training steps against PyTorch: the loss of every step, for five policies on every model
//! family. `../../frostline-model/tests/references/make.py` made the models and the losses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::backend::{Autodiff, Flex};
use burn::optim::GradientsParams;
use burn::tensor::ElementConversion;
use frostline_freeze::ResolvedPolicy;
use frostline_kernels::{Index, Kernels, Pack};
use frostline_model::{
    Checkpoint, EncoderConfig, HeadShape, Network, PackedInput, Pass, Vocabulary, set_trainable,
};
use frostline_record::{OptimizerSettings, ScheduleSettings, Switch};
use frostline_train::{Dataset, Example, LrSchedule, Optimizer, Run, RunEvent, Settings, train};

type B = Autodiff<Flex>;

const STEPS: u32 = 50;
/// Without ReLU: its slope jumps at 0, where rounding alone can lead a run elsewhere.
const MODELS: [&str; 14] = [
    "distilbert",
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "electra",
    "modernbert",
    "nomic_bert",
    "gte",
    "deberta-v2",
    "eurobert",
    "xlm-roberta-xl",
    "bert-gelu_new",
    "roberta-silu",
];
const POLICIES: [&str; 5] = ["none", "all", "first-4", "alternating", "first-4+embeddings"];

#[derive(serde::Deserialize)]
struct Sentence {
    ids: Vec<u32>,
    speaking: Vec<u32>,
    labels: Vec<u32>,
}

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

fn references() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../frostline-model/tests/references")
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = references().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The sentences in a model's subwords; those of DistilBERT and BERT are the same.
fn sentences(model: &str) -> Vec<Sentence> {
    let own = format!("sentences-{model}.json");
    read(if references().join(&own).exists() { &own } else { "sentences.json" })
}

/// A committed tagger and its shape.
fn open(name: &str) -> (EncoderConfig, Network<B>) {
    let folder = references().join(name);
    let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let config = EncoderConfig::parse(&config, name).unwrap();
    let weights = Checkpoint::open(&folder.join("model.safetensors"), config.family).unwrap();
    let vocabulary = Vocabulary::full(config.vocabulary);
    let model = Network::build(
        &config,
        &vocabulary,
        &[HeadShape::linear(5)],
        [&weights, &weights],
        &Default::default(),
    )
    .unwrap();
    (config, model)
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
        for policy in POLICIES {
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
        for policy in POLICIES {
            let frozen = ResolvedPolicy::parse(policy, encoder.depth).unwrap();
            let mut model = set_trainable(start.clone(), |path| !frozen.freezes(path));
            let optimizer = OptimizerSettings { lr: reference.lr, ..OptimizerSettings::default() };
            let schedule = LrSchedule::new(&ScheduleSettings::default(), optimizer.lr, STEPS.into());
            let mut optimizer = Optimizer::<Flex>::new(optimizer, encoder.depth);
            let mut ours = Vec::new();
            let batches = sentences.chunks(reference.batch).cycle();
            for (step, batch) in batches.take(STEPS as usize).enumerate() {
                let lengths: Vec<usize> = batch.iter().map(|sentence| sentence.ids.len()).collect();
                let pack = Pack::new(&lengths, &vec![0; lengths.len()]);
                let ids: Vec<u32> = batch.iter().flat_map(|sentence| sentence.ids.clone()).collect();
                let starts = pack.offsets().to_vec();
                let speaking = batch.iter().zip(starts).flat_map(|(sentence, start)| {
                    sentence.speaking.iter().map(move |position| start as u32 + position)
                });
                let speaking: Vec<u32> = speaking.collect();
                let labels: Vec<u32> = batch.iter().flat_map(|sentence| sentence.labels.clone()).collect();
                let labels = Index::from(labels);
                let input = PackedInput::new(&encoder, pack, ids, speaking);
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
