//! Every policy beside the one that freezes nothing, judged by one rule: paired by seed and by sentence. All places of
//! a report that speak of a policy's accuracy take the verdict from here.

use frostline_score::crossed::RESAMPLES;
use frostline_score::verdict::judge;
use frostline_score::{
    Judged, Measured, Needed, Resampling, StochasticOrder, Verdict, almost_stochastic_order,
};
use serde::Serialize;

use crate::number::{count, fixed};
use crate::study::cells::{BASELINE, CellView, SPLITS};
use crate::study::groups::Group;
use crate::study::outcomes::{Outcomes, Twins};

/// Seeds from which stochastic order says something.
const SEEDS_FOR_ORDER: usize = 5;

/// The seed of all resampling.
const SEED: u64 = 0;

/// A policy beside `none` on a split.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PolicyVerdict {
    #[serde(skip)]
    pub lang: String,
    #[serde(skip)]
    pub policy: String,
    #[serde(skip)]
    pub extras: Vec<String>,
    #[serde(skip)]
    pub split: &'static str,
    /// The seeds that are paired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<u64>,
    #[serde(flatten)]
    pub found: Found,
    /// Almost stochastic order over seeds: the policy above `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stochastic_order: Option<StochasticOrder>,
}

/// The verdict, or why there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Found {
    Judged(Box<Judged>),
    Unpaired { unpaired: String },
}

impl PolicyVerdict {
    /// What was found.
    pub fn judged(&self) -> Option<&Judged> {
        match &self.found {
            Found::Judged(judged) => Some(judged),
            Found::Unpaired { .. } => None,
        }
    }

    /// The verdict in words.
    pub fn words(&self) -> String {
        let judged = match &self.found {
            Found::Judged(judged) => judged,
            Found::Unpaired { unpaired } => return format!("not paired: {unpaired}"),
        };
        match (judged.verdict, self.seeds.len()) {
            (Verdict::Undecided, 1) => "undecided (one seed)".into(),
            (Verdict::Better | Verdict::Worse, _) if judged.within_margin => {
                format!("{}, within the margin", judged.verdict.name())
            }
            (verdict, _) => verdict.name().into(),
        }
    }

    /// What would decide, in words; nothing where it is decided.
    pub fn would_decide(&self) -> Option<String> {
        let judged = self.judged().filter(|judged| judged.verdict == Verdict::Undecided)?;
        Some(match judged.needed {
            None => "3 seeds or more".into(),
            Some(Needed { seeds: None, sentences: None }) => "more seeds and more sentences together".into(),
            Some(Needed { seeds: Some(seeds), sentences: None }) => {
                format!("about {seeds} seeds; more sentences alone do not suffice")
            }
            Some(Needed { seeds: None, sentences: Some(sentences) }) => {
                format!("about {} sentences; more seeds alone do not suffice", rounded(sentences))
            }
            Some(Needed { seeds: Some(seeds), sentences: Some(sentences) }) => {
                format!("about {seeds} seeds or {} sentences", rounded(sentences))
            }
        })
    }
}

/// Two digits of a count: more would pretend to know it.
fn rounded(value: usize) -> String {
    let scale = 10_usize.pow((value.max(1).ilog10()).saturating_sub(1));
    count((value.div_ceil(scale) * scale) as u64)
}

/// The verdicts of a study.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    /// By language and split, in the order of groups.
    pub rows: Vec<PolicyVerdict>,
}

impl Verdicts {
    /// Judges every group; Holm's correction is for all rows of a language on a split. `margin` is in points.
    pub fn of(cells: &[CellView], groups: &[Group], outcomes: &Outcomes, margin: f64) -> Self {
        let mut langs: Vec<&str> = groups.iter().map(|group| group.lang.as_str()).collect();
        langs.dedup();
        let mut rows = Vec::new();
        for lang in langs {
            for split in SPLITS {
                let others = groups.iter().filter(|group| group.lang == lang && group.policy != BASELINE);
                rows.extend(table(cells, others, outcomes, split, margin));
            }
        }
        Self { rows }
    }

    /// The verdict on a group.
    pub fn get(&self, group: &Group, split: &str) -> Option<&PolicyVerdict> {
        self.find(&group.lang, &group.policy, &group.extras, split)
    }

    /// The verdict on a policy.
    pub fn find(&self, lang: &str, policy: &str, extras: &[String], split: &str) -> Option<&PolicyVerdict> {
        let is = |row: &&PolicyVerdict| {
            row.split == split && row.lang == lang && row.policy == policy && row.extras == extras
        };
        self.rows.iter().find(is)
    }

