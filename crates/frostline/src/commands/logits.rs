//! `frostline logits`: what a model folder computes, to compare with any other program.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use burn::tensor::backend::Backend;
use clap::Args;
use frostline_align::AlignOptions;
use frostline_kernels::{Kernels, Pack, Train};
use frostline_model::{Encoder, Input, Pass, Tagger, Vocabulary};
use serde::Serialize;

use super::{Stop, bytes, named, pool};
use crate::backend::{self, Task};
use crate::model_folder::ModelFolder;

/// Subwords that go through the model at a time.
const BATCH_TOKENS: usize = 2048;

/// Print the logits of every position as JSON lines: a line of `ids` and `logits` per sentence.
#[derive(Args)]
pub struct Logits {
    /// Model folder: config.json, weights and tokenizer.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Text file: a sentence per line, words separated by white space; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The last hidden states (`hidden`) in place of logits; needs no classifier.
    #[arg(long)]
    hidden: bool,
    /// The most positions of a sentence, special tokens included; the encoder's own by default.
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Lowercase every word first.
    #[arg(long)]
    lowercase: bool,
    /// flex, ndarray or cuda, as far as this build has it.
    #[arg(long)]
    backend: Option<String>,
}

/// A sentence's line.
#[derive(Serialize)]
struct Line<'a> {
    ids: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    logits: Option<Vec<&'a [f32]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden: Option<Vec<&'a [f32]>>,
}

impl Logits {
    /// Prints a line per sentence.
    ///
    /// # Errors
    /// Where the model or the text cannot be read, or the model has no classifier and logits are
    /// asked for.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let folder = ModelFolder::open(&self.model)?;
        let positions = folder.config.longest_input();
        let max_length = self.max_length.unwrap_or(positions);
        if max_length > positions {
            let place = self.model.display();
            let reason =
                format!("{place}: the encoder has {positions} positions; --max-length is {max_length}");
            return Err(Stop::Arguments(format!("{reason}, lower it")).into());
        }
        if !self.hidden && !folder.has_head() {
            let place = self.model.display();
            let reason = "the weights hold no classifier, so there are no logits";
            return Err(Stop::Arguments(format!("{place}: {reason}; ask for --hidden")).into());
        }
        let options = AlignOptions { max_length, lowercase: self.lowercase, ..AlignOptions::default() };
        let sentences = self.ids(&folder, options)?;
        let forward = Forward { folder: &folder, sentences: &sentences, hidden: self.hidden };
        let backend = named(self.backend)?;
        let mut write = |line: String| -> Result<()> { Ok(writeln!(out, "{line}")?) };
        // The model's threads hand their lines over; the output stays on this one.
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let pool = pool(None)?;
            let work = scope.spawn(move || pool.install(|| backend::on(&backend, (forward, sender))?));
            for line in receiver {
                write(line)?;
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// The token ids of every line.
    fn ids(&self, folder: &ModelFolder, options: AlignOptions) -> Result<Vec<Vec<u32>>> {
        let aligner = folder.aligner(options)?;
        let name = self.input.display();
        let text = String::from_utf8(bytes(&self.input)?).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            Stop::Input(format!("{name}: byte {byte} is not UTF-8; convert the file to UTF-8"))
        })?;
        let mut sentences = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let place = || format!("{name}:{}", number + 1);
            let aligned = aligner.align(&words).with_context(place)?;
            let lost = aligned.truncated.len();
            if lost > 0 {
                let length = options.max_length;
                eprintln!("{}: {lost} of {} words cut off at {length} positions", place(), words.len());
            }
            let rows = folder.config.vocabulary;
            if let Some(id) = aligned.ids.iter().find(|&&id| id as usize >= rows) {
                bail!(
                    "{}: the tokenizer gives the id {id}, but the word table has {rows} rows; they do not belong together",
                    folder.place.display()
                );
            }
            sentences.push(aligned.ids);
        }
        Ok(sentences)
    }
}

