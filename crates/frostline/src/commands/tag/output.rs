//! Writes tagged sentences as CoNLL-U or as lines of a word and its tag.

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use frostline_conllu::{Column, Writer};

use super::column::Target;
use super::input::View;
use super::text::TextSentence;
use frostline_tagger::Answer;

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// CoNLL-U, the format of treebanks
    Conllu,
    /// One line per word: the word, a tab, its tag
    Tsv,
}

/// How tagged sentences are written.
pub(super) struct Style {
    /// Where labels are written in CoNLL-U; `None` for lines.
    pub column: Option<Target>,
    /// Whether probabilities are written too.
    pub probabilities: bool,
}

impl Style {
    /// Writes one sentence, with one answer per word.
    pub(super) fn write(&self, out: &mut dyn Write, view: &View<'_>, answers: &[Answer<'_>]) -> Result<()> {
        match (&self.column, view) {
            (None, _) => self.lines(out, &view.words(), answers),
            (Some(target), View::Treebank(sentence)) => {
                let columns = target.columns(self.probabilities);
                let mut values: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
                for (row, answer) in sentence.words().zip(answers) {
                    let edits = target.edits([row.feats(), row.misc()], answer, self.probabilities);
                    for (column, values) in columns.iter().zip(&mut values) {
                        let edited = edits.iter().find(|(edited, _)| edited == column);
                        let old = || row.get(*column).unwrap_or("_").to_owned();
                        values.push(edited.map_or_else(old, |(_, value)| value.clone()));
                    }
                }
                let changes: Vec<(Column, &[String])> =
                    columns.into_iter().zip(values.iter().map(Vec::as_slice)).collect();
                Ok(Writer::new(out).replaced(sentence, &changes)?)
            }
            (Some(target), View::Text(sentence)) => self.text(out, target, sentence, answers),
        }
    }

    /// Writes a sentence of text as CoNLL-U.
    fn text(
        &self,
        out: &mut dyn Write,
        target: &Target,
        sentence: &TextSentence,
        answers: &[Answer<'_>],
    ) -> Result<()> {
        let mut writer = Writer::new(out);
        writer.comment(&format!("# sent_id = {}", sentence.id))?;
        writer.comment(&format!("# text = {}", sentence.text))?;
        for (at, (word, answer)) in sentence.words.iter().zip(answers).enumerate() {
            let number = (at + 1).to_string();
            let misc = if sentence.touches_next(at) { "SpaceAfter=No" } else { "_" };
            let mut row = ["_"; 10];
            row[Column::Id as usize] = &number;
            row[Column::Form as usize] = &sentence.text[word.clone()];
            row[Column::Misc as usize] = misc;
            let edits = target.edits(["_", misc], answer, self.probabilities);
            for (column, value) in &edits {
                row[*column as usize] = value;
            }
            writer.row(&row)?;
        }
        Ok(writer.end()?)
    }

    fn lines(&self, out: &mut dyn Write, words: &[&str], answers: &[Answer<'_>]) -> Result<()> {
        for (word, answer) in words.iter().zip(answers) {
            write!(out, "{word}\t{}", answer.tag)?;
            if self.probabilities {
                write!(out, "\t{:.4}", answer.probability)?;
            }
            writeln!(out)?;
        }
        if !words.is_empty() {
            writeln!(out)?;
        }
        Ok(())
    }
}
