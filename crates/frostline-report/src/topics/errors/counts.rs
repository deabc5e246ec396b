//! Errors in the stored predictions of the headline's words: per tag, what was taken for what, by what
//! train knows of a word, and by length of sentence. Confusions are summed over seeds, scores are means over seeds.

use std::collections::BTreeMap;

use frostline_score::{ByFamiliarity, ByLength, Confusion, MeanStd, ShareInterval, Tally, WordOutcome};
use serde::Serialize;

use crate::study::place::placed;
use crate::study::tagged::{PredictedTags, TagIndex, Tagged, word_outcome};
use crate::study::{BASELINE, CellGroup, CellView, SPLITS};
use crate::topics::errors::versus::{self, Versus};

/// The most confusions that a page shows of a policy.
const CONFUSIONS: usize = 10;

/// Everything that was counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordErrors {
    /// In the order of cells, dev before test.
    pub cells: Vec<CellErrors>,
    /// In the order of groups, dev before test.
    pub groups: Vec<GroupErrors>,
    /// Every cell compared with the cell of its seed in which everything learns, dev before test.
    pub versus: Vec<Versus>,
}

/// One cell's counts on a split.
#[derive(Clone, Debug)]
pub(crate) struct CellErrors {
    /// Index among the report's cells.
    pub cell: usize,
    pub split: &'static str,
    /// Which words they are; the same number is the same words.
    text: usize,
    pub confusion: Confusion,
    pub strata: Vec<WordStratum>,
}

/// Some of a split's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordStratum {
    pub by: Strata,
    pub name: String,
    pub words: u64,
    pub correct: u64,
}

/// What strata differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strata {
    /// What train knows of a word.
    Train,
    /// Labelled words of the sentence.
    Length,
}

impl Strata {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Length => "length",
        }
    }
}

/// The same over cells that differ only in their seed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GroupErrors {
    pub lang: String,
    pub policy: String,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    pub split: &'static str,
    /// Cells whose predictions were read.
    pub cells: usize,
    /// The first cell's words.
    pub words: u64,
    /// Whether other cells of this language hold other words, or know others from train.
    pub varies: bool,
    pub accuracy: MeanStd,
    /// The most frequent first.
    pub tags: Vec<TagErrors>,
    /// Every tag counts the same.
    pub macro_f1: MeanStd,
    /// The same minus the baseline's, paired by seed.
    pub macro_f1_gain: Option<MeanStd>,
    /// Words that are wrong, summed over cells.
    pub errors: u64,
    /// The most frequent first.
    pub confusions: Vec<Confused>,
    pub strata: Vec<StratumErrors>,
}

/// A tag's scores over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TagErrors {
    pub tag: String,
    /// Words of this tag in the first cell.
    pub support: u64,
    pub precision: MeanStd,
    pub recall: MeanStd,
    pub f1: MeanStd,
    /// F1 minus the baseline's, paired by seed.
    pub f1_gain: Option<MeanStd>,
}

/// A tag taken for another, or for nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Confused {
    pub gold: String,
    pub predicted: Option<String>,
    /// Summed over cells.
    pub words: u64,
    pub share_of_errors: f64,
}

/// Accuracy on some of the words over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StratumErrors {
    pub by: Strata,
    pub name: String,
    /// Words of it in the first cell.
    pub words: u64,
    pub accuracy: MeanStd,
    /// 95 % Wilson interval of the mean accuracy at this number of words.
    pub interval: Option<ShareInterval>,
}

placed!(struct GroupErrors);

impl WordErrors {
    /// Counts what was read.
    pub fn of(cells: &[CellView], groups: &[CellGroup], read: &Tagged) -> Self {
        let mut of_cells = Vec::new();
        for (cell, view) in cells.iter().enumerate() {
            let predictions = SPLITS.iter().filter_map(|&split| Some((split, read.get(&view.cell, split)?)));
            of_cells.extend(
                predictions.map(|(split, predictions)| CellErrors::of(cell, split, predictions, read)),
            );
        }
        let mut errors = Self {
            versus: versus::compare_with_baseline(cells, groups, read),
            cells: of_cells,
            groups: Vec::new(),
        };
        for group in groups {
            let found: Vec<_> =
                SPLITS.iter().filter_map(|&split| errors.group(cells, group, split)).collect();
            errors.groups.extend(found);
        }
        errors
    }

