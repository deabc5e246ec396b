//! Tiny random encoders and made-up sentences to train on.

#![allow(dead_code, reason = "each test file uses a part of it")]

use burn::backend::Autodiff;
use burn::module::AutodiffModule as _;
use frostline_align::{Aligner, VocabOptions};
use frostline_freeze::{ResolvedPolicy, Timeline};
use frostline_model::{
    EncoderConfig, HeadKind, HeadShape, HuggingFaceExport, Network, RandomInit, Vocabulary, snapshot,
};
use frostline_random::Stream;
use frostline_train::{
    Dataset, Finished, Prefix, Run, RunEvent, Settings, Split, TaggedSentence, Task, TrainError, Unit, View,
    compute_prefix, extras, tag_set, train,
};

/// What runs compute on: the processor, or with the feature `wgpu` the device that wgpu finds.
#[cfg(not(feature = "wgpu"))]
pub type Device = burn::backend::Flex;
#[cfg(feature = "wgpu")]
pub type Device = burn::backend::Wgpu;

pub type B = Autodiff<Device>;

pub const WORDS: [&str; 8] = ["a", "dog", "cat", "sees", "hears", "old", "runs", "ning"];
pub const TAGS: [&str; 4] = ["DET", "NOUN", "VERB", "ADJ"];

pub fn distilbert() -> EncoderConfig {
    let text = r#"{"model_type": "distilbert", "vocab_size": 16, "dim": 16, "n_layers": 3, "n_heads": 2,
        "hidden_dim": 32, "max_position_embeddings": 32}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

pub fn bert() -> EncoderConfig {
    let text = r#"{"model_type": "bert", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 32, "type_vocab_size": 2}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

pub fn roberta() -> EncoderConfig {
    let text = r#"{"model_type": "roberta", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 34, "type_vocab_size": 1,
        "pad_token_id": 1}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

/// Tables narrower than the blocks.
pub fn electra() -> EncoderConfig {
    let text = r#"{"model_type": "electra", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 32, "type_vocab_size": 2,
        "embedding_size": 12, "hidden_act": "gelu_new"}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

/// Rotary positions, norms before the layers, gates, and windows narrower than the sentences.
pub fn modernbert() -> EncoderConfig {
    let text = r#"{"model_type": "modernbert", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 32, "local_attention": 4,
        "attention_dropout": 0.1, "embedding_dropout": 0.1, "mlp_dropout": 0.1}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

/// Relative positions, of which some share buckets.
pub fn deberta() -> EncoderConfig {
    let text = r#"{"model_type": "deberta-v2", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 32, "type_vocab_size": 0,
        "relative_attention": true, "position_buckets": 6, "position_biased_input": false,
        "norm_rel_ebd": "layer_norm", "share_att_key": true, "pos_att_type": "p2c|c2p"}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

/// RMSNorms, no norm of the embeddings, and two heads of queries that share keys and values.
pub fn eurobert() -> EncoderConfig {
    let text = r#"{"model_type": "eurobert", "vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 3,
        "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24, "max_position_embeddings": 32,
        "attention_dropout": 0.1}"#;
    EncoderConfig::parse(text, "test").unwrap()
}

pub fn sentences(seed: u64, count: usize) -> Vec<TaggedSentence<'static>> {
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

pub struct Setting {
    pub encoder: EncoderConfig,
    pub vocabulary: Vocabulary,
    pub train: Dataset,
    pub dev: Dataset,
    pub tags: usize,
}

pub fn setting(encoder: EncoderConfig, compact: bool) -> Setting {
    // Ids 12 to 15 are in the table but in no sentence.
    let vocab = format!("[PAD]\n[UNK]\n[CLS]\n[SEP]\n{}\n", WORDS.join("\n"));
    let aligner = Aligner::from_vocab(&vocab, &VocabOptions::default()).unwrap();
    let (train, dev) = (sentences(1, 40), sentences(2, 10));
    let tags = tag_set(&train);
    let build = |name, sentences: &[_]| {
        Dataset::build(&Split { name, sentences, unit: Unit::Words }, &aligner, &tags).unwrap()
    };
    let (mut train, mut dev) = (build("train", &train), build("dev", &dev));
    let vocabulary =
        if compact { Vocabulary::of(16, train.ids().chain(dev.ids())) } else { Vocabulary::full(16) };
    train.compact(&vocabulary);
    dev.compact(&vocabulary);
    Setting { encoder, vocabulary, train, dev, tags: tags.len() }
}

/// The encoder with what the policy adds; LoRA stands beside these matrices.
pub fn with_extras(encoder: &EncoderConfig, policy: &ResolvedPolicy, matrices: &str) -> EncoderConfig {
    let settings = settings(|s| {
        (s.lora.rank, s.lora.alpha, s.lora.matrices) = (2, 4.0, matrices.into());
        s.adapters.size = 5;
    });
    EncoderConfig { extras: extras(&settings, &[policy], encoder.depth).unwrap(), ..encoder.clone() }
}

