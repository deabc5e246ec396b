//! `frostline tag`: reads text or CoNLL-U and writes tagged CoNLL-U or lines, in bounded batches.

mod input;
mod output;
mod unspaced;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};

use self::input::{InputItem, ItemView, TagInput};
use self::output::{TagOutput, TagStyle};
use super::{Compute, Stop, choose_backend};
use frostline_conllu::{SentenceSplit, TextSplit, WordSplit};
use frostline_tagger::{
    Answer, ModelMismatch, Options, PART_WORDS, Part, SentenceError, TagTarget, TagTargets, Taggers,
};

/// Tag text or CoNLL-U with a trained model.
///
/// CoNLL-U keeps every byte except in the column that is filled. Text is split into sentences and words by
/// the rules of Unicode (UAX #29), which differ from those of a treebank: `can't` stays one word. Input that
/// has arrived is tagged and written before more is read. Memory holds the longest line, or sentence of
/// CoNLL-U, and the words of a batch.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline tag --run study/cells/CELL --input new.conllu > tagged.conllu
    echo 'The ice melts.' | frostline tag --run study/cells/CELL --output tsv --probabilities
    frostline tag --run upos/cells/CELL --run xpos/cells/CELL --input new.conllu    # both at once")]
pub struct Tag {
    /// Folder of a cell that ran with `--set save.model=true`, such as OUT/cells/NAME, or of a
    /// token classifier in Hugging Face's layout. May be given more than once: each tagger fills its
    /// column, and embeddings and lowest blocks that are equal are loaded and computed once.
    #[arg(long, value_name = "DIR", required = true)]
    run: Vec<PathBuf>,
    /// The file to tag; `-` is standard input.
    #[arg(long, value_name = "FILE", default_value = "-")]
    input: PathBuf,
    /// The format of the input [default: conllu for *.conllu and *.conll, else text]
    #[arg(long, value_enum)]
    format: Option<TagFormat>,
    /// The format of the output: CoNLL-U, or lines of a word and its tag with a blank line after each
    /// sentence.
    #[arg(long, value_enum, default_value_t = TagOutput::Conllu)]
    output: TagOutput,
    /// Also write the tag's probability, as `UposProb=0.9812` in MISC or as a third column.
    #[arg(long)]
    probabilities: bool,
    /// The task whose head is used, for a cell with several heads.
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// The column of CoNLL-U for the labels: upos, xpos, deprel, feats.NAME or misc.KEY. By default the
    /// column that training read. With several taggers, once for each, in their order.
    #[arg(long, value_name = "COLUMN")]
    column: Vec<TagTarget>,
    /// How a line of text is split into sentences [default: unicode]
    #[arg(long, value_enum)]
    sentences: Option<InputSentences>,
    /// How a sentence of text is split into words [default: unicode]
    #[arg(long, value_enum)]
    words: Option<InputWords>,
    /// Lowercase every word first. By default as in training; off for a model that Frostline did not save.
    #[arg(long, value_enum)]
    lowercase: Option<TagSwitch>,
    /// The most positions at a time; longer sentences are read in overlapping windows. By default as in
    /// training; the encoder's maximum for a model that Frostline did not save.
    #[arg(long, value_name = "N")]
    max_length: Option<usize>,
    /// Precision of linear layers. By default as in training; f32 for a model that Frostline did not save.
    #[arg(long, value_enum)]
    precision: Option<Compute>,
    /// Threads [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// flex, amx, ndarray, cuda or wgpu, if this build has it, or auto: the fastest that can compute here.
    #[arg(long)]
    backend: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TagFormat {
    /// Sentences or paragraphs, one per line
    Text,
    /// CoNLL-U, the format of treebanks
    Conllu,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InputSentences {
    /// Split by the rules of Unicode
    Unicode,
    /// Each line is a sentence
    Lines,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InputWords {
    /// Split by the rules of Unicode
    Unicode,
    /// Split at white space
    Spaces,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TagSwitch {
    On,
    Off,
}

impl TagFormat {
    /// The format that a file's name suggests.
    fn from_file_name(path: &Path) -> Self {
        let named = |it: &OsStr| it.eq_ignore_ascii_case("conllu") || it.eq_ignore_ascii_case("conll");
        if path.extension().is_some_and(named) { Self::Conllu } else { Self::Text }
    }
}

impl Tag {
    /// Tags the input.
    ///
    /// # Errors
    /// If the model or the input cannot be read, the options do not fit the model, or a line of the input is
    /// invalid. The sentences before that line are written.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        self.check_options()?;
        let taggers = Taggers::open_many(&self.run, &self.tag_options()?).map_err(with_exit_code)?;
        let style = TagStyle { targets: self.choose_targets(&taggers)?, probabilities: self.probabilities };
        let mut input = TagInput::open_file(&self.input, self.format, self.text_split(taggers.context()))?;
        let mut is_empty = true;
        loop {
            let items = input.next_batch()?;
            if items.is_empty() {
                break;
            }
            is_empty = false;
            let views: Vec<_> = items.iter().map(InputItem::item_view).collect();
            let parts: Vec<Part<'_>> = views.iter().map(ItemView::tagged_part).collect();
            let (answers, failed) = tag_until_error(&taggers, &parts)?;
            for (view, answers) in views.iter().zip(&answers) {
                style.write_item(out, view, answers)?;
            }
            out.flush()?;
            if let Some(SentenceError { sentence, source }) = failed {
                return Err(
                    Stop::Input(format!("{}: {source}", input.sentence_location(&items[sentence]))).into()
                );
            }
        }
        input.print_faults();
        if is_empty {
            return Err(Stop::Input(format!(
                "{}: it has no words, so nothing was tagged",
                self.input.display()
            ))
            .into());
        }
        Ok(())
    }

    /// Returns where each tagger's labels are written in CoNLL-U.
    fn choose_targets(&self, taggers: &Taggers) -> Result<Option<TagTargets>, Stop> {
        if self.output == TagOutput::Tsv {
            return Ok(None);
        }
        let choose = |(number, model)| {
            let chosen = TagTarget::choose(self.column.get(number), self.task.as_deref(), model);
            chosen.map_err(|ModelMismatch(reason)| Stop::Arguments(reason))
        };
        let targets = taggers.models().enumerate().map(choose).collect::<Result<_, _>>()?;
        TagTargets::new(targets).map(Some).map_err(|same| {
            let [first, second] = same.taggers.map(|number| self.run[number].display());
            Stop::Arguments(format!(
                "{first} and {second} would both fill {}; give --column for each tagger, such as --column upos --column \
                 misc.Other, or use --output tsv",
                same.target
            ))
        })
    }

    /// Rejects options that would have no effect, or that do not fit one another.
    fn check_options(&self) -> Result<(), Stop> {
        let (runs, columns) = (self.run.len(), self.column.len());
        if columns > 0 && columns != runs && self.output == TagOutput::Conllu {
            return Err(Stop::Arguments(format!(
                "--run is given {runs} times, but --column {columns} times; give one column for each tagger, in the same order"
            )));
        }
        if let (Some(column), TagOutput::Tsv) = (self.column.first(), self.output) {
            return Err(Stop::Arguments(format!(
                "--column {column} says which column of CoNLL-U is filled, but --output tsv writes none; \
                 omit one of them"
            )));
        }
        if self.format.unwrap_or_else(|| TagFormat::from_file_name(&self.input)) == TagFormat::Text {
            return Ok(());
        }
        let asked = [("--sentences", self.sentences.is_some()), ("--words", self.words.is_some())];
        let asked: Vec<&str> = asked.iter().filter(|(_, asked)| *asked).map(|(name, _)| *name).collect();
        if asked.is_empty() {
            return Ok(());
        }
        Err(Stop::Arguments(format!(
            "{}: read as CoNLL-U, whose sentences and words are kept, so there is nothing to split with {}; \
             omit that, or say --format text",
            self.input.display(),
            asked.join(" and ")
        )))
    }

    /// How text is split, for a tagger that needs so many words of context.
    fn text_split(&self, context: usize) -> TextSplit {
        let sentences = match self.sentences {
            Some(InputSentences::Lines) => SentenceSplit::Lines,
            Some(InputSentences::Unicode) | None => SentenceSplit::Unicode,
        };
        let words = match self.words {
            Some(InputWords::Spaces) => WordSplit::Spaces,
            Some(InputWords::Unicode) | None => WordSplit::Unicode,
        };
        TextSplit { sentences, words, part: PART_WORDS, context }
    }

    fn tag_options(&self) -> Result<Options> {
        Ok(Options {
            task: self.task.clone(),
            lowercase: self.lowercase.map(|switch| switch == TagSwitch::On),
            max_length: self.max_length,
            precision: self.precision.map(Into::into),
            backend: Some(choose_backend(self.backend.clone())?),
            threads: self.threads,
        })
    }
}

/// The answers of all taggers for each word of a sentence.
type WordAnswers<'a> = Vec<Vec<Answer<'a>>>;

/// Tags sentences up to the first one that cannot be tokenized, and returns the answers of all taggers for each of their words
/// and that sentence's error, if any.
fn tag_until_error<'a>(
    taggers: &'a Taggers,
    sentences: &[Part<'_>],
) -> Result<(Vec<WordAnswers<'a>>, Option<SentenceError>)> {
    let all: Vec<usize> = (0..taggers.len()).collect();
    let (mut end, mut failed) = (sentences.len(), None);
    loop {
        match taggers.tag_parts(&all, &sentences[..end]) {
            Ok(answers) => {
                let of_sentence = |sentence: usize| {
                    let words = 0..sentences[sentence].own.len();
                    let of_word = |word: usize| answers.iter().map(|all| all[sentence][word]).collect();
                    words.map(of_word).collect()
                };
                return Ok(((0..end).map(of_sentence).collect(), failed));
            }
            // Several threads align the sentences, so any one of several errors may be returned.
            Err(error) => {
                let earlier: SentenceError = error.downcast()?;
                (end, failed) = (earlier.sentence, Some(earlier));
            }
        }
    }
}

/// Options that do not fit the model are bad arguments (exit code 2).
pub(super) fn with_exit_code(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<ModelMismatch>() {
        Ok(ModelMismatch(reason)) => Stop::Arguments(reason).into(),
        Err(error) => error,
    }
}