    /// Whether nothing was read.
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The confusions of a cell, most frequent first; words without a prediction come last.
    pub fn confused(confusion: &Confusion) -> Vec<(&str, Option<&str>, u64)> {
        let pairs = confusion
            .worst(usize::MAX)
            .into_iter()
            .map(|(gold, predicted, words)| (gold, Some(predicted), words));
        let missed = confusion.tags.iter().zip(&confusion.missed).filter(|(_, words)| **words > 0);
        pairs.chain(missed.map(|(tag, words)| (tag.as_str(), None, *words))).collect()
    }

    fn group(&self, cells: &[CellView], group: &CellGroup, split: &'static str) -> Option<GroupErrors> {
        let of_split = || self.cells.iter().filter(|found| found.split == split);
        let members: Vec<&CellErrors> = of_split().filter(|found| group.holds(&cells[found.cell])).collect();
        let first = *members.first()?;
        let twins: Vec<(&CellErrors, &CellErrors)> = members
            .iter()
            .filter_map(|mine| Some((*mine, of_split().find(|base| is_baseline_of(cells, base, mine))?)))
            .collect();
        let mut of_lang = of_split().filter(|found| *cells[found.cell].cell.settings.lang == *group.lang);
        let (errors, confusions) = sum_confusions(&members);
        Some(GroupErrors {
            lang: group.lang.clone(),
            policy: group.policy.clone(),
            extras: group.extras.clone(),
            split,
            cells: members.len(),
            words: first.confusion.words(),
            varies: of_lang.any(|found| found.text != first.text),
            accuracy: mean_over(&members, CellErrors::accuracy)?,
            tags: summarize_tags(&members, &twins),
            macro_f1: mean_over(&members, CellErrors::macro_f1)?,
            macro_f1_gain: mean_gain(&twins, |found| Some(found.macro_f1())),
            errors,
            confusions,
            strata: summarize_strata(&members),
        })
    }
}

impl CellErrors {
    fn of(cell: usize, split: &'static str, predictions: &PredictedTags, read: &Tagged) -> Self {
        let text = &read.texts[predictions.text];
        let named = text.tag_set(predictions, &read.tags);
        let mut confusion = Confusion::new(named.iter().map(|(name, _)| *name));
        let mut places = vec![0; read.tags.len()];
        for (at, (_, tag)) in named.iter().enumerate() {
            places[usize::from(*tag)] = at;
        }
        let place = |tag: TagIndex| places[usize::from(tag)];
        let (mut known, mut lengths) = (ByFamiliarity::default(), ByLength::default());
        for (_, range) in text.ranges() {
            let words = range.map(|at| (&text.words[at], predictions.predicted[at]));
            let outcomes: Vec<WordOutcome> = words
                .map(|(word, predicted)| {
                    let outcome = word_outcome(place(word.gold), predicted.map(place));
                    confusion.add_outcome(outcome);
                    known.add(word.known, outcome);
                    outcome
                })
                .collect();
            lengths.add(&outcomes);
        }
        Self { cell, split, text: predictions.text, confusion, strata: of_strata(&known, &lengths) }
    }

    fn accuracy(&self) -> f64 {
        self.confusion.correct() as f64 / self.confusion.words().max(1) as f64
    }

    fn macro_f1(&self) -> f64 {
        self.confusion.averages().macro_avg.f1
    }
}

/// Strata with at least one word, in a fixed order.
fn of_strata(known: &ByFamiliarity, lengths: &ByLength) -> Vec<WordStratum> {
    let by_train = [
        ("known", known.known),
        ("unknown", known.unknown),
        ("unambiguous", known.unambiguous),
        ("ambiguous", known.ambiguous),
    ];
    let stratum =
        |by, name: String, tally: Tally| WordStratum { by, name, words: tally.words, correct: tally.correct };
    let by_train = by_train.map(|(name, tally)| stratum(Strata::Train, name.into(), tally));
    let by_length = lengths.buckets.iter().map(|bucket| {
        let first = bucket.min_words.max(1);
        let name = bucket.max_words.map_or_else(|| format!("{first}+"), |last| format!("{first}-{last}"));
        stratum(Strata::Length, name, bucket.tally)
    });
    by_train.into_iter().chain(by_length).filter(|stratum| stratum.words > 0).collect()
}

