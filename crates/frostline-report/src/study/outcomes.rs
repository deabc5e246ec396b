//! How many words of each sentence every cell has right after each stage, so that cells and stages can be compared on the
//! same sentences.

use std::collections::BTreeMap;

use frostline_record::Cell;
use frostline_score::linear::ratio_gains;
use frostline_score::{Scored, Stratum};

use crate::study::cells::{CellView, SPLITS};
use crate::study::prediction_file::PredictionKey;
use crate::study::predictions::TextName;
use crate::study::right::{self, CorrectCounts, FileEntities};
use crate::study::scores::{ScoreKind, tag_counts};
use crate::study::stored::StoredPredictions;

/// A cell after a stage, counted from 0, as a task scores it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct After<'a> {
    pub cell: &'a Cell,
    pub stage: usize,
    pub task: &'a str,
}

/// Two cells of one seed, or two stages of one cell: A and B.
pub(crate) type Twins<'a> = (After<'a>, After<'a>);

/// The outcomes of every cell, stage and task whose predictions were read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    of: BTreeMap<PredictionKey, CorrectCounts>,
}

/// The outcomes of A's cells and of B's, from one sweep or from two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'a> {
    pub a: &'a Outcomes,
    pub b: &'a Outcomes,
}

/// The share of a dataset's file that a cell's seed draws to be this split; nothing if the split is a file.
pub(crate) fn drawn_share(cell: &Cell, dataset: &str, split: &str) -> Option<f64> {
    let data = &cell.settings.data;
    let has_train = cell.inputs.contains_key(&cell.settings.role(dataset, "train"));
    match split {
        "test" if data.cut_test > 0.0 => Some(data.cut_test),
        "dev" if data.cut_dev > 0.0 => Some(data.cut_dev),
        "dev" if !has_train => Some((1.0 - data.train_from_dev) * data.dev_fraction),
        _ => None,
    }
}

impl<'a> After<'a> {
    /// A cell at its end, as its headline scores it; nothing if it is not done.
    pub fn end(view: &'a CellView) -> Option<Self> {
        let result = &view.done()?.result;
        Some(Self { cell: &view.cell, stage: result.stages.len().checked_sub(1)?, task: &result.headline })
    }

    /// The share of a file that the cell's seed draws to be this split; nothing if the split is the same for all seeds, or
    /// the other cell has another file.
    fn drawn(&self, split: &str, other: &Cell) -> Option<f64> {
        let task = self.cell.settings.tasks.get(self.task)?;
        let dataset = self.cell.settings.dataset_of(task);
        let files = |cell: &Cell| {
            let hash = |split| Some(&cell.inputs.get(&cell.settings.role(dataset, split))?.sha256);
            ["train", "dev"].map(|split| hash(split).cloned())
        };
        drawn_share(self.cell, dataset, split).filter(|_| files(self.cell) == files(other))
    }

    fn key(&self, split: &'static str) -> PredictionKey {
        (self.cell.id.clone(), self.stage, self.task.into(), split)
    }
}

impl Outcomes {
    /// Collects the outcomes of all predictions that were read.
    pub fn of(cells: &[CellView], stored: &StoredPredictions<'_>) -> Self {
        let mut all = Self::default();
        let texts = &stored.words.texts;
        let names: Vec<TextName> = texts.iter().map(|text| right::name(text, &stored.words.tags)).collect();
        for view in cells {
            let Some((done, end)) = view.done().zip(After::end(view)) else { continue };
            for split in SPLITS {
                let predictions = stored.words.get(&view.cell, split).zip(done.score(split));
                let right = predictions.map(|(predictions, score)| {
                    let text = &texts[predictions.text];
                    let right = CorrectCounts::of_words(names[predictions.text].clone(), text, predictions);
                    match score.entities {
                        Some(_) => right.with_entities(text, &stored.words.tags, predictions, score),
                        None => right.with_tags(tag_counts(text, predictions)),
                    }
                });
                all.add(&end, split, right);
            }
            for (stage, outcome) in done.result.stages.iter().enumerate() {
                for (task, split) in outcome.tasks.keys().flat_map(|task| SPLITS.map(|split| (task, split))) {
                    let after = After { cell: &view.cell, stage, task };
                    let key = after.key(split);
                    all.add(&after, split, stored.sentences.items(&key).map(CorrectCounts::of_sentences));
                    all.add(&after, split, stored.by_stage.get(&key).cloned());
                }
            }
        }
        all
    }

