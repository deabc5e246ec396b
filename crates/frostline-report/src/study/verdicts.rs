//! Every policy compared with the one that freezes nothing, by one rule: paired by seed and by sentence. All places of
//! a report that speak of a policy's score take the verdict from here.

use frostline_score::{
    Judged, Resampling, SeedLevels, SeedScatter, StochasticOrder, almost_stochastic_order,
};
use serde::Serialize;

use crate::number::fixed;
use crate::study::cells::{BASELINE, CellView, SPLITS, distinct};
use crate::study::comparison::{Judging, PairsBySeed, SEED, SplitComparison};
use crate::study::groups::CellGroup;
use crate::study::outcomes::{After, Outcomes, Twins};
use crate::study::place::{Placed, PolicyPlace, placed};
use crate::study::scores::ScoreKind;
use crate::study::stages::score_value;

/// The least number of seeds for a stochastic order.
const SEEDS_FOR_ORDER: usize = 5;

/// A policy compared with `none` on a split.
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
    pub compared: SplitComparison,
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
    /// The same on the macro F1 of tags, if words are tagged.
    pub macro_f1: Vec<PolicyVerdict>,
    /// How much seeds scatter in all comparisons of a split, in the order of [`SPLITS`].
    scatter: [SeedScatter; 2],
}

impl Verdicts {
    /// Judges every group. The intervals of all rows of a language on a split hold together. `margin` is in points.
    pub fn of(
        cells: &[CellView],
        groups: &[CellGroup],
        outcomes: &Outcomes,
        margin: f64,
        levels: Option<&SeedLevels>,
    ) -> Self {
        let judge = |kind| {
            SPLITS.map(|split| {
                let judging = Judging { kind, levels, ..Judging::new(outcomes.both(), split, margin) };
                judge_policies(cells, groups, &judging)
            })
        };
        let (own, macro_f1) = (judge(ScoreKind::Own), judge(ScoreKind::MacroF1));
        let mut macro_f1 = by_language(groups, macro_f1.map(|(rows, _)| rows));
        macro_f1.retain(|row| row.judged().is_some());
        let scatter = [own[0].1, own[1].1];
        Self { scatter, rows: by_language(groups, own.map(|(rows, _)| rows)), macro_f1 }
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
    pub fn macro_f1(&self, group: &CellGroup, split: &str) -> Option<&PolicyVerdict> {
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

/// The verdicts on a split, language by language in the order of groups, and how much seeds scatter in all of them.
fn judge_policies(
    cells: &[CellView],
    groups: &[CellGroup],
    judging: &Judging<'_>,
) -> (Vec<PolicyVerdict>, SeedScatter) {
    let split = judging.split;
    let row = |group| {
        let twins = twins_of_group(cells, group, split);
        let pairs: PairsBySeed<'_> = twins.iter().filter_map(|(a, b)| ends_of_cells(a, b)).collect();
        (!twins.is_empty()).then_some(((group, twins), pairs))
    };
    let others = |lang: &str| {
        groups.iter().filter(|group| group.lang == lang && group.policy != BASELINE).filter_map(row).collect()
    };
    let langs = distinct(groups.iter().map(|group| group.lang.as_str()));
    let (compared, scatter) = judging.compare(langs.into_iter().map(others).collect());
    let verdict = |((group, twins), found)| policy_verdict(group, twins, split, found);
    (compared.into_iter().map(verdict).collect(), scatter)
}

fn policy_verdict(
    group: &CellGroup,
    mut twins: Vec<(&CellView, &CellView)>,
    split: &'static str,
    compared: SplitComparison,
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

/// The rows of both splits, language by language.
fn by_language(groups: &[CellGroup], rows: [Vec<PolicyVerdict>; 2]) -> Vec<PolicyVerdict> {
    let mut rows = rows.concat();
    rows.sort_by_key(|row| groups.iter().position(|group| group.lang == row.lang));
    rows
}

/// The ends of two cells, with their seed.
pub(crate) fn ends_of_cells<'a>(a: &'a CellView, b: &'a CellView) -> Option<(u64, Twins<'a>)> {
    Some((a.cell.settings.seed, (After::end(a)?, After::end(b)?)))
}

/// The cells of a group that were scored on a split, each with the cell of its seed in which everything learns.
fn twins_of_group<'a>(
    cells: &'a [CellView],
    group: &CellGroup,
    split: &str,
) -> Vec<(&'a CellView, &'a CellView)> {
    let scored = |view: &&CellView| view.done().is_some_and(|done| done.score(split).is_some());
    let pair = |view: &'a CellView| {
        let is_base = |other: &&CellView| other.cell.settings.policy == BASELINE && other.is_twin_of(view);
        Some((view, cells.iter().filter(is_base).find(scored)?))
    };
    cells.iter().filter(|view| group.holds(view)).filter(scored).filter_map(pair).collect()
}

/// Stochastic order over seeds, if there are enough.
fn stochastic_order(paired: &[(&CellView, &CellView)], split: &str) -> Option<StochasticOrder> {
    if paired.len() < SEEDS_FOR_ORDER {
        return None;
    }
    let score = |view: &CellView| Some(score_value(view.done()?.score(split)?));
    let a: Option<Vec<f64>> = paired.iter().map(|(view, _)| score(view)).collect();
    let b: Option<Vec<f64>> = paired.iter().map(|(_, view)| score(view)).collect();
    let resampling = Resampling { resamples: 1_000, seed: SEED, ..Resampling::default() };
    almost_stochastic_order(&a?, &b?, &resampling).ok()
}

/// A margin in words: `0.5 points`.
pub(crate) fn show_points(margin: f64) -> String {
    let text = fixed(margin, 4);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "1" { "1 point".into() } else { format!("{text} points") }
}