fn is_baseline_of(cells: &[CellView], base: &CellErrors, mine: &CellErrors) -> bool {
    let base = &cells[base.cell];
    base.cell.settings.policy == BASELINE && base.is_twin_of(&cells[mine.cell])
}

fn mean_over(members: &[&CellErrors], get: impl Fn(&CellErrors) -> f64) -> Option<MeanStd> {
    MeanStd::of(&members.iter().map(|found| get(found)).collect::<Vec<_>>())
}

fn mean_gain(
    twins: &[(&CellErrors, &CellErrors)],
    get: impl Fn(&CellErrors) -> Option<f64>,
) -> Option<MeanStd> {
    let gains = twins.iter().filter_map(|(mine, base)| Some(get(mine)? - get(base)?));
    MeanStd::of(&gains.collect::<Vec<_>>())
}

/// Tags that occur in the first cell's words; the most frequent first, then by name.
fn summarize_tags(members: &[&CellErrors], twins: &[(&CellErrors, &CellErrors)]) -> Vec<TagErrors> {
    let Some(first) = members.first() else { return Vec::new() };
    let scored: Vec<(usize, _)> =
        members.iter().map(|found| (found.cell, found.confusion.per_tag())).collect();
    let f1 = |found: &CellErrors, tag: &str| {
        found.confusion.per_tag().into_iter().find(|score| score.tag == tag).map(|score| score.prf.f1)
    };
    let mut tags: Vec<TagErrors> = Vec::new();
    for score in first.confusion.per_tag().into_iter().filter(|score| score.support > 0) {
        let all =
            || scored.iter().filter_map(|(_, scores)| scores.iter().find(|other| other.tag == score.tag));
        let stat = |get: fn(&frostline_score::Prf) -> f64| {
            MeanStd::of(&all().map(|score| get(&score.prf)).collect::<Vec<_>>())
        };
        let (Some(precision), Some(recall), Some(mean)) =
            (stat(|prf| prf.precision), stat(|prf| prf.recall), stat(|prf| prf.f1))
        else {
            continue;
        };
        tags.push(TagErrors {
            support: score.support,
            precision,
            recall,
            f1: mean,
            f1_gain: mean_gain(twins, |found| f1(found, &score.tag)),
            tag: score.tag,
        });
    }
    // Stable: equal ones stay in the order of their names.
    tags.sort_by_key(|tag| std::cmp::Reverse(tag.support));
    tags
}

/// The wrong words of all members, and the most frequent pairs among them.
fn sum_confusions(members: &[&CellErrors]) -> (u64, Vec<Confused>) {
    let mut sum: BTreeMap<(&str, Option<&str>), u64> = BTreeMap::new();
    for (gold, predicted, words) in members.iter().flat_map(|found| WordErrors::confused(&found.confusion)) {
        *sum.entry((gold, predicted)).or_default() += words;
    }
    let errors: u64 = sum.values().sum();
    let mut pairs: Vec<Confused> = sum
        .into_iter()
        .map(|((gold, predicted), words)| Confused {
            gold: gold.into(),
            predicted: predicted.map(Into::into),
            words,
            share_of_errors: words as f64 / errors as f64,
        })
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.words));
    pairs.truncate(CONFUSIONS);
    (errors, pairs)
}

fn summarize_strata(members: &[&CellErrors]) -> Vec<StratumErrors> {
    let Some(first) = members.first() else { return Vec::new() };
    let of = |stratum: &WordStratum| {
        let all = members.iter().flat_map(|found| &found.strata);
        let alike = all.filter(|other| (other.by, &other.name) == (stratum.by, &stratum.name));
        let shares: Vec<f64> = alike.map(|other| other.correct as f64 / other.words as f64).collect();
        let accuracy = MeanStd::of(&shares)?;
        Some(StratumErrors {
            by: stratum.by,
            name: stratum.name.clone(),
            words: stratum.words,
            accuracy,
            interval: ShareInterval::of(accuracy.mean, stratum.words),
        })
    };
    first.strata.iter().filter_map(of).collect()
}
