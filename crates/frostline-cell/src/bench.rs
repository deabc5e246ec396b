//! Measurements of `frostline bench`. They time the real training loop, reader and aligner on real input, never
//! a second version of them.
//!
//! # To add a measurement
//!
//! `frostline bench` (`crates/frostline-cell/src/bench.rs`) times the real loop, reader and products and prints one
//! JSON line; `cargo xtask bench` repeats measurements, compares them and makes tables. A new quantity is a
//! subcommand of the former.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use burn::module::AutodiffModule as _;
use burn::prelude::*;
use frostline_align::Aligner;
use frostline_assets::Places;
use frostline_freeze::{Cost, Policy, PrefixMode, Workload};
use frostline_kernels::{DeviceCalls, Kernels as _, Precision, Train};
use frostline_model::{EncoderConfig, HeadShape, Network as Model, ParameterSource, RandomInit, Vocabulary};
use frostline_random::Stream;
use frostline_record::{Init, Input, Inputs, Settings, Switch};
use frostline_train::{
    Dataset, Example, Prefix, Run, RunEvent, Split, TaggedSentence, Unit, View, compute_prefix, extras,
    tag_set, train,
};
use serde::Serialize;

use crate::blocks::encoder_blocks;
use crate::document::{Document, DocumentFormat, Labelled};
use crate::heads::HEAD_STD;
use crate::profile::{self, Limits, Profile};
use crate::{cost, inputs, outcome, version};
use frostline_kernels::backend::{self, Work};
use frostline_tagger::Tagger;

/// An encoder and a treebank on disk.
pub struct Folders {
    inputs: Inputs,
}

/// The steps to time.
pub struct Step {
    /// Draw the encoder's weights instead of reading them.
    pub random_init: bool,
    /// The freezing policy.
    pub policy: Policy,
    /// Steps that are timed.
    pub steps: usize,
    /// Steps before them that are not.
    pub warmup: usize,
    /// Sentences per step.
    pub batch: usize,
    /// Batches come from the first so many train sentences; 0 means all.
    pub first: usize,
    /// The seed of batches, dropout and random weights.
    pub seed: u64,
    /// Use no dropout in frozen parts, and read the constant prefix, computed before the first step.
    pub prefix_cache: bool,
    /// Precision of the linear layers.
    pub precision: Precision,
    /// Random sentences of this many subwords instead of the treebank's.
    pub length: Option<usize>,
    /// Count a step's requests to its device.
    pub trace_device: bool,
    /// Time each kind of operation of the backend `flex`. Takes all steps twice.
    pub profile: bool,
}

/// Timed steps.
#[derive(Debug, Serialize)]
pub struct Timed {
    /// Mean time of a step, in milliseconds.
    pub step_ms_mean: f64,
    /// Median, in milliseconds.
    pub step_ms_median: f64,
    /// Fastest, in milliseconds.
    pub step_ms_min: f64,
    /// Steps timed.
    pub steps: usize,
    /// Subwords of the timed steps.
    pub tokens: usize,
    /// Floating-point operations of a mean step by the cost model, in GFLOP.
    pub gflop_per_step: f64,
    /// All of a mean step's work by the cost model.
    #[serde(skip)]
    pub work: frostline_freeze::Work,
    /// Peak resident memory of the process, in MiB.
    pub peak_rss_mib: f64,
    /// Parameters of encoder and head.
    pub total_params: u64,
    /// Number of trainable parameters.
    pub trainable_params: u64,
    /// A mean step's requests to its device, warm-up included, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<PerStep>,
    /// A step in parts, if they were timed. The other times are from steps without timers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

/// Requests of a mean step to its device.
#[derive(Debug, Serialize)]
pub struct PerStep {
    /// Kernels.
    pub launches: f64,
    /// Transfers to the device.
    pub uploads: f64,
    /// Number of uploaded bytes.
    pub uploaded_bytes: f64,
    /// Transfers from the device, each of which waits until it has done all before. The losses of all steps are read
    /// once, after the last one.
    pub reads: f64,
    /// Kernels by name.
    pub kernels: BTreeMap<String, f64>,
}

impl From<DeviceCalls> for PerStep {
    fn from(calls: DeviceCalls) -> Self {
        let per_step = |count: u64| count as f64 / calls.steps.max(1) as f64;
        Self {
            launches: calls.launches_per_step(),
            uploads: per_step(calls.uploads),
            uploaded_bytes: per_step(calls.uploaded_bytes),
            reads: per_step(calls.reads),
            kernels: calls.launches.iter().map(|(name, count)| (name.clone(), per_step(*count))).collect(),
        }
    }
}

impl Folders {
    /// Finds the encoder and the treebank; with `weights`, also the encoder's weights.
    ///
    /// # Errors
    /// If one of them is missing.
    pub fn find(places: &Places, [encoder, treebank]: [&str; 2], weights: bool) -> Result<Self> {
        let sources = places.encoder(encoder, weights)?.sources.into_iter();
        let input = |(role, file): (String, frostline_assets::Source)| {
            (role, Input { path: file.path, sha256: file.sha256, bytes: file.bytes })
        };
        Ok(Self { inputs: sources.chain(places.treebank(treebank)?.sources).map(input).collect() })
    }

