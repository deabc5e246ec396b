//! The cheapest policy that is shown to lose at most the margin against `none`, and which policies a cheaper one is shown to
//! beat. Both read the intervals of the verdicts, so that they cannot disagree with them.

use frostline_record::MOST_FREQUENT;
use serde::Serialize;

use crate::study::baselines::BaselineStats;
use crate::study::cells::{BASELINE, CellView, distinct, value_of_each};
use crate::study::groups::CellGroup;
use crate::study::place::PolicyPlace;
use crate::study::verdicts::{PolicyVerdict, Verdicts};

/// The split that decides.
pub(crate) const SPLIT: &str = "dev";

/// What to freeze in a language, or in all of them, with some values of the further axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Advice {
    /// One language; all of them if there are several.
    pub langs: Vec<String>,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    /// In points.
    pub margin: f64,
    /// How many policies are cheaper than `none`.
    pub policies: usize,
    /// How many of these are shown to lose more than the margin in at least one language.
    pub losing: usize,
    /// The cheapest policy that is shown to lose at most the margin in each language; nothing if none is.
    pub choice: Option<Choice>,
    /// The cheapest policy that may be as good: it is cheaper than the choice, not shown to lose more than the margin, and in no
    /// language below the most frequent tag.
    pub open: Option<Open>,
}

/// A policy that is shown to lose at most the margin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Choice {
    pub policy: String,
    /// The predicted time of a step as a share of the time with `none`.
    pub step_cost: f64,
    /// Difference from `none` and the ends of the interval, in the order of languages; fractions of 1.
    pub differences: Vec<[f64; 3]>,
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
struct CandidatePolicy<'a> {
    policy: &'a str,
    step_cost: f64,
    rows: Vec<&'a PolicyVerdict>,
    /// Whether it is below the most frequent tag in any language.
    is_below: bool,
}

impl CandidatePolicy<'_> {
    /// Whether every language's interval lies above minus the margin.
    fn is_good(&self, margin: f64) -> bool {
        self.rows.iter().all(|row| row.judged().is_some_and(|found| found.loses_at_most(margin / 100.0)))
    }

    /// Whether any language's interval lies below minus the margin.
    fn is_bad(&self, margin: f64) -> bool {
        self.rows.iter().any(|row| row.judged().is_some_and(|found| found.loses_more_than(margin / 100.0)))
    }

    fn differences(&self) -> Vec<[f64; 3]> {
        let of = |row: &&PolicyVerdict| {
            row.judged().map(|found| [found.difference.value, found.interval[0], found.interval[1]])
        };
        self.rows.iter().filter_map(of).collect()
    }
}

/// For each combination of further axes: every language, then all of them together if there are several. `margin` is
/// in points.
pub(crate) fn recommend_policies(
    groups: &[CellGroup],
    standings: &[Option<Standing>],
    verdicts: &Verdicts,
    baselines: &[BaselineStats],
    margin: f64,
) -> Vec<Advice> {
    let langs: Vec<&str> = distinct(groups.iter().map(|group| group.lang.as_str()));
    let mut all = Vec::new();
    for extras in distinct(groups.iter().map(|group| group.extras.as_slice())) {
        let each = langs.iter().map(std::slice::from_ref);
        let together = (langs.len() > 1).then_some(langs.as_slice());
        let each = each.chain(together);
        let found = each
            .filter_map(|langs| find_advice(groups, standings, (verdicts, baselines), langs, extras, margin));
        all.extend(found);
    }
    all
}

fn find_advice(
    groups: &[CellGroup],
    standings: &[Option<Standing>],
    (verdicts, baselines): (&Verdicts, &[BaselineStats]),
    langs: &[&str],
    extras: &[String],
    margin: f64,
) -> Option<Advice> {
    let is_here = |group: &CellGroup| group.extras == extras && langs.contains(&group.lang.as_str());
    let here = || groups.iter().zip(standings).filter(|(group, _)| is_here(group));
    let policies =
        distinct(here().map(|(group, _)| group.policy.as_str()).filter(|policy| *policy != BASELINE));
    let candidate = |policy: &'_ str| {
        let rows: Option<Vec<_>> =
            langs.iter().map(|lang| verdicts.find(PolicyPlace { lang, policy, extras }, SPLIT)).collect();
        let of_policy = here().filter(|(group, _)| group.policy == policy);
        let costs: Option<Vec<f64>> =
            of_policy.map(|(_, standing)| Some(standing.as_ref()?.step_cost)).collect();
        let (rows, costs) = (rows?, costs?);
        Some((costs.iter().sum::<f64>() / costs.len() as f64, rows))
    };
    let mut candidates: Vec<CandidatePolicy<'_>> = policies
        .into_iter()
        .filter_map(|policy| {
            let (step_cost, rows) = candidate(policy)?;
            let mut own = here().filter(|(group, _)| group.policy == policy);
            let is_below = own.any(|(group, _)| is_below_most_frequent(group, baselines));
            Some(CandidatePolicy { policy, step_cost, rows, is_below })
        })
        .filter(|one| one.rows.iter().all(|row| row.judged().is_some()))
        .filter(|one| here().any(|(group, _)| group.policy == one.policy && !group.learns_nothing()))
        .collect();
    if candidates.is_empty() {
        return None;
    }
    // The first of equal ones in the plan's order.
    candidates.sort_by(|a, b| a.step_cost.total_cmp(&b.step_cost));
    candidates.retain(|one| one.step_cost < 1.0);
    let (policies, losing) = (candidates.len(), candidates.iter().filter(|one| one.is_bad(margin)).count());
    let chosen = candidates.iter().position(|one| one.is_good(margin));
    let choice = chosen.map(|at| &candidates[at]).map(|one| Choice {
        policy: one.policy.into(),
        step_cost: one.step_cost,
        differences: one.differences(),
    });
    let before = &candidates[..chosen.unwrap_or(candidates.len())];
    let open = before.iter().find(|one| !one.is_bad(margin) && !one.is_below).map(|one| Open {
        policy: one.policy.into(),
        step_cost: one.step_cost,
        needed: one.rows.iter().find_map(|row| row.compared.would_decide()),
    });
    let langs = langs.iter().map(ToString::to_string).collect();
    Some(Advice { langs, extras: extras.to_vec(), margin, policies, losing, choice, open })
}

