//! The best learning rate is the lowest or highest that was tried, along an axis of rates or in a search for them: a better one
//! may lie beyond.

use std::fmt::Write as _;

use frostline_record::{FoundRate, RateSearch};

use crate::number::{fixed, listed};
use crate::page::code;
use crate::study::baselines::ANY;
use crate::study::cells::{CellView, distinct};
use crate::study::groups::CellGroup;
use crate::study::sanity::options::{RATE, more_of_search, quote_assignment, show_rate};
use crate::study::sanity::scores::{best_of_policies, dev_score};
use crate::study::sanity::{Examined, Finding, FindingKind, Severity};

/// The best learning rate of some that were tried, if it is the lowest or the highest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EdgeRate {
    pub rate: f64,
    /// Whether it is the highest that was tried.
    pub is_highest: bool,
    /// How much better it is than the rate next to it, in [0, 1].
    pub gain: f64,
}

/// The edge at which the best of some rates lies, each with its score; nothing if it lies between others, or one alone was
/// tried. This is for the values of an axis and for any other search over rates.
pub(crate) fn best_at_edge(tried: &[(f64, f64)]) -> Option<EdgeRate> {
    let mut tried = tried.to_vec();
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best = (0..tried.len()).max_by(|&a, &b| tried[a].1.total_cmp(&tried[b].1))?;
    let next = match best {
        _ if tried.len() < 2 => return None,
        0 => 1,
        at if at + 1 == tried.len() => at - 1,
        _ => return None,
    };
    Some(EdgeRate { rate: tried[best].0, is_highest: best > 0, gain: tried[best].1 - tried[next].1 })
}

/// If rates are an axis: whether the best policy's best rate lies at its edge.
pub(super) fn axis_at_edge(study: &Examined<'_>, lang: &str) -> Vec<Finding> {
    let axes = study.plan.extra_axes();
    let Some(at) = axes.iter().position(|axis| axis.ends_with(RATE)) else { return Vec::new() };
    let without_rate = |group: &CellGroup| {
        let mut extras = group.extras.clone();
        extras[at] = ANY.into();
        extras
    };
    let here: Vec<&CellGroup> = study.groups_of(lang).collect();
    let places = distinct(here.iter().map(|group| without_rate(group)));
    let found = places.into_iter().filter_map(|extras| {
        let groups: Vec<&CellGroup> =
            here.iter().copied().filter(|group| without_rate(group) == extras).collect();
        let edges: Vec<(&str, f64, Option<EdgeRate>)> = best_of_policies(study, groups.iter().copied())
            .into_iter()
            .map(|best| {
                let tried = groups.iter().filter(|group| group.policy == best.policy).filter_map(|group| {
                    Some((group.extras[at].parse::<f64>().ok()?, dev_score(study, group)?))
                });
                (best.policy, best.score, best_at_edge(&tried.collect::<Vec<_>>()))
            })
            .collect();
        let best = edges.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let edge = best.2?;
        let others = edges.iter().filter(|other| other.0 != best.0 && other.2.is_some());
        let others: Vec<String> = others.map(|other| code(other.0)).collect();
        Some(of_edge(study, lang, extras, axes[at], (best.0, edge), &others))
    });
    found.collect()
}

fn of_edge(
    study: &Examined<'_>,
    lang: &str,
    extras: Vec<String>,
    axis: &str,
    (policy, edge): (&str, EdgeRate),
    others: &[String],
) -> Finding {
    let points = 100.0 * edge.gain;
    let is_clear = points >= study.plan.verdict.margin.points();
    let (end, more) = if edge.is_highest { ("highest", "higher") } else { ("lowest", "lower") };
    let others = match others {
        [] => String::new(),
        others => format!(" The best rates of {} lie at the edge too.", listed(others)),
    };
    let step = if edge.is_highest { 3.0 } else { 1.0 / 3.0 };
    let next = [1.0, step, step * step].map(|factor| show_rate(edge.rate * factor));
    let severity = if is_clear { Severity::ForbidsRecommendation } else { Severity::Caution };
    Finding {
        langs: vec![lang.into()],
        extras,
        sentence: format!(
            "the best policy, {}, is best at the {end} rate that was tried, {}, by {} points: a {more} one may be better.{others}",
            code(policy),
            show_rate(edge.rate),
            fixed(points, 2)
        ),
        command: Some(quote_assignment(&format!("{axis}=[{}]", next.join(", ")))),
        ..Finding::new(FindingKind::RateAtEdge, severity, edge.gain)
    }
}

/// Policies for which a search chose the lowest or the highest rate that it tried.
pub(super) fn found_at_edge(study: &Examined<'_>) -> Vec<Finding> {
    let Some(search) = study.rates else { return Vec::new() };
    let places = distinct(search.found.iter().map(|found| (&found.langs, &found.axes)));
    let of_place = |(langs, axes)| {
        let here = search.found.iter().filter(|found| (&found.langs, &found.axes) == (langs, axes));
        let at_edge: Vec<&FoundRate> = here.filter(|found| found.edge.is_some()).collect();
        of_found(study, search, &at_edge)
    };
    places.into_iter().filter_map(of_place).collect()
}

/// The finding about rates of the same languages and axes, of which each lies at an edge.
fn of_found(study: &Examined<'_>, search: &RateSearch, found: &[&FoundRate]) -> Option<Finding> {
    let first = *found.first()?;
    let gains = found.iter().map(|found| gain_at_edge(found)).fold(0.0, f64::max);
    let mut sentence = String::from("the search chose the ");
    for (at, found) in found.iter().enumerate() {
        let end = if found.edge? == frostline_record::Edge::Highest { "highest" } else { "lowest" };
        let and = if at == 0 { "" } else { ", and the " };
        let _ = write!(
            sentence,
            "{and}{end} rate that it tried for {} ({})",
            code(&found.policy.to_string()),
            show_rate(found.lr)
        );
    }
    sentence += ": a better rate may lie beyond, which makes the comparison unfair.";
    let is_clear = 100.0 * gains >= study.plan.verdict.margin.points();
    let severity = if is_clear { Severity::ForbidsRecommendation } else { Severity::Caution };
    Some(Finding {
        langs: first.langs.iter().map(ToString::to_string).collect(),
        extras: extras_of(study, first),
        sentence,
        advice: "Continue the search; what it has tried is kept.".into(),
        command: Some(more_of_search(study.plan, search)),
        ..Finding::new(FindingKind::RateAtEdge, severity, gains)
    })
}

/// By how much the chosen rate was better than the next best in the last rung that tried several, in [0, 1].
fn gain_at_edge(found: &FoundRate) -> f64 {
    let tried = |rung: &frostline_record::Rung| -> Vec<(f64, f64)> {
        rung.trials.iter().filter_map(|trial| Some((trial.lr, trial.score?))).collect()
    };
    found.rungs.iter().rev().find_map(|rung| best_at_edge(&tried(rung))).map_or(0.0, |edge| edge.gain)
}

/// The values of the further axes that a rate was found for, `any` if it was found for all of an axis.
fn extras_of(study: &Examined<'_>, found: &FoundRate) -> Vec<String> {
    if found.axes.is_empty() {
        return Vec::new();
    }
    let is_own = |view: &&CellView| found.is_of(&view.cell.settings);
    let Some(view) = study.cells.iter().find(is_own) else { return Vec::new() };
    let axes = study.plan.extra_axes();
    let own = axes.iter().zip(&view.extras);
    own.map(|(axis, value)| if found.axes.contains_key(*axis) { value.clone() } else { ANY.into() }).collect()
}