    /// Returns the encoder's shape.
    ///
    /// # Errors
    /// If its config cannot be read or used.
    pub fn encoder(&self) -> Result<EncoderConfig> {
        inputs::encoder_config(&self.inputs)
    }

    fn aligner(&self) -> Result<Aligner> {
        inputs::aligner(&self.inputs, &Settings::default().data)
    }

    /// Returns a split's text and its path.
    fn text(&self, split: &str) -> Result<(Arc<str>, &str)> {
        Ok((inputs::text(&self.inputs, split)?.into(), &inputs::input(&self.inputs, split)?.path))
    }

    fn treebank(&self, split: &str) -> Result<Document> {
        let (text, path) = self.text(split)?;
        Document::parse(text, path, DocumentFormat::Treebank)
    }

    fn weights(&self, step: &Step, config: &EncoderConfig) -> Result<Box<dyn ParameterSource>> {
        let mut settings = Settings { seed: step.seed, ..Settings::default() };
        settings.encoder.init = if step.random_init { Init::Random } else { Init::Pretrained };
        inputs::encoder_source(&self.inputs, &settings, config)
    }
}

impl Step {
    /// Times the steps on this backend, with the threads of the caller's pool.
    ///
    /// # Errors
    /// If an input cannot be read or does not fit, or the backend cannot run here.
    pub fn time(&self, folders: &Folders, backend: &str) -> Result<Timed> {
        backend::on(backend, StepTask { folders, step: self })?
    }
}

/// Times training steps on some backend.
pub(crate) struct StepTask<'a> {
    /// The encoder and the treebank.
    pub folders: &'a Folders,
    /// Which.
    pub step: &'a Step,
}

