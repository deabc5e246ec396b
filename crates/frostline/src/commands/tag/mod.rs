//! `frostline tag`: text or CoNLL-U in, tagged CoNLL-U or lines out, a bounded piece at a time.

mod column;
mod input;
mod output;
mod text;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};

use self::column::Target;
use self::input::{Input, Item};
use self::output::{Output, Style};
use super::{Compute, Stop};
use frostline_tagger::{Answer, Misfit, Options, Refused, Tagger};

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
    /// How a line of text becomes sentences [default: unicode]
    #[arg(long, value_enum)]
    sentences: Option<Sentences>,
    /// How a sentence of text becomes words [default: unicode]
    #[arg(long, value_enum)]
    words: Option<Words>,
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

impl Format {
    /// What the name of a file says.
    fn of(path: &Path) -> Self {
        let named = |it: &OsStr| it.eq_ignore_ascii_case("conllu") || it.eq_ignore_ascii_case("conll");
        if path.extension().is_some_and(named) { Self::Conllu } else { Self::Text }
    }
}

impl Tag {
    /// Tags.
    ///
    /// # Errors
    /// Where the model or the input cannot be read, they do not fit, or a line of the input says
    /// what it may not; what came before it is written.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        self.check()?;
        let tagger = Tagger::open(&self.run, &self.options()).map_err(blame)?;
        let style = Style {
            column: match self.output {
                Output::Conllu => Some(column::choose(self.column.as_ref(), self.task.as_deref(), &tagger)?),
                Output::Tsv => None,
            },
            probabilities: self.probabilities,
        };
        let how = (self.sentences.unwrap_or(Sentences::Unicode), self.words.unwrap_or(Words::Unicode));
        let mut input = Input::open(&self.input, self.format, how)?;
        loop {
            let items = input.batch()?;
            if items.is_empty() {
                break;
            }
            let views: Vec<_> = items.iter().map(Item::view).collect();
            let words: Vec<Vec<&str>> = views.iter().map(|view| view.words()).collect();
            let (answers, refused) = tag_up_to_refused(&tagger, &words)?;
            for (view, answers) in views.iter().zip(&answers) {
                style.write(out, view, answers)?;
            }
            out.flush()?;
            if let Some(Refused { sentence, source }) = refused {
                return Err(Stop::Input(format!("{}: {source}", input.place(&items[sentence]))).into());
            }
        }
        input.farewell();
        Ok(())
    }

    /// Refuses options that would change nothing, so that nobody believes they did.
    fn check(&self) -> Result<(), Stop> {
        if let (Some(column), Output::Tsv) = (&self.column, self.output) {
            return Err(Stop::Arguments(format!(
                "--column {column} says which column of CoNLL-U is filled, but --output tsv writes none; \
                 leave one of them away"
            )));
        }
        if self.format.unwrap_or_else(|| Format::of(&self.input)) == Format::Text {
            return Ok(());
        }
        let asked = [("--sentences", self.sentences.is_some()), ("--words", self.words.is_some())];
        let asked: Vec<&str> = asked.iter().filter(|(_, asked)| *asked).map(|(name, _)| *name).collect();
        if asked.is_empty() {
            return Ok(());
        }
        Err(Stop::Arguments(format!(
            "{}: read as CoNLL-U, which keeps its sentences and words, so there is nothing to cut with {}; \
             leave that away, or say --format text",
            self.input.display(),
            asked.join(" and ")
        )))
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

/// Tags sentences up to the first that the tokenizer refuses, and gives that one if there is one.
fn tag_up_to_refused<'a>(
    tagger: &'a Tagger,
    sentences: &[Vec<&str>],
) -> Result<(Vec<Vec<Answer<'a>>>, Option<Refused>)> {
    let (mut end, mut refused) = (sentences.len(), None);
    loop {
        match tagger.tag_all(&sentences[..end]) {
            Ok(answers) => return Ok((answers, refused)),
            // Threads align them, so of several that are refused any may be told.
            Err(error) => {
                let earlier: Refused = error.downcast()?;
                (end, refused) = (earlier.sentence, Some(earlier));
            }
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
