//! The laws of a training run, on tiny random encoders: what is frozen keeps every bit, results
//! repeat on any number of threads, and the compact vocabulary changes nothing.

use burn::backend::{Autodiff, Flex};
use burn::module::AutodiffModule as _;
use frostline_align::{Aligner, VocabOptions};
use frostline_freeze::Policy;
use frostline_kernels::{Kernels as _, Precision};
use frostline_model::{EncoderConfig, Export, RandomInit, Source as _, Tagger, Vocabulary, snapshot};
use frostline_random::Stream;
use frostline_train::{
    Dataset, DropoutConfig, Event, Finished, OptimizerConfig, Prefix, Run, ScheduleKind, Select, Split,
    TaggedSentence, TrainConfig, TrainError, View, compute_prefix, tag_set, train,
};

type B = Autodiff<Flex>;

const WORDS: [&str; 8] = ["a", "dog", "cat", "sees", "hears", "old", "runs", "ning"];
const TAGS: [&str; 4] = ["DET", "NOUN", "VERB", "ADJ"];

fn distilbert() -> EncoderConfig {
    let text = r#"{"model_type": "distilbert", "vocab_size": 16, "dim": 16, "n_layers": 3, "n_heads": 2,
        "hidden_dim": 32, "max_position_embeddings": 32}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

fn bert() -> EncoderConfig {
    let text = r#"{"model_type": "bert", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 32, "type_vocab_size": 2}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

fn sentences(seed: u64, count: usize) -> Vec<TaggedSentence<'static>> {
    let stream = Stream::new(seed, "sentences");
    (0..count as u64)
        .map(|s| {
            let draw = stream.child(s);
            let words: Vec<usize> =
                (0..3 + draw.below(0, 6)).map(|i| draw.below(i + 1, 7) as usize).collect();
            TaggedSentence {
                words: words.iter().map(|&w| WORDS[w]).collect(),
                tags: words.iter().map(|&w| TAGS[w % 4]).collect(),
            }
        })
        .collect()
}

struct Setting {
    encoder: EncoderConfig,
    vocabulary: Vocabulary,
    train: Dataset,
    dev: Dataset,
    tags: usize,
}

fn setting(encoder: EncoderConfig, compact: bool) -> Setting {
    // Ids 12 to 15 are in the table but in no sentence.
    let vocab = format!("[PAD]\n[UNK]\n[CLS]\n[SEP]\n{}\n", WORDS.join("\n"));
    let aligner = Aligner::from_vocab(&vocab, &VocabOptions::default()).unwrap();
    let (train, dev) = (sentences(1, 40), sentences(2, 10));
    let tags = tag_set(&train);
    let build = |name, sentences: &[_]| Dataset::build(&Split { name, sentences }, &aligner, &tags).unwrap();
    let (mut train, mut dev) = (build("train", &train), build("dev", &dev));
    let vocabulary =
        if compact { Vocabulary::of(16, train.ids().chain(dev.ids())) } else { Vocabulary::full(16) };
    train.compact(&vocabulary);
    dev.compact(&vocabulary);
    Setting { encoder, vocabulary, train, dev, tags: tags.len() }
}

fn config() -> TrainConfig {
    let optimizer = OptimizerConfig { lr: 1e-3, weight_decay: 0.1, ..OptimizerConfig::default() };
    TrainConfig { epochs: 2, batch: 8, log_every: 3, optimizer, ..TrainConfig::default() }
}

fn draw() -> RandomInit {
    RandomInit::new(5, 0.02)
}

fn model(setting: &Setting) -> Tagger<B> {
    let Setting { encoder, vocabulary, tags, .. } = setting;
    Tagger::build(encoder, vocabulary, *tags, [&draw(), &draw()], &Default::default()).unwrap()
}