    /// The rows of a language on a split.
    pub fn of_lang<'a>(&'a self, lang: &'a str, split: &'a str) -> impl Iterator<Item = &'a PolicyVerdict> {
        self.rows.iter().filter(move |row| row.lang == lang && row.split == split)
    }
}

/// The rows of a language on a split, corrected for each other.
fn table<'a>(
    cells: &[CellView],
    groups: impl Iterator<Item = &'a Group>,
    outcomes: &Outcomes,
    split: &'static str,
    margin: f64,
) -> Vec<PolicyVerdict> {
    let mut rows = Vec::new();
    let mut measured = Vec::new();
    for group in groups {
        let twins = twins(cells, group, split);
        if twins.is_empty() {
            continue;
        }
        let has = |(a, b): &(&CellView, &CellView)| outcomes.has((&a.cell, &b.cell), split);
        let paired: Vec<(&CellView, &CellView)> = twins.into_iter().filter(has).collect();
        let pairs: Vec<Twins<'_>> = paired.iter().map(|(a, b)| (&a.cell, &b.cell)).collect();
        let row = |found, paired: &[(&CellView, &CellView)], stochastic_order| PolicyVerdict {
            lang: group.lang.clone(),
            policy: group.policy.clone(),
            extras: group.extras.clone(),
            split,
            seeds: paired.iter().map(|(view, _)| view.cell.settings.seed).collect(),
            found,
            stochastic_order,
        };
        let found = match pairs.as_slice() {
            [] => Err("the stored predictions are missing".into()),
            _ => outcomes.strata(&[pairs], split),
        };
        match found.and_then(|strata| Measured::of(&strata, RESAMPLES, SEED).map_err(|e| e.to_string())) {
            Err(unpaired) => rows.push(row(Found::Unpaired { unpaired }, &[], None)),
            Ok(found) => {
                measured.push((rows.len(), found));
                // Replaced below, once all rows of the table are measured.
                let unpaired = String::new();
                rows.push(row(Found::Unpaired { unpaired }, &paired, order(&paired, split)));
            }
        }
    }
    let (places, measured): (Vec<usize>, Vec<Measured>) = measured.into_iter().unzip();
    for (place, judged) in places.into_iter().zip(judge(measured, margin / 100.0)) {
        rows[place].found = Found::Judged(Box::new(judged));
    }
    rows
}

/// The cells of a group that were scored on a split, each with that of its seed in which everything learns.
fn twins<'a>(cells: &'a [CellView], group: &Group, split: &str) -> Vec<(&'a CellView, &'a CellView)> {
    let scored = |view: &&CellView| view.done().is_some_and(|done| done.score(split).is_some());
    let pair = |view: &'a CellView| {
        let is_base = |other: &&CellView| other.cell.settings.policy == BASELINE && other.is_twin_of(view);
        Some((view, cells.iter().filter(is_base).find(scored)?))
    };
    cells.iter().filter(|view| group.holds(view)).filter(scored).filter_map(pair).collect()
}

/// Stochastic order over seeds, where there are enough.
fn order(paired: &[(&CellView, &CellView)], split: &str) -> Option<StochasticOrder> {
    if paired.len() < SEEDS_FOR_ORDER {
        return None;
    }
    let accuracy = |view: &CellView| Some(view.done()?.score(split)?.accuracy());
    let a: Option<Vec<f64>> = paired.iter().map(|(view, _)| accuracy(view)).collect();
    let b: Option<Vec<f64>> = paired.iter().map(|(_, view)| accuracy(view)).collect();
    let resampling = Resampling { resamples: 1_000, seed: SEED, ..Resampling::default() };
    almost_stochastic_order(&a?, &b?, &resampling).ok()
}

/// A margin in words: `0.5 points`.
pub(crate) fn points(margin: f64) -> String {
    let text = fixed(margin, 4);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "1" { "1 point".into() } else { format!("{text} points") }
}

/// How many of the rows have each verdict: `2 worse, 1 undecided`.
pub(crate) fn tally<'a>(rows: impl Iterator<Item = &'a PolicyVerdict>) -> Vec<String> {
    let all: Vec<Verdict> = rows.filter_map(|row| Some(row.judged()?.verdict)).collect();
    let kinds = [Verdict::Better, Verdict::Worse, Verdict::Equivalent, Verdict::Undecided];
    let said = kinds.into_iter().map(|kind| (kind, all.iter().filter(|&&found| found == kind).count()));
    said.filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{count} {}", kind.name())).collect()
}
