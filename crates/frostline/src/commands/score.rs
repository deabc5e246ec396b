//! `frostline score`: compares a tagged file with a gold file.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use frostline_conllu::{Checks, Fault, FaultKind, Id, read_lenient};
use frostline_score::conll18::{MultiwordToken, ScoredSentence, WordRow};
use frostline_score::{Comparison, Lexicon, Resampling, ScoreError, TaggingReport};
use serde::Serialize;

use super::readable::Readable;
use super::{Stop, read_input};

/// Score a tagged CoNLL-U file against gold: accuracy, CoNLL 2018 metrics, tags, confusions.
#[derive(Args)]
#[command(after_help = "\
Examples:
    frostline score gold.conllu tagged.conllu --train train.conllu
    frostline score gold.conllu ours.conllu --versus theirs.conllu")]
pub struct ScoreCommand {
    /// Gold CoNLL-U file.
    gold: PathBuf,
    /// Tagged CoNLL-U file of the same text; segmentation may differ.
    system: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Training file: also score known, unknown and ambiguous words.
    #[arg(long, value_name = "FILE")]
    train: Option<PathBuf>,
    /// Another tagged file: also test whether SYSTEM (A) is better than this one (B).
    #[arg(long, value_name = "FILE")]
    versus: Option<PathBuf>,
    /// Number of samples of the bootstrap and of the permutation test.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    resamples: u32,
    /// Seed of the samples.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// The JSON output.
#[derive(Serialize)]
struct ScoredFile {
    #[serde(flatten)]
    report: TaggingReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

impl ScoreCommand {
    /// Prints the scores.
    ///
    /// # Errors
    /// If a file cannot be read, has a fault or contains another text than gold, or if gold has no words.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let [gold, system] = [&self.gold, &self.system].map(|path| read_input(path));
        let (gold_text, system_text) = (gold?, system?);
        let gold = read_sentences(&gold_text, &self.gold)?;
        if gold.iter().all(|sentence| sentence.words.is_empty()) {
            let place = self.gold.display();
            let reason = format!("{place}: no words, so nothing to score; give a tagged treebank as gold");
            return Err(Stop::Input(reason).into());
        }
        let system = read_sentences(&system_text, &self.system)?;
        let train = self.train.as_deref().map(read_lexicon).transpose()?;
        let resampling = Resampling { resamples: self.resamples, seed: self.seed, ..Resampling::default() };
        let report = TaggingReport::new(&gold, &system, train.as_ref(), &resampling)
            .map_err(|error| score_error(&self.gold, &self.system, error))?;
        let comparison = match &self.versus {
            None => None,
            Some(path) => {
                let text = read_input(path)?;
                let other = read_sentences(&text, path)?;
                let comparison = Comparison::new(&gold, &system, &other, &resampling);
                Some(comparison.map_err(|error| score_error(&self.gold, path, error))?)
            }
        };
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&ScoredFile { report, comparison })?)?;
        } else {
            let mut out = Readable(out);
            write!(out, "{report}")?;
            if let Some(comparison) = comparison {
                let (a, b) = (self.system.display(), self.versus.unwrap_or_default());
                write!(out, "\nA is {a}, B is {}\n{comparison}", b.display())?;
            }
        }
        Ok(())
    }
}

/// The sentences of a text in the scorer's types: words and ranges, without empty nodes.
///
/// # Errors
/// If the text has faults: the first one, other than carriage returns at the ends of lines.
pub fn read_sentences<'a>(text: &'a [u8], path: &Path) -> Result<Vec<ScoredSentence<'a>>, Stop> {
    let name = path.display().to_string();
    let sentence = |sentence: frostline_conllu::Sentence<'a>| {
        // The official scorer reads lines that end as on Windows too.
        let is_grave = |fault: &&Fault| !matches!(fault.kind, FaultKind::CarriageReturn);
        if let Some(fault) = sentence.faults().iter().find(is_grave) {
            return Err(Stop::Input(fault.at(&name).to_string()));
        }
        let word = |row: &frostline_conllu::TokenRow<'a>| WordRow {
            form: row.form(),
            lemma: row.lemma(),
            upos: row.upos(),
            xpos: row.xpos(),
            feats: row.feats(),
            head: row.head().parse().ok(),
            deprel: row.deprel(),
        };
        let range = |row: &frostline_conllu::TokenRow<'a>| match row.key() {
            Some(Id::Range(first, last)) => {
                Some(MultiwordToken { first: first as usize, last: last as usize, form: row.form() })
            }
            _ => None,
        };
        Ok(ScoredSentence {
            words: sentence.words().map(word).collect(),
            ranges: sentence.ranges().filter_map(range).collect(),
        })
    };
    read_lenient(text, Checks::default()).map(sentence).collect()
}

/// The words and tags of a training file.
fn read_lexicon(path: &Path) -> Result<Lexicon> {
    let text = read_input(path)?;
    let sentences = read_sentences(&text, path)?;
    Ok(Lexicon::new(sentences.iter().flat_map(|s| s.words.iter().map(|word| (word.form, word.upos)))))
}

/// An error of the scorer with the names of the files.
fn score_error(gold: &Path, system: &Path, error: ScoreError) -> Stop {
    let join =
        |error: &dyn Display| format!("{} (gold), {} (system): {error}", gold.display(), system.display());
    Stop::Input(join(&error))
}