fn run(setting: &Setting, policy: &str, config: &TrainConfig) -> Result<Finished<B>, TrainError> {
    let policy = Policy::parse(policy, setting.encoder.depth).unwrap();
    let run = Run {
        config,
        encoder: &setting.encoder,
        policy: &policy,
        train: (&setting.train).into(),
        dev: (&setting.dev).into(),
    };
    train(&run, model(setting), &mut |_: Event<'_>| ())
}

/// As [`run`], with the outputs of the lowest blocks computed first.
fn run_cached(
    setting: &Setting,
    policy: &str,
    blocks: usize,
    config: &TrainConfig,
) -> Result<Finished<B>, TrainError> {
    let policy = Policy::parse(policy, setting.encoder.depth).unwrap();
    let model = model(setting);
    let plain = model.valid();
    let rows = [&setting.train, &setting.dev].map(|data| {
        let mut rows = Vec::new();
        let mut take = |some: &[f32]| {
            rows.extend_from_slice(some);
            Ok::<_, std::convert::Infallible>(())
        };
        let size = [blocks, 23];
        compute_prefix(&plain, &setting.encoder, data, size, config.precision, &mut take).unwrap();
        (rows, data.starts())
    });
    let prefix = |split: usize| {
        let (rows, starts) = &rows[split];
        Some(Prefix { blocks, hidden: setting.encoder.hidden, rows, starts })
    };
    let run = Run {
        config,
        encoder: &setting.encoder,
        policy: &policy,
        train: View { data: &setting.train, prefix: prefix(0) },
        dev: View { data: &setting.dev, prefix: prefix(1) },
    };
    train(&run, model, &mut |_: Event<'_>| ())
}

/// The exported file's tensors by Hugging Face name.
fn exported(setting: &Setting, finished: &Finished<B>) -> Vec<(String, Vec<u8>)> {
    let parameters = snapshot(&finished.model);
    let (source, config) = (draw(), &setting.encoder);
    let other_rows = finished.untouched_rows;
    let export = Export {
        config,
        parameters: &parameters,
        vocabulary: &setting.vocabulary,
        source: &source,
        other_rows,
    };
    let bytes = export.safetensors().unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors: Vec<_> =
        file.iter().map(|(name, view)| (name.to_string(), view.data().to_vec())).collect();
    tensors.sort();
    tensors
}

#[test]
fn frozen_parameters_keep_every_bit_and_others_move() {
    let policies = [
        "none",
        "all",
        "first-1",
        "first-2",
        "last-1",
        "alternating",
        "blocks-1",
        "head-only",
        "first-2+embeddings",
        "none+embeddings",
    ];
    for encoder in [distilbert(), bert()] {
        let setting = setting(encoder, true);
        for name in policies {
            let policy = Policy::parse(name, 3).unwrap();
            let finished = run(&setting, name, &config()).unwrap();
            assert!(finished.freezing.unmoved.is_empty(), "{name}: {:?}", finished.freezing.unmoved);
            assert_eq!(
                finished.states as u64, finished.freezing.moved,
                "{name}: only what learns holds state"
            );
            let total = finished.freezing.frozen + finished.freezing.moved;
            assert_eq!(total as usize, setting.encoder.parameters(4).len(), "{name}");
            // Against the file as a user would open it.
            let family = setting.encoder.family;
            let tensors = exported(&setting, &finished);
            for (path, shape) in setting.encoder.parameters(setting.tags) {
                let (hf, _) = frostline_model::hugging_face_name(family, &path);
                let after = &tensors.iter().find(|(name, _)| *name == hf).unwrap().1;
                let mut before: Vec<u8> =
                    draw().values(&path, &shape).unwrap().iter().flat_map(|v| v.to_le_bytes()).collect();
                let mut after = after.clone();
                if shape.len() == 2 {
                    // The file may hold the transpose: compare the numbers, not their order.
                    let sort = |bytes: &mut Vec<u8>| {
                        let mut quads: Vec<[u8; 4]> = bytes.as_chunks::<4>().0.to_vec();
                        quads.sort_unstable();
                        *bytes = quads.concat();
                    };
                    sort(&mut before);
                    sort(&mut after);
                }
                assert_eq!(policy.freezes(&path), before == after, "{name}: {path}");
            }
        }
    }
}

#[test]
fn runs_repeat_bit_for_bit_on_any_number_of_threads() {
    let setting = setting(bert(), true);
    let on = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let config = TrainConfig { seed, ..config() };
            let finished = run(&setting, "first-1", &config).unwrap();
            let losses: Vec<u64> = finished.losses.iter().map(|point| point.loss_nats.to_bits()).collect();
            (losses, exported(&setting, &finished))
        })
    };
    let one = on(1, 42);
    assert!(one == on(1, 42), "the same run twice");
    assert!(one == on(2, 42), "two threads");
    assert!(one == on(3, 42), "three threads");
    assert!(one.0 != on(1, 43).0, "another seed must differ");
}