impl Work for StepTask<'_> {
    type Output = Result<Timed>;

    fn run<B: Train>(self, device: &B::Device) -> Result<Timed> {
        let Self { folders, step } = self;
        let mut encoder = inputs::encoder_config(&folders.inputs)?;
        let policy = step.policy.resolve(encoder_blocks(&encoder), &["head"])?;
        encoder.extras = extras(&Settings::default(), &[&policy], encoder.depth)?;
        let ([all, mut dev], tags, vocabulary) = bench_datasets(folders, step)?;
        let head = RandomInit::new(step.seed, HEAD_STD);
        let source = folders.weights(step, &encoder)?;
        let heads = [HeadShape::linear(tags.len())];
        let build = || -> Result<Model<B>> {
            Ok(Model::build(&encoder, &vocabulary, &heads, [&*source, &head], device)?)
        };
        let model = build()?;
        let settings = step.settings();
        let blocks = policy.constant_prefix().filter(|_| step.prefix_cache);
        if step.prefix_cache && blocks.is_none() {
            bail!("the policy `{policy}` leaves no constant prefix: its embeddings learn");
        }
        // The outputs of all sentences, as a run keeps them, so that the peak of memory equals a run's.
        let mut rows = [Vec::new(), Vec::new()];
        if let Some(blocks) = blocks {
            for (rows, data) in rows.iter_mut().zip([&all, &dev]) {
                *rows = prefix_rows(&model, &encoder, data, blocks, &settings)?;
            }
        }
        let order = draw_places(all.examples.len(), (step.steps + step.warmup) * step.batch, step.seed);
        let starts = all.starts();
        let starts = [order.iter().map(|&at| starts[at]).collect(), vec![0]];
        let examples = order.iter().map(|&at| all.examples[at].clone()).collect();
        let train_set = Dataset { examples, unseen_tags: Vec::new() };
        dev.examples.truncate(1);
        let view = |data, at: usize| View {
            data,
            prefix: blocks.map(|blocks| Prefix {
                blocks,
                hidden: encoder.hidden,
                rows: &rows[at],
                starts: &starts[at],
            }),
        };
        let tasks = [Run::task(view(&train_set, 0), view(&dev, 1))];
        let timeline = policy.clone().into();
        let run = Run { waits: true, ..Run::new(&settings, &encoder, &timeline, &tasks) };
        let mut peak = None;
        let (mut times, calls, profile) = if step.profile {
            drop(model);
            let limits = || {
                // Read the peak before the profile uses memory.
                peak = Some(version::peak_rss_mib());
                step.limits::<B>(device)
            };
            let (times, profile) = profile::measure::<B>(&run, step.warmup, build, limits)?;
            (times, DeviceCalls::default(), Some(profile))
        } else {
            let take = || train::<B>(&run, model, None, &mut |_: RunEvent<'_>| {});
            let (finished, calls) = match step.trace_device {
                true => DeviceCalls::count(take),
                false => (take(), DeviceCalls::default()),
            };
            (finished?.times.steps_ms[step.warmup..].to_vec(), calls, None)
        };
        times.sort_by(f64::total_cmp);
        let words = train_set.examples.iter().flat_map(|example| &example.words);
        let label_positions = words.filter(|word| word.is_ok()).count() as u64;
        let lengths = train_set.examples.iter().map(|example| example.ids.len());
        let workload = Workload::of(lengths, label_positions, (step.steps + step.warmup) as u64);
        let shape = cost::shape(&encoder, tags.len(), vocabulary.rows().len());
        let lazy = B::InnerBackend::k_lazy_table().is_some();
        let shape = if lazy { shape.reading(workload.subwords as usize) } else { shape };
        let prefix = if blocks.is_some() { PrefixMode::ALL_CACHED } else { PrefixMode::Computed };
        let work = Cost::with_prefix(&shape, &workload, &policy, prefix).total();
        let accounts = outcome::accounts(&encoder, &heads, &policy);
        Ok(Timed {
            step_ms_mean: times.iter().sum::<f64>() / times.len() as f64,
            step_ms_median: times[times.len() / 2],
            step_ms_min: times[0],
            steps: times.len(),
            tokens: train_set.subwords() * step.steps / (step.steps + step.warmup),
            gflop_per_step: work.gflop(),
            work,
            peak_rss_mib: peak.unwrap_or_else(version::peak_rss_mib),
            total_params: accounts.total,
            trainable_params: accounts.trainable,
            device: step.trace_device.then(|| calls.into()),
            profile,
        })
    }
}

impl Step {
    /// The settings of a run of such steps.
    fn settings(&self) -> Settings {
        let mut settings = Settings { seed: self.seed, ..Settings::default() };
        (settings.train.epochs, settings.train.batch) = (1, self.batch);
        settings.train.precision = self.precision;
        if self.trace_device {
            settings.train.log_every = u32::MAX.into();
        }
        if self.profile {
            settings.train.log_every = 1;
        }
        settings.dropout.frozen = if self.prefix_cache { Switch::Off } else { Switch::On };
        settings
    }

    /// Measures the limits of this machine, with the threads of the caller's pool.
    fn limits<B: Train>(&self, device: &B::Device) -> Limits {
        let peak = |precision| Gemm { precision }.run::<B>(device).gflops;
        let f32_gflops = peak(Precision::F32);
        let product_gflops = if self.precision == Precision::F32 { f32_gflops } else { peak(self.precision) };
        Limits { product_gflops, f32_gflops, memory_gb_per_s: profile::memory_gb_per_s() }
    }
}

/// Computes the hidden states of all sentences above a constant prefix of so many blocks, \[N, H\].
fn prefix_rows<B: Train>(
    model: &Model<B>,
    encoder: &EncoderConfig,
    data: &Dataset,
    blocks: usize,
    settings: &Settings,
) -> Result<Vec<f32>> {
    let mut settings = settings.clone();
    settings.eval.batch_tokens = 4096;
    let mut rows = Vec::with_capacity(data.subwords() * encoder.hidden);
    let mut take = |some: &[f32]| {
        rows.extend_from_slice(some);
        anyhow::Ok(())
    };
    compute_prefix(&model.valid(), encoder, data.into(), blocks, &settings, &mut take)?;
    Ok(rows)
}

