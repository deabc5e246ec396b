//! `frostline align`: the canonical line of every sentence, for comparing alignments byte by byte.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use frostline_align::{AlignError, AlignOptions, Aligner, CanonicalLine, LabelPolicy, label_indices};
use frostline_conllu::{Checks, Reader, Sentence, TokenRow, Upos};
use frostline_sweep::note;

use super::{Stop, open_input, read_error};

/// Print how a tokenizer splits every sentence into subwords, and which subword carries each word's label.
///
/// One JSON line per sentence: its number, sent_id, token ids, the word of each position (null for
/// special tokens) and its label: the index of the word's UPOS among the 17 tags in alphabetical
/// order, -100 for a position without a label. The numbers of truncated and vanished words are printed
/// to standard error.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline align --tokenizer models/distilbert-base-multilingual-cased en_ewt-ud-dev.conllu
    frostline align --tokenizer my-encoder --labels last --max-length 64 - < dev.conllu")]
pub struct Align {
    /// Folder with tokenizer.json or vocab.txt.
    #[arg(long, value_name = "DIR")]
    tokenizer: PathBuf,
    /// The most positions of a sentence, special tokens included.
    #[arg(long, value_name = "N", default_value_t = 128)]
    max_length: usize,
    /// Lowercase every form first.
    #[arg(long)]
    lowercase: bool,
    /// Which of a word's subwords carries its label.
    #[arg(long, value_enum, default_value_t = LabelColumn::First)]
    labels: LabelColumn,
    /// CoNLL-U file; `-` is standard input.
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum LabelColumn {
    First,
    Last,
    All,
}

/// The number of words in a file, and how many of them were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// All words.
    pub words: usize,
    /// Words whose label position was cut off at the maximum length.
    pub truncated: usize,
    /// Words for which the tokenizer produced no subword.
    pub vanished: usize,
}

impl Align {
    /// Prints the canonical lines.
    ///
    /// # Errors
    /// As for [`write_lines`]; also if the tokenizer cannot be read or the maximum length is too short.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let labels = match self.labels {
            LabelColumn::First => LabelPolicy::First,
            LabelColumn::Last => LabelPolicy::Last,
            LabelColumn::All => LabelPolicy::All,
        };
        let options =
            AlignOptions { max_length: self.max_length, labels, stride: None, lowercase: self.lowercase };
        let aligner = Aligner::from_folder(&self.tokenizer)?;
        let aligner = aligner.with_options(options).map_err(|error| Stop::Arguments(error.to_string()))?;
        let Lost { words, truncated, vanished } = write_lines(&self.file, &aligner, out)?;
        let labelled = words - truncated - vanished;
        let file = self.file.display();
        note!("{file}: {words} words: {labelled} labelled, {truncated} truncated, {vanished} vanished");
        Ok(())
    }
}

/// Writes the canonical line of every sentence.
///
/// # Errors
/// If the file cannot be read, a sentence has a fault or a tag that is not one of the 17, or `out` cannot
/// be written.
pub fn write_lines(file: &Path, aligner: &Aligner, out: &mut dyn Write) -> Result<Lost> {
    let name = file.display().to_string();
    let tags = Upos::ALL.map(Upos::name);
    debug_assert!(tags.is_sorted());
    let mut reader = Reader::new(open_input(file)?, Checks::default());
    let mut lost = Lost::default();
    let mut index = 0;
    while let Some(sentence) = reader.next_strict().map_err(|error| read_error(file, &error))? {
        let sentence = sentence.map_err(|fault| Stop::Input(fault.at(&name).to_string()))?;
        let forms: Vec<&str> = sentence.words().map(TokenRow::form).collect();
        let upos: Vec<&str> = sentence.words().map(TokenRow::upos).collect();
        let labels = label_indices(&upos, &tags).map_err(|error| label_error(&name, &sentence, &error))?;
        let aligned =
            aligner.align(&forms).map_err(|error| anyhow!("{name}:{}: {error}", sentence.line()))?;
        lost.words += forms.len();
        lost.truncated += aligned.truncated.len();
        lost.vanished += aligned.vanished.len();
        let line = CanonicalLine { index, sent_id: sentence.sent_id(), aligned: &aligned, labels: &labels };
        writeln!(out, "{}", line.render()?)?;
        index += 1;
    }
    if index == 0 {
        return Err(
            Stop::Input(format!("{name}: it has no sentences; check that it is the right file")).into()
        );
    }
    Ok(lost)
}

/// The error for a tag that is not one of the 17, with its location.
fn label_error(name: &str, sentence: &Sentence<'_>, error: &AlignError) -> Stop {
    let row = match error {
        AlignError::UnknownTag { word, .. } => sentence.words().nth(*word),
        _ => None,
    };
    Stop::Input(match row {
        Some(row) => {
            let (line, form, tag) = (sentence.line_of(row), row.form(), row.upos());
            format!(
                "{name}:{line}: UPOS of {form:?} is {tag:?}, expected one of the 17 tags of UD or \"_\"; correct the tag"
            )
        }
        None => format!("{name}:{}: {error}", sentence.line()),
    })
}
