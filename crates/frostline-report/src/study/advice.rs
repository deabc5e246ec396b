//! The cheapest policy that is shown not to be worse than `none` by more than the margin, and which policies no other
//! beats in both accuracy and cost.

use frostline_score::holm;
use frostline_score::verdict::ALPHA;
use serde::Serialize;

use crate::study::cells::{BASELINE, CellView, distinct, over};
use crate::study::groups::Group;
use crate::study::verdicts::{PolicyVerdict, Verdicts};

/// The split that decides.
pub(crate) const SPLIT: &str = "dev";

/// What to freeze in a language, or in all of them, with some values of the further axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Advice {
    /// One language; all of them where there are several.
    pub langs: Vec<String>,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    /// In points.
    pub margin: f64,
    /// How many policies compete, for which the confidence is corrected.
    pub policies: usize,
    /// The cheapest policy that is shown not to be worse; nothing where none is.
    pub choice: Option<Choice>,
    /// The cheapest policy that may be as good: it is cheaper than the choice, and not shown to be worse.
    pub open: Option<Open>,
}

/// A policy that is shown not to be worse than `none` by more than the margin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Choice {
    pub policy: String,
    /// The predicted time of a step as a share of that of `none`.
    pub step_cost: f64,
    /// 1 minus the p-value of "worse by more than the margin", corrected for all policies.
    pub confidence: f64,
}

/// A policy of which it is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Open {
    pub policy: String,
    pub step_cost: f64,
    /// What would decide whether it differs from `none`.
    pub needed: Option<String>,
}

/// A policy in all languages in question.
struct Candidate<'a> {
    policy: &'a str,
    step_cost: f64,
    rows: Vec<&'a PolicyVerdict>,
}

impl Candidate<'_> {
    /// The p-value of "worse by more than the margin in at least one language": the largest of theirs.
    fn p(&self, margin: f64) -> f64 {
        let of_row = |row: &&PolicyVerdict| match row.judged() {
            Some(judged) if row.compared.seeds.len() > 1 => judged.difference.p_at_most(-margin / 100.0),
            _ => 1.0,
        };
        self.rows.iter().map(of_row).fold(0.0, f64::max)
    }

    /// The p-value of "worse by more than the margin in no language": the smallest of theirs, corrected for their number.
    fn p_not_worse(&self, margin: f64) -> f64 {
        let of_row = |row: &&PolicyVerdict| match row.judged() {
            Some(judged) if row.compared.seeds.len() > 1 => {
                1.0 - judged.difference.p_at_most(-margin / 100.0)
            }
            _ => 1.0,
        };
        let smallest = self.rows.iter().map(of_row).fold(1.0, f64::min);
        (smallest * self.rows.len() as f64).min(1.0)
    }
}

/// For each combination of further axes: every language, then all of them together where there are several. `margin` is
/// in points.
pub(crate) fn of(
    groups: &[Group],
    standings: &[Option<Standing>],
    verdicts: &Verdicts,
    margin: f64,
) -> Vec<Advice> {
    let langs: Vec<&str> = distinct(groups.iter().map(|group| group.lang.as_str()));
    let mut all = Vec::new();
    for extras in distinct(groups.iter().map(|group| group.extras.as_slice())) {
        let each = langs.iter().map(std::slice::from_ref);
        let together = (langs.len() > 1).then_some(langs.as_slice());
        let each = each.chain(together);
        all.extend(each.filter_map(|langs| advice(groups, standings, verdicts, langs, extras, margin)));
    }
    all
}