#[test]
fn the_compact_vocabulary_changes_nothing() {
    let config = TrainConfig { epochs: 40, ..config() };
    let (compact, full) = (setting(distilbert(), true), setting(distilbert(), false));
    assert!(compact.vocabulary.rows().len() < full.vocabulary.rows().len());
    for (policy, layer_decay) in [("none", 1.0), ("none", 0.7), ("all", 1.0), ("head-only", 1.0)] {
        let optimizer = OptimizerConfig { layer_decay, ..config.optimizer.clone() };
        let config = TrainConfig { optimizer, ..config.clone() };
        let (ours, theirs) = (run(&compact, policy, &config).unwrap(), run(&full, policy, &config).unwrap());
        assert_eq!(ours.steps, 200);
        for ((name, a), (_, b)) in exported(&compact, &ours).iter().zip(&exported(&full, &theirs)) {
            let numbers = |bytes: &[u8]| -> Vec<f32> {
                bytes.as_chunks::<4>().0.iter().map(|quad| f32::from_le_bytes(*quad)).collect()
            };
            for (a, b) in numbers(a).iter().zip(numbers(b)) {
                assert!((a - b).abs() <= 1e-5 * b.abs().max(1e-2), "{policy} {name}: {a} against {b}");
            }
        }
    }
}

/// The update of one step is AdamW's: near `lr` in every number that received a gradient. So the rates
/// of groups can be read off the first step.
#[test]
fn lower_blocks_learn_more_slowly_where_asked() {
    let mut setting = setting(distilbert(), true);
    setting.train.examples.truncate(8);
    let optimizer = OptimizerConfig { lr: 1e-3, weight_decay: 0.0, layer_decay: 0.5, ..config().optimizer };
    let config = TrainConfig { epochs: 1, batch: 8, optimizer, schedule: ScheduleKind::Constant, ..config() };
    let before = snapshot(&model(&setting).valid());
    let after = snapshot(&run(&setting, "none", &config).unwrap().model);
    let moved = |path: &str| {
        let pairs = before[path].data.iter().zip(&after[path].data);
        pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max)
    };
    for (path, rate) in [
        ("head.weight", 1e-3),
        ("encoder.blocks.2.value.weight", 1e-3),
        ("encoder.blocks.1.value.weight", 5e-4),
        ("encoder.blocks.0.value.weight", 2.5e-4),
        ("encoder.embeddings.position", 1.25e-4),
    ] {
        assert!((moved(path) / rate - 1.0).abs() < 0.01, "{path}: {} against {rate}", moved(path));
    }
}

#[test]
fn the_best_epoch_is_kept_where_asked() {
    let setting = setting(distilbert(), true);
    let optimizer = OptimizerConfig { lr: 0.03, ..OptimizerConfig::default() };
    let config = TrainConfig { epochs: 5, optimizer, ..config() };
    let last = run(&setting, "none", &config).unwrap();
    assert_eq!(last.selected, 5);
    let best = run(&setting, "none", &TrainConfig { select: Select::LowestLoss, ..config.clone() }).unwrap();
    let lowest = best.epochs.iter().map(|epoch| epoch.dev.loss_nats).fold(f64::INFINITY, f64::min);
    assert_eq!(best.epochs[best.selected as usize - 1].dev.loss_nats, lowest);
    let evaluated =
        frostline_train::evaluate(&best.model, &setting.encoder, (&setting.dev).into(), Precision::F32, 7);
    let kept = &best.epochs[best.selected as usize - 1].dev;
    assert_eq!(evaluated.words, kept.words, "the model kept is the selected epoch's, whatever the batches");
}