/// A forward pass over all sentences.
#[derive(Clone, Copy)]
struct Forward<'a> {
    folder: &'a ModelFolder,
    sentences: &'a [Vec<u32>],
    hidden: bool,
}

/// An encoder, with its classifier or without.
enum Model<B: Backend> {
    Bare(Box<Encoder<B>>),
    Tagger(Box<Tagger<B>>),
}

impl Task for (Forward<'_>, std::sync::mpsc::Sender<String>) {
    type Output = Result<()>;

    fn run<B: Train>(self, device: &B::Device) -> Result<()> {
        self.0.run::<B::InnerBackend>(device, &mut |line| self.1.send(line).is_ok())
    }
}

impl Forward<'_> {
    /// Hands every sentence's line to `tell`, until it says that nobody listens.
    fn run<B: Kernels>(self, device: &B::Device, tell: &mut dyn FnMut(String) -> bool) -> Result<()> {
        let Self { folder, sentences, hidden } = self;
        let (config, weights) = (&folder.config, &folder.weights);
        // One row at least, also for a file of empty lines.
        let ids = sentences.iter().flatten().copied().chain([0]);
        let vocabulary = Vocabulary::of(config.vocabulary, ids);
        let model = if hidden {
            Model::Bare(Box::new(Encoder::<B>::build(config, &vocabulary, [weights, weights], device)?))
        } else {
            let sources: [&dyn frostline_model::Source; 2] = [weights, weights];
            let tagger = Tagger::<B>::build(config, &vocabulary, &[folder.head()], sources, device)?;
            Model::Tagger(Box::new(tagger))
        };
        for batch in batches(sentences) {
            let values = self.values(&model, &vocabulary, batch);
            let mut rows = values.chunks_exact(if hidden { config.hidden } else { folder.tags.len() });
            for ids in batch {
                let states: Vec<&[f32]> = rows.by_ref().take(ids.len()).collect();
                let (logits, hidden) = if hidden { (None, Some(states)) } else { (Some(states), None) };
                if !tell(serde_json::to_string(&Line { ids, logits, hidden })?) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The rows of all positions of some sentences, one after another.
    fn values<B: Kernels>(self, model: &Model<B>, vocabulary: &Vocabulary, batch: &[Vec<u32>]) -> Vec<f32> {
        let config = &self.folder.config;
        // Where there are no special tokens, an empty line has no position and stays out of the pack.
        let lengths: Vec<usize> = batch.iter().map(Vec::len).filter(|&length| length > 0).collect();
        if lengths.is_empty() {
            return Vec::new();
        }
        let ids: Vec<u32> = batch.iter().flatten().filter_map(|&id| vocabulary.row(id)).collect();
        let positions: Vec<u32> = lengths.iter().flat_map(|&length| 0..length as u32).collect();
        let pack = Pack::new(&lengths, &(0..lengths.len() as u64).collect::<Vec<_>>());
        let input = Input { ids: &ids, positions: &positions, pack: &pack };
        let off = Pass::plain(config.depth);
        let states = match model {
            Model::Bare(encoder) => encoder.forward(config, input, &off),
            Model::Tagger(tagger) => {
                let all: Vec<u32> = (0..ids.len() as u32).collect();
                tagger.forward(0, config, input, &all, &off)
            }
        };
        states.into_data().into_vec::<f32>().expect("states are f32")
    }
}

/// Consecutive sentences of about [`BATCH_TOKENS`] subwords.
fn batches(sentences: &[Vec<u32>]) -> impl Iterator<Item = &[Vec<u32>]> {
    let mut rest = sentences;
    std::iter::from_fn(move || {
        let mut size = 0;
        let fits = |ids: &&Vec<u32>| {
            size += ids.len();
            size <= BATCH_TOKENS
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (batch, left) = rest.split_at(count);
        rest = left;
        (!batch.is_empty()).then_some(batch)
    })
}
