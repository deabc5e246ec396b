//! Every policy beside the one that freezes nothing, judged by one rule: paired by seed and by sentence. All places of
//! a report that speak of a policy's score take the verdict from here.

use frostline_score::{Judged, Resampling, SeedScatter, StochasticOrder, almost_stochastic_order};
use serde::Serialize;

use crate::number::fixed;
use crate::study::cells::{BASELINE, CellView, SPLITS, distinct};
use crate::study::comparison::{Comparison, Judging, PairsBySeed, SEED};
use crate::study::groups::Group;
use crate::study::outcomes::{After, Outcomes, Twins};
use crate::study::place::{Placed, PolicyPlace, placed};
use crate::study::scores::ScoreKind;
use crate::study::stages::value;

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

placed!(struct PolicyVerdict);

impl PolicyVerdict {
    /// What was found.
    pub fn judged(&self) -> Option<&Judged> {
        self.compared.judged()
    }
}

/// The verdicts of a study.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    /// By language and split, in the order of groups, on the score of the headline task.
    pub rows: Vec<PolicyVerdict>,
    /// The same on the macro F1 of tags, where words are tagged.
    pub macro_f1: Vec<PolicyVerdict>,
    /// How much seeds scatter in all comparisons of a split, in the order of [`SPLITS`].
    scatter: [SeedScatter; 2],
}

impl Verdicts {
    /// Judges every group. The intervals of all rows of a language on a split hold together. `margin` is in points.
    pub fn of(cells: &[CellView], groups: &[Group], outcomes: &Outcomes, margin: f64) -> Self {
        let judging = |split, kind| Judging {
            outcomes: outcomes.both(),
            split,
            kind,
            margin,
            scatter: SeedScatter::default(),
        };
        let of_split = |split, kind| judge_tables(cells, groups, &judging(split, kind));
        let own = SPLITS.map(|split| of_split(split, ScoreKind::Own));
        let macro_f1 = SPLITS.map(|split| of_split(split, ScoreKind::MacroF1));
        Self {
            scatter: [own[0].1, own[1].1],
            rows: by_language(own.map(|(tables, _)| tables)),
            macro_f1: by_language(macro_f1.map(|(tables, _)| tables))
                .into_iter()
                .filter(|row| row.judged().is_some())
                .collect(),
        }
    }

    /// How much seeds scatter in all comparisons with `none` on a split.
    pub fn scatter(&self, split: &str) -> SeedScatter {
        self.scatter[usize::from(split != SPLITS[0])]
    }

    /// The verdict on a group.
    pub fn get(&self, of: &impl Placed, split: &str) -> Option<&PolicyVerdict> {
        self.find(of.place(), split)
    }

    /// The verdict on a group's macro F1.
    pub fn macro_f1(&self, group: &Group, split: &str) -> Option<&PolicyVerdict> {
        self.macro_f1.iter().find(|row| row.split == split && row.place() == group.place())
    }

    /// The verdict on a policy.
    pub fn find(&self, place: PolicyPlace<'_>, split: &str) -> Option<&PolicyVerdict> {
        self.rows.iter().find(|row| row.split == split && row.place() == place)
    }

    /// The rows of a language on a split.
    pub fn of_lang<'a>(&'a self, lang: &'a str, split: &'a str) -> impl Iterator<Item = &'a PolicyVerdict> {
        self.rows.iter().filter(move |row| row.lang == lang && row.split == split)
    }
}

/// The rows of each language on a split, in the order of groups, and how much seeds scatter in all of them.
fn judge_tables(
    cells: &[CellView],
    groups: &[Group],
    judging: &Judging<'_>,
) -> (Vec<Vec<PolicyVerdict>>, SeedScatter) {
    let split = judging.split;
    let of_lang = |lang: &str| {
        let others = groups.iter().filter(|group| group.lang == lang && group.policy != BASELINE);
        let paired = others.map(|group| (group, twins_of_group(cells, group, split)));
        paired.filter(|(_, twins)| !twins.is_empty()).collect::<Vec<_>>()
    };
    let langs: Vec<_> =
        distinct(groups.iter().map(|group| group.lang.as_str())).into_iter().map(of_lang).collect();
    let rows: Vec<Vec<PairsBySeed<'_>>> =
        langs.iter().map(|table| table.iter().map(|(_, twins)| pairs_of_twins(twins)).collect()).collect();
    let (compared, scatter) = judging.compare(&rows);
    let table = |(table, compared): (Vec<(&Group, Vec<_>)>, Vec<Comparison>)| {
        table
            .into_iter()
            .zip(compared)
            .map(|((group, twins), found)| policy_verdict(group, twins, split, found))
            .collect()
    };
    (langs.into_iter().zip(compared).map(table).collect(), scatter)
}

fn pairs_of_twins<'a>(twins: &[(&'a CellView, &'a CellView)]) -> PairsBySeed<'a> {
    twins.iter().filter_map(|(a, b)| ends_of_cells(a, b)).collect()
}

fn policy_verdict(
    group: &Group,
    mut twins: Vec<(&CellView, &CellView)>,
    split: &'static str,
    compared: Comparison,
) -> PolicyVerdict {
    twins.retain(|(view, _)| compared.seeds.contains(&view.cell.settings.seed));
    PolicyVerdict {
        lang: group.lang.clone(),
        policy: group.policy.clone(),
        extras: group.extras.clone(),
        split,
        compared,
        stochastic_order: stochastic_order(&twins, split),
    }
}

/// The tables of both splits, language by language.
fn by_language([dev, test]: [Vec<Vec<PolicyVerdict>>; 2]) -> Vec<PolicyVerdict> {
    dev.into_iter().zip(test).flat_map(|(dev, test)| dev.into_iter().chain(test)).collect()
}

/// The ends of two cells, with their seed.
fn ends_of_cells<'a>(a: &'a CellView, b: &'a CellView) -> Option<(u64, Twins<'a>)> {
    Some((a.cell.settings.seed, (After::end(a)?, After::end(b)?)))
}

/// The cells of a group that were scored on a split, each with that of its seed in which everything learns.
fn twins_of_group<'a>(
    cells: &'a [CellView],
    group: &Group,
    split: &str,
) -> Vec<(&'a CellView, &'a CellView)> {
    let scored = |view: &&CellView| view.done().is_some_and(|done| done.score(split).is_some());
    let pair = |view: &'a CellView| {
        let is_base = |other: &&CellView| other.cell.settings.policy == BASELINE && other.is_twin_of(view);
        Some((view, cells.iter().filter(is_base).find(scored)?))
    };
    cells.iter().filter(|view| group.holds(view)).filter(scored).filter_map(pair).collect()
}

/// Stochastic order over seeds, where there are enough.
fn stochastic_order(paired: &[(&CellView, &CellView)], split: &str) -> Option<StochasticOrder> {
    if paired.len() < SEEDS_FOR_ORDER {
        return None;
    }
    let score = |view: &CellView| Some(value(view.done()?.score(split)?));
    let a: Option<Vec<f64>> = paired.iter().map(|(view, _)| score(view)).collect();
    let b: Option<Vec<f64>> = paired.iter().map(|(_, view)| score(view)).collect();
    let resampling = Resampling { resamples: 1_000, seed: SEED, ..Resampling::default() };
    almost_stochastic_order(&a?, &b?, &resampling).ok()
}

/// A margin in words: `0.5 points`.
pub(crate) fn points(margin: f64) -> String {
    let text = fixed(margin, 4);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "1" { "1 point".into() } else { format!("{text} points") }
}
