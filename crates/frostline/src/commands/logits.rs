//! `frostline logits`: the logits or hidden states of a model, for comparison with other programs.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use frostline_align::AlignOptions;
use frostline_sweep::note;
use frostline_tagger::{ModelFolder, Positions};
use serde::Serialize;

use super::{Stop, choose_backend, read_input, thread_pool};

/// Print the logits of every position as JSON lines: a line of `ids` and `logits` per sentence.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline logits --model study/cells/CELL/model --input sentences.txt
    echo 'The ice melts .' | frostline logits --model models/all-MiniLM-L6-v2 --input - --hidden")]
pub struct Logits {
    /// Model folder: config.json, weights and tokenizer.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Text file: a sentence per line, words separated by white space; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Print the last hidden states (`hidden`) instead of logits; needs no classifier.
    #[arg(long)]
    hidden: bool,
    /// The most positions of a sentence, special tokens included; the encoder's own by default.
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Lowercase every word first.
    #[arg(long)]
    lowercase: bool,
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
}

/// The output line of a sentence.
#[derive(Serialize)]
struct LogitsLine<'a> {
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
    /// If the model or the text cannot be read, or logits are requested from a model without a classifier.
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
        let sentences = self.token_ids(&folder, options)?;
        let positions = Positions { folder: &folder, sentences: &sentences, hidden: self.hidden };
        let backend = choose_backend(self.backend)?;
        let hidden = self.hidden;
        // The thread that computes sends lines to this one, which writes them.
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut line = move |ids: &[u32], states: Vec<&[f32]>| {
            let (logits, hidden) = if hidden { (None, Some(states)) } else { (Some(states), None) };
            let line = serde_json::to_string(&LogitsLine { ids, logits, hidden });
            line.is_ok_and(|line| sender.send(line).is_ok())
        };
        std::thread::scope(|scope| {
            let pool = thread_pool(None)?;
            let work = scope.spawn(move || pool.install(|| positions.compute(&backend, &mut line)));
            for line in receiver {
                writeln!(out, "{line}")?;
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// The token ids of every line of the input.
    fn token_ids(&self, folder: &ModelFolder, options: AlignOptions) -> Result<Vec<Vec<u32>>> {
        let aligner = folder.aligner(options)?;
        let name = self.input.display();
        let text = String::from_utf8(read_input(&self.input)?).map_err(|error| {
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
                note!("{}: {lost} of {} words cut off at {length} positions", place(), words.len());
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
