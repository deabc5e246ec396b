//! How many words of each sentence every cell has right, so that cells can be compared on the same sentences.

use std::collections::BTreeMap;

use frostline_record::{Cell, Unit, sha256};
use frostline_score::Stratum;

use crate::study::cells::{CellView, SPLITS, distinct};
use crate::study::stored::Stored;
use crate::study::tagged::{Tagged, Text};

/// Two cells, A and B, of one seed.
pub(crate) type Twins<'a> = (&'a Cell, &'a Cell);

/// The outcomes of every cell whose headline's predictions were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    /// The number of words of each sentence, by text.
    texts: BTreeMap<String, Vec<u32>>,
    of: BTreeMap<(String, &'static str), Right>,
}

/// What a cell has right in a text.
#[derive(Clone, Debug)]
struct Right {
    text: String,
    /// Words by sentence.
    words: Vec<u32>,
}

impl Outcomes {
    /// Those of all predictions of the headline at the end of a cell.
    pub fn of(cells: &[CellView], stored: &Stored<'_>) -> Self {
        let mut all = Self::default();
        let names: Vec<String> = stored.words.texts.iter().map(|text| name(text, &stored.words)).collect();
        for view in cells {
            let Some(done) = view.done() else { continue };
            let result = &done.result;
            for split in SPLITS {
                let found = match result.facts().unit {
                    Unit::Words => of_words(&view.cell, split, &names, &stored.words),
                    Unit::Sentences => result.stages.len().checked_sub(1).and_then(|last| {
                        let items = stored.sentences.items(&view.cell, last, &result.headline, split)?;
                        let right = items.right.iter().map(|&right| u32::from(right)).collect();
                        Some((vec![1; items.right.len()], Right { text: items.text.clone(), words: right }))
                    }),
                };
                if let Some((lengths, right)) = found {
                    all.texts.entry(right.text.clone()).or_insert(lengths);
                    all.of.insert((view.cell.id.clone(), split), right);
                }
            }
        }
        all
    }

    /// Whether both cells of a pair have predictions of a split.
    pub fn has(&self, (a, b): Twins<'_>, split: &'static str) -> bool {
        [a, b].iter().all(|cell| self.of.contains_key(&(cell.id.clone(), split)))
    }

    /// Comparisons as strata: those on the same sentences are averaged sentence by sentence, others are strata of
    /// their own. Each comparison has one pair of cells per seed, in the same order of seeds.
    ///
    /// # Errors
    /// Says why the cells cannot be compared.
    pub fn strata(
        &self,
        comparisons: &[Vec<Twins<'_>>],
        split: &'static str,
    ) -> Result<Vec<Stratum>, String> {
        let mut by_text: Vec<(&str, Vec<Vec<Vec<f64>>>)> = Vec::new();
        for pairs in comparisons {
            let (text, gains) = self.gains(pairs, split)?;
            match by_text.iter_mut().find(|(other, _)| *other == text) {
                Some((_, all)) => all.push(gains),
                None => by_text.push((text, vec![gains])),
            }
        }
        let stratum = |(text, all): (&str, Vec<Vec<Vec<f64>>>)| {
            let weight = all.len() as f64;
            let mean = mean_of(all);
            let made = Stratum::new(self.texts[text].clone(), &mean).map_err(|error| error.to_string());
            Ok(made?.with_weight(weight))
        };
        by_text.into_iter().map(stratum).collect()
    }

    /// The words by which A has more right than B, by seed and sentence, and the text.
    fn gains(&self, pairs: &[Twins<'_>], split: &'static str) -> Result<(&str, Vec<Vec<f64>>), String> {
        let right = |cell: &Cell| {
            self.of.get(&(cell.id.clone(), split)).ok_or("the stored predictions are missing".to_string())
        };
        let mut gains = Vec::new();
        let mut texts = Vec::new();
        for (a, b) in pairs {
            let (a, b) = (right(a)?, right(b)?);
            texts.extend([a.text.as_str(), &b.text]);
            let of_sentence = a.words.iter().zip(&b.words).map(|(a, b)| f64::from(*a) - f64::from(*b));
            gains.push(of_sentence.collect());
        }
        match distinct(texts).as_slice() {
            [text] if self.texts[*text].len() < 2 => Err("there are fewer than two sentences".into()),
            [] => Err("there is no pair of cells".into()),
            [text] => Ok((text, gains)),
            _ => Err("the cells were scored on different sentences".into()),
        }
    }
}

/// The mean of several comparisons, by seed and sentence.
fn mean_of(all: Vec<Vec<Vec<f64>>>) -> Vec<Vec<f64>> {
    let count = all.len() as f64;
    let mut rest = all.into_iter();
    let mut sum = rest.next().unwrap_or_default();
    for other in rest {
        for (sum, other) in sum.iter_mut().flatten().zip(other.iter().flatten()) {
            *sum += other;
        }
    }
    sum.iter_mut().flatten().for_each(|gain| *gain /= count);
    sum
}

/// A text's name: the same for the same sentences and gold tags, whatever train contains of their words.
fn name(text: &Text, read: &Tagged) -> String {
    let mut whole = String::new();
    for (sentence, range) in text.ranges() {
        whole += &format!("{}\n", sentence.id);
        for word in &text.words[range] {
            whole += &format!("{}\t{}\n", word.form, read.tags[usize::from(word.gold)]);
        }
    }
    sha256(whole.as_bytes())
}

fn of_words(cell: &Cell, split: &'static str, names: &[String], read: &Tagged) -> Option<(Vec<u32>, Right)> {
    let said = read.get(cell, split)?;
    let text = &read.texts[said.text];
    let lengths = text.ranges().map(|(_, range)| range.len() as u32).collect();
    let right = text
        .ranges()
        .map(|(_, range)| range.filter(|&at| said.predicted[at] == Some(text.words[at].gold)).count() as u32);
    Some((lengths, Right { text: names[said.text].clone(), words: right.collect() }))
}
