//! Writes tagged sentences as CoNLL-U or as lines of a word and its tag.

use std::io::Write;

use anyhow::Result;
use clap::ValueEnum;
use frostline_conllu::{Column, Writer};

use super::input::ItemView;
use frostline_tagger::{Answer, Part, TagTargets};

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TagOutput {
    /// CoNLL-U, the format of treebanks
    Conllu,
    /// One line per word: the word, a tab, its tag
    Tsv,
}

/// How tagged sentences are written.
pub(super) struct TagStyle {
    /// The places of each tagger's labels in CoNLL-U; `None` for lines.
    pub targets: Option<TagTargets>,
    /// Whether probabilities are written too.
    pub probabilities: bool,
}

impl TagStyle {
    /// Writes one sentence or a part of one, with the answers of all taggers for each own word.
    pub(super) fn write_item(
        &self,
        out: &mut dyn Write,
        view: &ItemView<'_>,
        answers: &[Vec<Answer<'_>>],
    ) -> Result<()> {
        match (&self.targets, view) {
            (None, _) => {
                let Part { words, own } = view.tagged_part();
                self.write_lines(out, &words[own], answers, view.is_last())
            }
            (Some(targets), ItemView::Treebank(sentence)) => {
                let columns = targets.edited_columns(self.probabilities);
                let mut values: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
                for (row, answers) in sentence.words().zip(answers) {
                    let edits = targets.row_edits([row.feats(), row.misc()], answers, self.probabilities);
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
            (Some(targets), ItemView::Text(part)) => {
                let edits =
                    |at: usize, misc: &str| targets.row_edits(["_", misc], &answers[at], self.probabilities);
                Ok(part.write(out, edits)?)
            }
        }
    }

    fn write_lines(
        &self,
        out: &mut dyn Write,
        words: &[&str],
        answers: &[Vec<Answer<'_>>],
        is_last: bool,
    ) -> Result<()> {
        for (word, answers) in words.iter().zip(answers) {
            write!(out, "{word}")?;
            for answer in answers {
                write!(out, "\t{}", answer.tag)?;
                if self.probabilities {
                    write!(out, "\t{:.4}", answer.probability)?;
                }
            }
            writeln!(out)?;
        }
        if is_last && !words.is_empty() {
            writeln!(out)?;
        }
        Ok(())
    }
}