/// Train and dev as examples, the tags, and the rows that occur.
fn bench_datasets(folders: &Folders, step: &Step) -> Result<([Dataset; 2], Vec<String>, Vocabulary)> {
    let aligner = folders.aligner()?;
    let [train, dev] = [folders.treebank("train")?, folders.treebank("dev")?];
    let [mut train, dev] = [&train, &dev].map(tagged_sentences);
    if step.first > 0 {
        train.truncate(step.first);
    }
    let tags = tag_set(&train);
    let build = |name, sentences: &[_]| {
        Dataset::build(&Split { name, sentences, unit: Unit::Words }, &aligner, &tags)
    };
    let mut sets = [build("train", &train)?, build("dev", &dev)?];
    if let Some(length) = step.length {
        sets[0].examples = of_length(&sets[0], length, step);
    }
    let encoder = inputs::encoder_config(&folders.inputs)?;
    inputs::check_ids(&folders.inputs, &aligner, &encoder)?;
    let ids = sets.iter().flat_map(Dataset::ids);
    let vocabulary = Vocabulary::of(encoder.vocabulary, ids);
    for set in &mut sets {
        set.compact(&vocabulary);
    }
    Ok((sets, tags, vocabulary))
}

/// Returns every sentence of a treebank with its parts of speech.
fn tagged_sentences(document: &Document) -> Vec<TaggedSentence<'_>> {
    document.all_labelled("upos").into_iter().map(|sentence| sentence.tagged).collect()
}

/// Places of as many sentences as are wanted, drawn anew whenever all were used.
fn draw_places(sentences: usize, wanted: usize, seed: u64) -> Vec<usize> {
    let passes = (0u64..).flat_map(|pass| Stream::new(seed, "bench").child(pass).permutation(sentences));
    passes.take(wanted).collect()
}

/// Sentences of one length, made of the dataset's ids in their order, in which every position is a label position.
fn of_length(data: &Dataset, length: usize, step: &Step) -> Vec<Example> {
    let mut ids = data.examples.iter().cycle().flat_map(|example| example.ids.iter().copied());
    (0..(step.steps + step.warmup) * step.batch)
        .map(|_| Example {
            ids: ids.by_ref().take(length).collect(),
            rows: Vec::new(),
            words: (0..length as u32).map(Ok).collect(),
            gold: vec![Some(0); length],
        })
        .collect()
}

/// The machine's peak.
#[derive(Debug, Serialize)]
pub struct Peak {
    /// The fastest of many products, two operations per multiply-add, in GFLOP/s.
    pub gflops: f64,
}

impl Peak {
    /// Times products of operands in this precision on this backend, with the threads of the caller's pool.
    ///
    /// # Errors
    /// If the backend cannot run here.
    pub fn measure(backend: &str, precision: Precision) -> Result<Self> {
        Ok(backend::on(backend, Gemm { precision })?)
    }
}

/// Times a large linear layer, for which the backend uses its fastest product.
struct Gemm {
    /// Precision of the operands.
    precision: Precision,
}

impl Work for Gemm {
    type Output = Peak;

    fn run<B: Train>(self, device: &B::Device) -> Peak {
        const SIDE: usize = 1536;
        type Inner<B> = <B as burn::tensor::backend::AutodiffBackend>::InnerBackend;
        let random =
            || Tensor::<Inner<B>, 2>::random([SIDE, SIDE], burn::tensor::Distribution::Default, device);
        let (x, weight, bias) = (random(), random(), Tensor::zeros([SIDE], device));
        let fastest = (0..40).map(|_| {
            let clock = Instant::now();
            let y = Inner::<B>::k_linear(x.clone(), weight.clone(), bias.clone(), self.precision);
            // Reading one number waits for the product on every backend.
            let _ = y.slice([0..1, 0..1]).into_data();
            clock.elapsed().as_secs_f64()
        });
        Peak { gflops: 2.0 * (SIDE as f64).powi(3) / fastest.fold(f64::INFINITY, f64::min) / 1e9 }
    }
}

/// Speeds of the reader and the aligner.
#[derive(Debug, Serialize)]
pub struct Reading {
    /// Millions of bytes parsed per second, one thread.
    pub parse_mb_per_s: f64,
    /// Sentences parsed per second, one thread.
    pub parse_sentences_per_s: f64,
    /// Sentences aligned per second, one thread, no word cache.
    pub align_sentences_per_s: f64,
}

impl Reading {
    /// Reads a treebank's train file over and over; the fastest pass counts.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn measure(folders: &Folders) -> Result<Self> {
        const PASSES: usize = 5;
        let (text, path) = folders.text("train")?;
        let aligner = folders.aligner()?.with_cache(false);
        let parsed = || Document::parse(text.clone(), path, DocumentFormat::Treebank);
        let document = parsed()?;
        let parse = time_fastest(PASSES, || parsed().map(|document| document.len()))?;
        let words: Vec<Vec<&str>> = (0..document.len()).map(|at| document.words(at)).collect();
        let align = time_fastest(PASSES, || {
            words.iter().try_fold(0, |sum, words| Ok(sum + aligner.align(words)?.ids.len()))
        })?;
        let count = document.len() as f64;
        Ok(Self {
            parse_mb_per_s: text.len() as f64 / 1e6 / parse,
            parse_sentences_per_s: count / parse,
            align_sentences_per_s: count / align,
        })
    }
}