/// A second task: whether a sentence has an old thing in it.
pub fn labelled(setting: &Setting, seed: u64, count: usize) -> Dataset {
    let all = sentences(seed, count);
    let label = |sentence: &TaggedSentence<'_>| if sentence.words.contains(&"old") { "old" } else { "new" };
    let all: Vec<TaggedSentence<'_>> = all
        .iter()
        .map(|sentence| TaggedSentence { words: sentence.words.clone(), tags: vec![label(sentence)] })
        .collect();
    let vocab = format!("[PAD]\n[UNK]\n[CLS]\n[SEP]\n{}\n", WORDS.join("\n"));
    let aligner = Aligner::from_vocab(&vocab, &VocabOptions::default()).unwrap();
    let tags = ["new".to_string(), "old".to_string()];
    let split = Split { name: "train", sentences: &all, unit: Unit::Sentences };
    let mut set = Dataset::build(&split, &aligner, &tags).unwrap();
    set.compact(&setting.vocabulary);
    set
}

/// A model with a head for the second task, too.
pub fn two_headed(setting: &Setting, kind: HeadKind) -> Network<B> {
    let heads = [HeadShape::linear(setting.tags), HeadShape { name: "head.old".into(), kind, labels: 2 }];
    let Setting { encoder, vocabulary, .. } = setting;
    Network::build(encoder, vocabulary, &heads, [&draw(), &draw()], &Default::default()).unwrap()
}

/// Two short epochs at a high rate, with these changes.
pub fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    (settings.optimizer.lr, settings.optimizer.weight_decay) = (1e-3, 0.1);
    (settings.train.epochs, settings.train.batch, settings.train.log_every) = (2, 8, 3);
    change(&mut settings);
    settings
}

/// Changes nothing.
pub fn as_they_are(_: &mut Settings) {}

pub fn draw() -> RandomInit {
    RandomInit::new(5, 0.02)
}

pub fn model(setting: &Setting) -> Network<B> {
    let Setting { encoder, vocabulary, tags, .. } = setting;
    let heads = [HeadShape::linear(*tags)];
    Network::build(encoder, vocabulary, &heads, [&draw(), &draw()], &Default::default()).unwrap()
}

pub fn run(setting: &Setting, policy: &str, settings: &Settings) -> Result<Finished<B>, TrainError> {
    let policy = ResolvedPolicy::parse(policy, setting.encoder.depth).unwrap();
    let tasks = [Run::task((&setting.train).into(), (&setting.dev).into())];
    train(&of(setting, settings, &policy.into(), &tasks), model(setting), None, &mut |_: RunEvent<'_>| ())
}

pub fn of<'a>(
    setting: &'a Setting,
    settings: &'a Settings,
    timeline: &'a Timeline,
    tasks: &'a [Task<'a>],
) -> Run<'a> {
    Run::new(settings, &setting.encoder, timeline, tasks)
}

/// As [`run`], with the outputs of the lowest blocks computed first.
pub fn run_cached(
    setting: &Setting,
    policy: &str,
    blocks: usize,
    settings: &Settings,
) -> Result<Finished<B>, TrainError> {
    let policy = ResolvedPolicy::parse(policy, setting.encoder.depth).unwrap();
    let model = model(setting);
    let plain = model.valid();
    let rows = [&setting.train, &setting.dev]
        .map(|data| (prefix_rows(setting, &plain, data.into(), blocks, settings), data.starts()));
    let prefix = |split: usize| {
        let (rows, starts) = &rows[split];
        Some(Prefix { blocks, hidden: setting.encoder.hidden, rows, starts })
    };
    let view = |data, split| View { data, prefix: prefix(split) };
    let tasks = [Run::task(view(&setting.train, 0), view(&setting.dev, 1))];
    train(&of(setting, settings, &policy.into(), &tasks), model, None, &mut |_: RunEvent<'_>| ())
}

/// The output of the lowest blocks, a few sentences at a time.
pub fn prefix_rows(
    setting: &Setting,
    model: &Network<Device>,
    view: View<'_>,
    blocks: usize,
    settings: &Settings,
) -> Vec<f32> {
    let mut rows = Vec::new();
    let mut take = |some: &[f32]| {
        rows.extend_from_slice(some);
        Ok::<_, std::convert::Infallible>(())
    };
    let mut settings = settings.clone();
    settings.eval.batch_tokens = 23;
    compute_prefix(model, &setting.encoder, view, blocks, &settings, &mut take).unwrap();
    rows
}

/// The exported file's tensors by Hugging Face name.
pub fn exported(setting: &Setting, finished: &Finished<B>) -> Vec<(String, Vec<u8>)> {
    let parameters = snapshot(&finished.model);
    let (source, config) = (draw(), &setting.encoder);
    let other_rows = finished.untouched_rows;
    let export = HuggingFaceExport {
        config,
        parameters: &parameters,
        head: 0,
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