/// Whether the most frequent tag or label has the better score on dev.
fn is_below_most_frequent(group: &CellGroup, baselines: &[BaselineStats]) -> bool {
    let of_group = baselines
        .iter()
        .filter(|one| one.baseline == MOST_FREQUENT && one.lang == group.lang && one.is_at(&group.extras));
    let mut scores = of_group.filter_map(|one| Some(one.dev.as_ref()?.score.mean));
    scores.any(|score| group.dev.as_ref().is_some_and(|own| own.score.mean < score))
}

/// What a group costs, and whether another one is shown to be better in both cost and score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The predicted time of a step as a share of the time with `none`, as a mean over the group's cells.
    pub step_cost: f64,
    /// Whether no other group of the same language and further axes is at least as cheap and shown to score more: by the
    /// intervals of both against `none`. Without verdicts, whether none is at least as cheap and as good by its mean.
    pub on_front: Option<bool>,
}

/// A group's place in a figure of cost and score.
struct CostAndScore {
    step_cost: f64,
    mean: f64,
    /// The interval of its difference from `none`, which has 0 itself.
    against_none: Option<[f64; 2]>,
}

/// Standings of all groups; nothing if no cell is done.
pub(crate) fn rank_groups(
    cells: &[CellView],
    groups: &[CellGroup],
    verdicts: &Verdicts,
) -> Vec<Option<Standing>> {
    let costs: Vec<Option<f64>> = groups.iter().map(|group| step_cost(cells, group)).collect();
    let place = |at: usize| {
        let group = &groups[at];
        let against_none = match group.policy == BASELINE {
            true => Some([0.0; 2]),
            false => verdicts.get(group, SPLIT).and_then(PolicyVerdict::judged).map(|found| found.interval),
        };
        if group.learns_nothing() {
            return None;
        }
        Some(CostAndScore { step_cost: costs[at]?, mean: group.dev.as_ref()?.score.mean, against_none })
    };
    let is_rival = |at: usize, other: usize| {
        groups[at].lang == groups[other].lang && groups[at].extras == groups[other].extras
    };
    let standing = |at: usize| {
        let step_cost = costs[at]?;
        let Some(own) = place(at) else {
            return Some(Standing { step_cost, on_front: None });
        };
        let rivals =
            || (0..groups.len()).filter(|&other| other != at && is_rival(at, other)).filter_map(place);
        let is_judged = own.against_none.is_some() && rivals().all(|other| other.against_none.is_some());
        let beaten = match is_judged {
            true => rivals().any(|other| other.is_shown_to_beat(&own)),
            false => rivals().any(|other| other.beats_by_mean(&own)),
        };
        Some(Standing { step_cost, on_front: Some(!beaten) })
    };
    (0..groups.len()).map(standing).collect()
}

impl CostAndScore {
    fn beats_by_mean(&self, other: &Self) -> bool {
        let (a, b) = ((self.step_cost, self.mean), (other.step_cost, other.mean));
        a.0 <= b.0 && a.1 >= b.1 && a != b
    }

    fn is_shown_to_beat(&self, other: &Self) -> bool {
        let intervals = self.against_none.zip(other.against_none);
        self.step_cost <= other.step_cost && intervals.is_some_and(|(own, other)| own[0] > other[1])
    }
}

fn step_cost(cells: &[CellView], group: &CellGroup) -> Option<f64> {
    let done: Vec<_> = cells.iter().filter(|view| group.holds(view)).filter_map(CellView::done).collect();
    let costs = value_of_each(&done, |done| 1.0 / done.result.cost.predicted_speedup);
    let mean = costs.iter().sum::<f64>() / costs.len() as f64;
    mean.is_finite().then_some(mean)
}
