//! How many words of each sentence every cell has right after each stage, so that cells and stages can be compared on the
//! same sentences.

use std::collections::BTreeMap;

use frostline_record::Cell;
use frostline_score::{Scored, Stratum};

use crate::study::cells::{CellView, SPLITS};
use crate::study::right::{self, Right};
use crate::study::stored::Stored;
use crate::study::text_name::TextName;

/// A cell after a stage, counted from 0, as a task scores it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After<'a> {
    pub cell: &'a Cell,
    pub stage: usize,
    pub task: &'a str,
}

/// Two cells of one seed, or two stages of one cell: A and B.
pub(crate) type Twins<'a> = (After<'a>, After<'a>);

/// A cell's id, a stage, a task and a split.
type Key = (String, usize, String, &'static str);

/// The outcomes of every cell, stage and task whose predictions were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    /// The number of words of each sentence, by the text's shape.
    texts: BTreeMap<String, Vec<u32>>,
    of: BTreeMap<Key, OfText>,
}

/// Whose outcomes A's cells have, and whose B's: those of one sweep, or of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'a> {
    pub a: &'a Outcomes,
    pub b: &'a Outcomes,
}

/// What a cell has right, by sentence.
#[derive(Clone, Debug)]
struct OfText {
    text: TextName,
    words: Vec<u32>,
}

impl<'a> After<'a> {
    /// A cell at its end, as its headline scores it; nothing where it is not done.
    pub fn end(view: &'a CellView) -> Option<Self> {
        let result = &view.done()?.result;
        Some(Self { cell: &view.cell, stage: result.stages.len().checked_sub(1)?, task: &result.headline })
    }

    fn key(&self, split: &'static str) -> Key {
        (self.cell.id.clone(), self.stage, self.task.into(), split)
    }
}

impl Outcomes {
    /// Those of all predictions that were read.
    pub fn of(cells: &[CellView], stored: &Stored<'_>) -> Self {
        let mut all = Self::default();
        let texts = &stored.words.texts;
        let names: Vec<TextName> = texts.iter().map(|text| right::name(text, &stored.words.tags)).collect();
        for view in cells {
            let Some((done, end)) = view.done().zip(After::end(view)) else { continue };
            for split in SPLITS {
                let said = stored.words.get(&view.cell, split);
                let right =
                    said.map(|said| Right::of_words(names[said.text].clone(), &texts[said.text], said));
                all.add(&end, split, right);
            }
            for (stage, outcome) in done.result.stages.iter().enumerate() {
                for (task, split) in outcome.tasks.keys().flat_map(|task| SPLITS.map(|split| (task, split))) {
                    let after = After { cell: &view.cell, stage, task };
                    let items = stored.sentences.items(&view.cell, stage, task, split);
                    all.add(&after, split, items.map(Right::of_sentences));
                    all.add(&after, split, stored.by_stage.get(&view.cell, stage, task, split).cloned());
                }
            }
        }
        all
    }

    /// Adds what a cell has right, where it is known.
    fn add(&mut self, after: &After<'_>, split: &'static str, right: Option<Right>) {
        if let Some(Right { text, lengths, words }) = right {
            self.texts.entry(text.shape.clone()).or_insert(lengths);
            self.of.insert(after.key(split), OfText { text, words });
        }
    }

    /// Both sides of comparisons within one sweep.
    pub const fn both(&self) -> Sides<'_> {
        Sides { a: self, b: self }
    }
}

/// The words by which A has more right than B, by seed and sentence.
type Gains = Vec<Vec<f64>>;

impl<'a> Sides<'a> {
    /// Whether both cells of a pair have predictions of a split.
    pub fn has(&self, (a, b): Twins<'_>, split: &'static str) -> bool {
        self.a.of.contains_key(&a.key(split)) && self.b.of.contains_key(&b.key(split))
    }

    /// Comparisons as strata: those on the same sentences are averaged sentence by sentence, others are strata of
    /// their own. Each comparison has one pair of cells per seed, in the same order of seeds. Seeds may have been scored on
    /// other sentences than one another, where each drew its own.
    ///
    /// # Errors
    /// Says why the cells cannot be compared.
    pub fn strata(
        &self,
        comparisons: &[Vec<Twins<'_>>],
        split: &'static str,
    ) -> Result<Vec<Stratum>, String> {
        let mut by_texts: Vec<(Vec<&TextName>, Vec<Gains>)> = Vec::new();
        for pairs in comparisons {
            let (texts, gains) = self.gains(pairs, split)?;
            let same = |others: &[&TextName]| {
                others.len() == texts.len() && others.iter().zip(&texts).all(|(a, b)| a.is_that_of(b))
            };
            match by_texts.iter_mut().find(|(others, _)| same(others)) {
                Some((_, all)) => all.push(gains),
                None => by_texts.push((texts, vec![gains])),
            }
        }
        by_texts.into_iter().map(|(texts, all)| self.stratum(&texts, all)).collect()
    }

    /// The mean of comparisons on these texts, one for each seed.
    fn stratum(&self, texts: &[&TextName], all: Vec<Gains>) -> Result<Stratum, String> {
        let weight = all.len() as f64;
        let mean = mean_of(all);
        let mut distinct: Vec<&TextName> = Vec::new();
        for &text in texts {
            if !distinct.iter().any(|other| other.is_that_of(text)) {
                distinct.push(text);
            }
        }
        let scored = distinct.into_iter().map(|text| Scored {
            words: self.a.texts[&text.shape].clone(),
            gains: texts
                .iter()
                .zip(&mean)
                .map(|(other, gains)| text.is_that_of(other).then(|| gains.clone()))
                .collect(),
        });
        let made = Stratum::partly_crossed(scored.collect()).map_err(|error| error.to_string());
        Ok(made?.with_weight(weight))
    }

    /// The words by which A has more right than B, by seed and sentence, and each seed's text.
    fn gains(&self, pairs: &[Twins<'_>], split: &'static str) -> Result<(Vec<&'a TextName>, Gains), String> {
        let right = |side: &'a Outcomes, after: &After<'_>| {
            side.of.get(&after.key(split)).ok_or("the stored predictions are missing".to_string())
        };
        let mut gains = Vec::new();
        let mut texts = Vec::new();
        for (a, b) in pairs {
            let (a, b) = (right(self.a, a)?, right(self.b, b)?);
            if !a.text.is_that_of(&b.text) {
                return Err("the cells were scored on different sentences".into());
            }
            if self.a.texts[&a.text.shape].len() < 2 {
                return Err("there are fewer than two sentences".into());
            }
            texts.push(&a.text);
            let of_sentence = a.words.iter().zip(&b.words).map(|(a, b)| f64::from(*a) - f64::from(*b));
            gains.push(of_sentence.collect());
        }
        if texts.is_empty() { Err("there is no pair of cells".into()) } else { Ok((texts, gains)) }
    }
}

/// The mean of several comparisons, by seed and sentence.
fn mean_of(all: Vec<Gains>) -> Gains {
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
