//! Every policy beside the one that freezes nothing, judged by one rule: paired by seed and by sentence. All places of
//! a report that speak of a policy's accuracy take the verdict from here.

use frostline_score::{Judged, Resampling, StochasticOrder, Verdict, almost_stochastic_order};
use serde::Serialize;

use crate::number::fixed;
use crate::study::cells::{BASELINE, CellView, SPLITS};
use crate::study::comparison::{Comparison, OF_ENTITIES, Row, SEED, compare, is_of_entities};
use crate::study::groups::Group;
use crate::study::outcomes::{After, Outcomes, Twins};

/// Seeds from which stochastic order says something.
const SEEDS_FOR_ORDER: usize = 5;

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
    #[serde(flatten)]
    pub compared: Comparison,
    /// Almost stochastic order over seeds: the policy above `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stochastic_order: Option<StochasticOrder>,
}

impl PolicyVerdict {
    /// What was found.
    pub fn judged(&self) -> Option<&Judged> {
        self.compared.judged()
    }
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
    let groups = groups.map(|group| (group, twins(cells, group, split)));
    let groups: Vec<_> = groups.filter(|(_, twins)| !twins.is_empty()).collect();
    let rows: Vec<Row<'_>> = groups
        .iter()
        .map(|(_, twins)| match twins.iter().any(|(view, _)| is_of_entities(view, split)) {
            true => Err(OF_ENTITIES),
            false => Ok(twins.iter().filter_map(|(a, b)| ends(a, b)).collect()),
        })
        .collect();
    let compared = compare(&rows, outcomes.both(), split, margin);
    let mut found = Vec::new();
    for ((group, mut twins), compared) in groups.into_iter().zip(compared) {
        twins.retain(|(view, _)| compared.seeds.contains(&view.cell.settings.seed));
        found.push(PolicyVerdict {
            lang: group.lang.clone(),
            policy: group.policy.clone(),
            extras: group.extras.clone(),
            split,
            compared,
            stochastic_order: order(&twins, split),
        });
    }
    found
}

/// The ends of two cells, with their seed.
fn ends<'a>(a: &'a CellView, b: &'a CellView) -> Option<(u64, Twins<'a>)> {
    Some((a.cell.settings.seed, (After::end(a)?, After::end(b)?)))
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