    /// Adds what a cell has right, if it is known.
    fn add(&mut self, after: &After<'_>, split: &'static str, right: Option<CorrectCounts>) {
        if let Some(right) = right {
            self.of.insert(after.key(split), right);
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
    /// other sentences than one another if each drew its own.
    ///
    /// # Errors
    /// Says why the cells cannot be compared.
    pub fn strata(
        &self,
        comparisons: &[Vec<Twins<'_>>],
        split: &'static str,
        kind: ScoreKind,
    ) -> Result<Vec<Stratum>, String> {
        let mut by_texts: Vec<(OfSeeds<'_>, Vec<Gains>)> = Vec::new();
        for pairs in comparisons {
            let (texts, gains) = self.gains(pairs, split, kind)?;
            match by_texts.iter_mut().find(|(others, _)| others.are_those_of(&texts)) {
                Some((_, all)) => all.push(gains),
                None => by_texts.push((texts, vec![gains])),
            }
        }
        by_texts.into_iter().map(|(texts, all)| mean_of_seeds(&texts, all)).collect()
    }

    /// The words by which A has more right than B, by seed and sentence, and each seed's text.
    fn gains(
        &self,
        pairs: &[Twins<'_>],
        split: &'static str,
        kind: ScoreKind,
    ) -> Result<(OfSeeds<'a>, Gains), String> {
        let right = |side: &'a Outcomes, after: &After<'_>| {
            side.of.get(&after.key(split)).ok_or("the stored predictions are missing".to_string())
        };
        let (mut gains, mut texts) = (Vec::new(), Vec::new());
        for (a, b) in pairs {
            let (a, b) = (right(self.a, a)?, right(self.b, b)?);
            if !a.text.is_that_of(&b.text) {
                return Err(OTHER_SENTENCES.into());
            }
            if a.lengths.len() < 2 {
                return Err("there are fewer than two sentences".into());
            }
            texts.push(if a.text.whole.is_some() { a } else { b });
            gains.push(gains_of(a, b, kind)?);
        }
        let Some((first, _)) = pairs.first() else { return Err("there is no pair of cells".into()) };
        let drawn = pairs.iter().flat_map(|(a, b)| [a, b]).map(|after| after.drawn(split, first.cell));
        let drawn = drawn.collect::<Option<Vec<f64>>>().map(|shares| shares.into_iter().fold(0.0, f64::max));
        Ok((OfSeeds { texts, drawn }, gains))
    }
}

/// The mean of comparisons on these texts.
fn mean_of_seeds(texts: &OfSeeds<'_>, all: Vec<Gains>) -> Result<Stratum, String> {
    let weight = all.len() as f64;
    let mean = mean_of(all);
    // The seeds of each text. Sentences that are not known may be any of those that are, but only one of them.
    let mut alike: Vec<Vec<usize>> = Vec::new();
    for (seed, text) in texts.texts.iter().enumerate() {
        let same = |others: &&mut Vec<usize>| {
            others.iter().all(|&other| texts.texts[other].text.is_that_of(&text.text))
        };
        match alike.iter_mut().find(same) {
            Some(seeds) => seeds.push(seed),
            None => alike.push(vec![seed]),
        }
    }
    let overlap = match alike.len() {
        1 => 0.0,
        _ => texts.drawn.ok_or(OTHER_SENTENCES)?,
    };
    let scored = alike.iter().map(|seeds| Scored {
        words: texts.texts[seeds[0]].lengths.clone(),
        gains: mean
            .iter()
            .enumerate()
            .map(|(at, gains)| seeds.contains(&at).then(|| gains.clone()))
            .collect(),
    });
    let made = Stratum::partly_crossed(scored.collect()).map_err(|error| error.to_string())?;
    Ok(made.with_weight(weight).with_overlap(overlap))
}

/// The words by which A has more right than B, by sentence; of an F1 its linear part.
fn gains_of(a: &CorrectCounts, b: &CorrectCounts, kind: ScoreKind) -> Result<Vec<f64>, String> {
    let by_words = || a.words.iter().zip(&b.words).map(|(a, b)| f64::from(*a) - f64::from(*b)).collect();
    match (kind, &a.entities, &b.entities) {
        (ScoreKind::MacroF1, ..) => match (&a.tags, &b.tags) {
            (Some(of_a), Some(of_b)) => Ok(ratio_gains(&a.lengths, of_a, of_b)),
            _ => Err("the task does not tag words".into()),
        },
        (_, FileEntities::NotScored, FileEntities::NotScored) => Ok(by_words()),
        (_, FileEntities::Counted(of_a), FileEntities::Counted(of_b)) => {
            Ok(ratio_gains(&a.lengths, of_a, of_b))
        }
        (_, FileEntities::Unlike, _) | (_, _, FileEntities::Unlike) => {
            Err("the stored predictions have other entities than the records".into())
        }
        _ => Err("the cells are scored by different metrics".into()),
    }
}

/// Why cells are not compared that were not scored on the same sentences.
const OTHER_SENTENCES: &str = "the cells were scored on different sentences";

/// What each seed of a comparison was scored on.
struct OfSeeds<'a> {
    texts: Vec<&'a CorrectCounts>,
    /// The share of the same file that each seed drew, if all did.
    drawn: Option<f64>,
}

impl OfSeeds<'_> {
    fn are_those_of(&self, other: &Self) -> bool {
        let same = self.texts.iter().zip(&other.texts).all(|(a, b)| a.text.is_that_of(&b.text));
        same && self.texts.len() == other.texts.len()
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