fn advice(
    groups: &[Group],
    standings: &[Option<Standing>],
    verdicts: &Verdicts,
    langs: &[&str],
    extras: &[String],
    margin: f64,
) -> Option<Advice> {
    let is_here = |group: &Group| group.extras == extras && langs.contains(&group.lang.as_str());
    let here = || groups.iter().zip(standings).filter(|(group, _)| is_here(group));
    let policies =
        distinct(here().map(|(group, _)| group.policy.as_str()).filter(|policy| *policy != BASELINE));
    let candidate = |policy: &'_ str| {
        let rows: Option<Vec<_>> =
            langs.iter().map(|lang| verdicts.find(lang, policy, extras, SPLIT)).collect();
        let of_policy = here().filter(|(group, _)| group.policy == policy);
        let costs: Option<Vec<f64>> =
            of_policy.map(|(_, standing)| Some(standing.as_ref()?.step_cost)).collect();
        let (rows, costs) = (rows?, costs?);
        Some((costs.iter().sum::<f64>() / costs.len() as f64, rows))
    };
    let mut candidates: Vec<Candidate<'_>> = policies
        .into_iter()
        .filter_map(|policy| {
            let (step_cost, rows) = candidate(policy)?;
            Some(Candidate { policy, step_cost, rows })
        })
        .filter(|one| one.rows.iter().all(|row| row.judged().is_some()))
        .collect();
    if candidates.is_empty() {
        return None;
    }
    // The first of equal ones in the plan's order.
    candidates.sort_by(|a, b| a.step_cost.total_cmp(&b.step_cost));
    let p_values: Vec<f64> = candidates.iter().map(|one| one.p(margin)).collect();
    let corrected = holm(&p_values);
    let cheaper = |one: &Candidate<'_>| one.step_cost < 1.0;
    let chosen = (0..candidates.len()).find(|&at| corrected[at] <= ALPHA && cheaper(&candidates[at]));
    let choice = chosen.map(|at| Choice {
        policy: candidates[at].policy.into(),
        step_cost: candidates[at].step_cost,
        confidence: 1.0 - corrected[at],
    });
    let not_worse = holm(&candidates.iter().map(|one| one.p_not_worse(margin)).collect::<Vec<f64>>());
    let before = &candidates[..chosen.unwrap_or(candidates.len())];
    let open =
        before.iter().zip(&not_worse).find(|(one, p)| cheaper(one) && **p > ALPHA).map(|(one, _)| Open {
            policy: one.policy.into(),
            step_cost: one.step_cost,
            needed: one.rows.iter().find_map(|row| row.compared.would_decide()),
        });
    let langs = langs.iter().map(ToString::to_string).collect();
    Some(Advice { langs, extras: extras.to_vec(), margin, policies: candidates.len(), choice, open })
}

/// What a group costs, and whether another one is better in both cost and accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The predicted time of a step as a share of that of `none`, as a mean over the group's cells.
    pub step_cost: f64,
    /// Whether no other group of the same language and further axes is at least as accurate and as cheap, and better in
    /// one of both. By mean accuracy on dev: whether a difference is more than chance is not asked.
    pub on_front: Option<bool>,
}

/// Those of all groups; nothing where no cell is done.
pub(crate) fn standings(cells: &[CellView], groups: &[Group]) -> Vec<Option<Standing>> {
    let costs: Vec<Option<f64>> = groups.iter().map(|group| step_cost(cells, group)).collect();
    let place = |at: usize| Some((costs[at]?, groups[at].dev.as_ref()?.accuracy.mean));
    let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 >= b.1 && a != b;
    let is_rival = |at: usize, other: usize| {
        groups[at].lang == groups[other].lang && groups[at].extras == groups[other].extras
    };
    let on_front = |at: usize| {
        let own = place(at)?;
        let mut rivals = (0..groups.len()).filter(|&other| is_rival(at, other)).filter_map(place);
        Some(!rivals.any(|other| beats(other, own)))
    };
    let standing = |at: usize| Some(Standing { step_cost: costs[at]?, on_front: on_front(at) });
    (0..groups.len()).map(standing).collect()
}

fn step_cost(cells: &[CellView], group: &Group) -> Option<f64> {
    let done: Vec<_> = cells.iter().filter(|view| group.holds(view)).filter_map(CellView::done).collect();
    let costs = over(&done, |done| 1.0 / done.result.cost.predicted_speedup);
    let mean = costs.iter().sum::<f64>() / costs.len() as f64;
    mean.is_finite().then_some(mean)
}