#[test]
fn dropout_in_frozen_blocks_is_a_setting_of_its_own() {
    let setting = setting(distilbert(), true);
    let with = |encoder, frozen| {
        let dropout = DropoutConfig { head: 0.0, encoder, frozen };
        let finished = run(&setting, "head-only", &TrainConfig { dropout, ..config() }).unwrap();
        finished.losses.iter().map(|point| point.loss_nats.to_bits()).collect::<Vec<_>>()
    };
    assert_ne!(with(true, true), with(true, false));
    assert_eq!(with(true, false), with(false, false), "all of the encoder is frozen");
}

/// Reading a constant prefix instead of computing it in every step changes no bit.
#[test]
fn a_cached_prefix_changes_nothing() {
    for encoder in [distilbert(), bert()] {
        let setting = setting(encoder, true);
        for (name, blocks) in [("first-2+embeddings", 2), ("none+embeddings", 0), ("head-only", 3)] {
            for precision in [Precision::F32, Precision::Bf16] {
                let dropout = DropoutConfig { frozen: false, ..DropoutConfig::default() };
                let config = TrainConfig { dropout, precision, ..config() };
                let computed = run(&setting, name, &config).unwrap();
                let cached = run_cached(&setting, name, blocks, &config).unwrap();
                let bits = |finished: &Finished<B>| {
                    let losses: Vec<_> = finished.losses.iter().map(|p| p.loss_nats.to_bits()).collect();
                    let dev: Vec<_> = finished.epochs.iter().map(|e| e.dev.loss_nats.to_bits()).collect();
                    (losses, dev, exported(&setting, finished))
                };
                if B::k_isa() == "avx512" {
                    assert!(bits(&computed) == bits(&cached), "{name} {precision:?}");
                } else {
                    // Other products may sum a row in another order when there are other rows.
                    for (a, b) in computed.losses.iter().zip(&cached.losses) {
                        assert!((a.loss_nats - b.loss_nats).abs() < 1e-6, "{name} {precision:?}");
                    }
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "no constant of the data")]
fn a_prefix_that_learns_cannot_be_cached() {
    let dropout = DropoutConfig { frozen: false, ..DropoutConfig::default() };
    let _ = run_cached(&setting(distilbert(), true), "first-2", 2, &TrainConfig { dropout, ..config() });
}

#[test]
#[should_panic(expected = "no constant of the data")]
fn a_prefix_with_dropout_cannot_be_cached() {
    let _ = run_cached(&setting(distilbert(), true), "first-2+embeddings", 2, &config());
}

#[test]
fn divergence_is_said_with_its_step() {
    let setting = setting(distilbert(), true);
    let optimizer = OptimizerConfig { lr: 1e30, clip_norm: 0.0, ..OptimizerConfig::default() };
    let Err(error) = run(&setting, "none", &TrainConfig { optimizer, ..config() }) else {
        panic!("a learning rate of 1e30 must fail")
    };
    assert!(error.to_string().contains("training diverged"), "{error}");
}

#[test]
fn tags_that_train_lacks_are_wrong_and_named() {
    let mut setting = setting(distilbert(), false);
    let aligner =
        Aligner::from_vocab("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ndog\n", &VocabOptions::default()).unwrap();
    let sentences = [TaggedSentence { words: vec!["a", "dog", "_"], tags: vec!["DET", "X", "_"] }];
    let tags: Vec<String> = TAGS.iter().map(|tag| (*tag).into()).collect();
    let mut dev = Dataset::build(&Split { name: "dev", sentences: &sentences }, &aligner, &tags).unwrap();
    assert_eq!(dev.unseen_tags, ["X"]);
    dev.compact(&setting.vocabulary);
    setting.dev = dev;
    let finished = run(&setting, "none", &config()).unwrap();
    let tally = finished.epochs[1].dev.tally;
    assert_eq!((tally.words, tally.scored, tally.unseen_scored), (2, 2, 1));
}