/// Speed of a trained tagger.
#[derive(Debug, Serialize)]
pub struct Tagging {
    /// Sentences tagged per second, from words to tags.
    pub tag_sentences_per_s: f64,
    /// Words tagged per second.
    pub tag_words_per_s: f64,
    /// Sentences of the file.
    pub sentences: usize,
    /// Number of words.
    pub words: usize,
    /// Mean work of the encoder and its head per sentence, in 10⁹ floating-point operations.
    pub gflop_per_sentence: f64,
    /// Share of the tagged words whose predicted tag equals the file's.
    pub test_accuracy: f64,
    /// Peak resident memory of the process, in MiB.
    pub peak_rss_mib: f64,
}

impl Tagging {
    /// Tags a treebank's test file once, after its dev file as a warm-up. In a second pass the word cache would
    /// contain every word.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn measure(tagger: &Tagger, treebank: &str) -> Result<Self> {
        let sources = Places::default().treebank(treebank)?.sources;
        let read = |split: &str| -> Result<Document> {
            let Some(source) = sources.get(split) else { bail!("{treebank} has no {split} file to tag") };
            let bytes = frostline_assets::read(&source.path)?.into_owned();
            let text = String::from_utf8(bytes).with_context(|| source.path.clone())?;
            Document::parse(text.into(), &source.path, DocumentFormat::Treebank)
        };
        let documents = [read("dev")?, read("test")?];
        let [dev, test] = [0, 1].map(|split: usize| documents[split].all_labelled("upos"));
        let words = |sentences: &[Labelled<'_>]| -> Vec<Vec<String>> {
            let owned =
                |sentence: &Labelled<'_>| sentence.tagged.words.iter().map(|it| (*it).into()).collect();
            sentences.iter().map(owned).collect()
        };
        let (dev, input) = (words(&dev), words(&test));
        tagger.tag_all(&dev[..dev.len().min(64)])?;
        let clock = Instant::now();
        let answers = tagger.tag_all(&input)?;
        let seconds = clock.elapsed().as_secs_f64();
        let gold = test.iter().flat_map(|sentence| &sentence.tagged.tags);
        let pairs = gold.zip(answers.iter().flatten()).filter(|(gold, _)| **gold != "_");
        let (mut correct, mut scored) = (0, 0);
        for (gold, answer) in pairs {
            scored += 1;
            correct += usize::from(*gold == answer.tag);
        }
        let words = input.iter().map(Vec::len).sum();
        let peak_rss_mib = version::peak_rss_mib();
        Ok(Self {
            tag_sentences_per_s: input.len() as f64 / seconds,
            tag_words_per_s: words as f64 / seconds,
            sentences: input.len(),
            words,
            gflop_per_sentence: forward_gflop(tagger, &input)? / input.len() as f64,
            test_accuracy: correct as f64 / f64::from(scored.max(1)),
            peak_rss_mib,
        })
    }
}

/// Work of a tagger for these sentences, in 10⁹ floating-point operations, without LoRA and adapters.
fn forward_gflop(tagger: &Tagger, sentences: &[Vec<String>]) -> Result<f64> {
    let (mut lengths, mut labels) = (Vec::new(), 0);
    for words in sentences {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for window in tagger.aligner().align_windows(&words)? {
            lengths.push(window.ids.len());
            labels += window.label_positions.len() as u64;
        }
    }
    let encoder = tagger.encoder();
    let shape = cost::shape(encoder, tagger.labels().len(), encoder.vocabulary);
    let frozen = "head-only".parse::<Policy>()?.resolve(encoder.depth, &["head"])?;
    let work = Cost::of(&shape, &Workload::of(lengths, labels, 1), &frozen).total();
    Ok(frostline_freeze::Work { backward_inputs: 0.0, backward_weights: 0.0, ..work }.gflop())
}

/// Seconds of the fastest pass.
fn time_fastest(passes: usize, mut work: impl FnMut() -> Result<usize>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..passes {
        let clock = Instant::now();
        std::hint::black_box(work()?);
        best = best.min(clock.elapsed().as_secs_f64());
    }
    Ok(best)
}
