//! `frostline tag`: text or CoNLL-U in, tagged CoNLL-U or lines out, a bounded piece at a time.

mod column;
mod input;
mod output;
mod text;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use self::column::Target;
use self::input::{Input, Item};
use self::output::{Output, Style};
use super::{Compute, Stop};
use crate::tagger::{Misfit, Options, Refused, Tagger};

/// Tag text or CoNLL-U with a trained model.
///
/// CoNLL-U keeps every byte but the column that is filled. Text is cut into sentences and words by
/// the rules of Unicode (UAX #29), which are not those of a treebank: `can't` stays one word. What
/// has come in is tagged and written before more is waited for. Memory grows with the longest line or
/// sentence alone.
#[derive(Args)]
pub struct Tag {
    /// Folder of a cell that ran with `--set save.model=true`, such as OUT/cells/NAME, or of a
    /// token classifier in Hugging Face's layout.
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// What to tag; `-` is standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// What the input is [default: conllu for a file named so, else text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// What comes out: CoNLL-U, or lines of a word and its tag with a blank line after a sentence.
    #[arg(long, value_enum, default_value_t = Output::Conllu)]
    output: Output,
    /// Also the tag's probability, as `UposProb=0.9812` in MISC or as a third column.
    #[arg(long)]
    probabilities: bool,
    /// Of a cell with several heads, the task whose head is wanted.
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Where CoNLL-U takes the labels: upos, xpos, deprel, feats.NAME or misc.KEY. By default where
    /// the training had them from.
    #[arg(long, value_name = "COLUMN")]
    column: Option<Target>,
    /// How a line of text becomes sentences.
    #[arg(long, value_enum, default_value_t = Sentences::Unicode)]
    sentences: Sentences,
    /// How a sentence of text becomes words.
    #[arg(long, value_enum, default_value_t = Words::Unicode)]
    words: Words,
    /// Lowercase every word first. By default as in training, for a folder that Frostline did not
    /// write off.
    #[arg(long, value_enum)]
    lowercase: Option<Switch>,
    /// The most positions seen at a time; longer sentences are read in overlapping windows. By
    /// default as in training, for a folder that Frostline did not write the encoder's own.
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// What linear layers are computed in. By default as in training, for a folder that Frostline
    /// did not write f32.
    #[arg(long, value_enum)]
    precision: Option<Compute>,
    /// Threads [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// flex, ndarray or cuda, as far as this build has it.
    #[arg(long)]
    backend: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Sentences or paragraphs, one per line
    Text,
    /// A treebank's format
    Conllu,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sentences {
    /// Cut by the rules of Unicode
    Unicode,
    /// A line is a sentence
    Lines,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Words {
    /// Cut by the rules of Unicode
    Unicode,
    /// What white space separates
    Spaces,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Tag {
    /// Tags.
    ///
    /// # Errors
    /// Where the model or the input cannot be read, they do not fit, or a line of the input says
    /// what it may not; what came before it is written.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let tagger = Tagger::open(&self.run, &self.options()).map_err(blame)?;
        let style = Style {
            column: match self.output {
                Output::Conllu => Some(column::choose(self.column.as_ref(), self.task.as_deref(), &tagger)?),
                Output::Tsv => None,
            },
            probabilities: self.probabilities,
        };
        let named = || self.input.extension().is_some_and(|it| it == "conllu" || it == "conll");
        let format = self.format.unwrap_or(if named() { Format::Conllu } else { Format::Text });
        let mut input = Input::open(&self.input, format, (self.sentences, self.words))?;
        loop {
            let items = input.batch()?;
            if items.is_empty() {
                break;
            }
            let views: Vec<_> = items.iter().map(Item::view).collect();
            let words: Vec<Vec<&str>> = views.iter().map(|view| view.words()).collect();
            let answers = tagger.tag_all(&words).map_err(|error| match error.downcast::<Refused>() {
                Ok(Refused { sentence, source }) => {
                    Stop::Input(format!("{}: {source}", input.place(&items[sentence]))).into()
                }
                Err(error) => error,
            })?;
            for (view, answers) in views.iter().zip(&answers) {
                style.write(out, view, answers)?;
            }
            out.flush()?;
        }
        input.farewell();
        Ok(())
    }

    fn options(&self) -> Options {
        Options {
            task: self.task.clone(),
            lowercase: self.lowercase.map(|switch| switch == Switch::On),
            max_length: self.max_length,
            precision: self.precision.map(Into::into),
            backend: self.backend.clone(),
            threads: self.threads,
        }
    }
}

/// What does not fit the model is the arguments' fault.
pub(super) fn blame(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Misfit>() {
        Ok(Misfit(reason)) => Stop::Arguments(reason).into(),
        Err(error) => error,
    }
}
