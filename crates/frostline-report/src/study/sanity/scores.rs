//! What is wrong with what was reached: policies below what needs no training, and policies that learned nothing.

use frostline_record::{MOST_FREQUENT, PROBE};

use crate::number::{fixed, listed};
use crate::page::code;
use crate::study::baselines::{BaselineStats, of_cells};
use crate::study::cells::{BASELINE, CellView, Done, distinct};
use crate::study::groups::CellGroup;
use crate::study::sanity::options::{RATE, other_rates, own_rate};
use crate::study::sanity::{Examined, Finding, FindingKind, Severity};
use crate::study::stages::{ScoredBy, score_value};

/// A policy's best group among some that differ in further axes.
#[derive(Clone, Copy)]
pub(super) struct BestGroup<'a> {
    pub policy: &'a str,
    pub group: &'a CellGroup,
    /// The mean score on dev by the headline's own metric, in [0, 1].
    pub score: f64,
}

/// What is wrong with the scores of a language.
pub(super) fn find_problems(study: &Examined<'_>, lang: &str) -> Vec<Finding> {
    let mut found = below_baselines(study, lang);
    found.extend(nothing_learned(study, lang));
    found
}

/// The best group of each policy among these, in their order.
pub(super) fn best_of_policies<'a>(
    study: &Examined<'a>,
    groups: impl Iterator<Item = &'a CellGroup>,
) -> Vec<BestGroup<'a>> {
    let mut best: Vec<BestGroup<'a>> = Vec::new();
    for group in groups {
        let Some(score) = dev_score(study, group) else { continue };
        let reached = BestGroup { policy: &group.policy, group, score };
        match best.iter_mut().find(|known| known.policy == group.policy) {
            Some(known) if known.score < score => *known = reached,
            Some(_) => {}
            None => best.push(reached),
        }
    }
    best
}

/// The mean score of a group on dev, by the headline's own metric.
pub(super) fn dev_score<'a>(study: &Examined<'a>, group: &'a CellGroup) -> Option<f64> {
    let scores = study.members(group).filter_map(|view| Some(score_value(view.done()?.score("dev")?)));
    let scores: Vec<f64> = scores.collect();
    (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
}

/// Policies below baselines: of each place with baselines of its own.
fn below_baselines(study: &Examined<'_>, lang: &str) -> Vec<Finding> {
    let baselines = of_cells(study.cells, lang, None);
    let places = distinct(baselines.iter().map(|one| one.extras.as_slice()));
    places.into_iter().filter_map(|extras| below_at(study, lang, extras, &baselines)).collect()
}

fn below_at(
    study: &Examined<'_>,
    lang: &str,
    extras: &[String],
    baselines: &[BaselineStats],
) -> Option<Finding> {
    let named = |name: &str| baselines.iter().find(|one| one.extras == extras && one.baseline == name);
    let here = named(MOST_FREQUENT).or(named(PROBE))?;
    let groups = study.groups_of(lang).filter(|group| here.is_at(&group.extras));
    let reached = best_of_policies(study, groups);
    let of = |name: &str| Some((named(name)?, named(name)?.dev.as_ref()?.score.mean));
    let (frequent, probe) = (of(MOST_FREQUENT), of(PROBE));
    let is_below = |one: &BestGroup<'_>, baseline: Option<(&BaselineStats, f64)>| {
        baseline.is_some_and(|(_, score)| one.score < score)
    };
    let all_below = |which: &[Option<(&BaselineStats, f64)>]| {
        let below = |one: &BestGroup<'_>| which.iter().any(|baseline| is_below(one, *baseline));
        !reached.is_empty() && reached.iter().all(below)
    };
    let finding = |kind, severity| Finding {
        langs: vec![lang.into()],
        extras: extras.to_vec(),
        ..Finding::new(kind, severity, 0.0)
    };
    let settings = reached.first().and_then(|one| study.members(one.group).next());
    let rates = settings.map(|view| other_rates(study, &view.cell.settings));
    // The weakest statement that holds for all of them.
    let candidates = [vec![frequent], vec![probe], vec![frequent, probe]];
    if let Some(which) = candidates.into_iter().find(|which| all_below(which)) {
        let limits: Vec<String> =
            which.iter().flatten().map(|(one, score)| name_with_score(one, *score)).collect();
        return Some(Finding {
            sentence: format!(
                "{} below {}, which {} no training of the encoder: {}. Nothing worth comparing was learned.",
                subject_of_policies(&reached),
                limits.join(" or "),
                if limits.len() == 1 { "needs" } else { "need" },
                range_of_scores(&reached, here.metric)
            ),
            advice: "Look for a rate or a number of epochs at which the encoder learns.".into(),
            command: rates,
            ..finding(FindingKind::AllBelowBaseline, Severity::ForbidsRecommendation)
        });
    }
    let (baseline, score) = frequent?;
    let below: Vec<&BestGroup<'_>> = reached.iter().filter(|one| one.score < score).collect();
    let worst = below.iter().map(|one| score - one.score).fold(0.0, f64::max);
    let names: Vec<String> = below.iter().map(|one| with_score(one)).collect();
    let (first, verb) = (below.first()?, if below.len() == 1 { "is" } else { "are" });
    let own = study.members(first.group).next()?;
    Some(Finding {
        sentence: format!("{} {verb} below {}.", listed(&names), name_with_score(baseline, score)),
        advice: "Compare policies at rates and epochs with which each of them learns.".into(),
        command: Some(match study.plan.extra_axes().contains(&RATE) {
            true => other_rates(study, &own.cell.settings),
            false => own_rate(study, &own.cell.settings, first.policy),
        }),
        weight: worst,
        ..finding(FindingKind::BelowBaseline, Severity::Caution)
    })
}

/// The subject and its verb: `every policy, `none` included, is`.
fn subject_of_policies(reached: &[BestGroup<'_>]) -> String {
    match reached {
        [one] => format!("{}, the only policy, is", code(one.policy)),
        all if all.iter().any(|one| one.policy == BASELINE) => "every policy, `none` included, is".into(),
        all => format!("all {} policies are", all.len()),
    }
}

/// `they reach 62.10 to 65.30 % of dev`.
fn range_of_scores(reached: &[BestGroup<'_>], metric: ScoredBy) -> String {
    let scores = || reached.iter().map(|one| 100.0 * one.score);
    let (low, high) = (scores().fold(f64::MAX, f64::min), scores().fold(f64::MIN, f64::max));
    let (low, high) = (fixed(low, 2), fixed(high, 2));
    let metric = metric.name();
    if low == high {
        return format!("dev {metric} is {high} %");
    }
    format!("dev {metric} is {low} to {high} %")
}

/// `the most frequent tag (81.20 %)`.
fn name_with_score(baseline: &BaselineStats, score: f64) -> String {
    format!("the {} ({} %)", baseline.title(), fixed(100.0 * score, 2))
}

fn with_score(one: &BestGroup<'_>) -> String {
    format!("{} ({} %)", code(one.policy), fixed(100.0 * one.score, 2))
}

/// Policies that predict one label, or score exactly what the most frequent tag does.
fn nothing_learned(study: &Examined<'_>, lang: &str) -> Vec<Finding> {
    let groups: Vec<&CellGroup> = study.groups_of(lang).collect();
    let policies = distinct(groups.iter().map(|group| group.policy.as_str()));
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut trained = 0;
    for policy in &policies {
        let of_policy = groups.iter().filter(|group| group.policy == *policy);
        let done: Vec<&CellView> = of_policy
            .flat_map(|group| study.members(group))
            .filter(|view| view.done().is_some_and(|done| done.result.steps > 0))
            .collect();
        trained += usize::from(!done.is_empty());
        let phrases: Option<Vec<String>> = done.iter().map(|view| learned_nothing(view)).collect();
        let phrases = phrases.map(distinct).unwrap_or_default();
        if !phrases.is_empty() {
            found.push((policy, listed(&phrases)));
        }
    }
    if found.is_empty() {
        return Vec::new();
    }
    let severity = if found.len() == trained { Severity::ForbidsRecommendation } else { Severity::Caution };
    let rates = groups.iter().find_map(|group| study.members(group).next());
    let ways = distinct(found.iter().map(|(_, how)| how.as_str()));
    let sentences: Vec<String> = ways
        .into_iter()
        .map(|how| {
            let names: Vec<String> =
                found.iter().filter(|(_, own)| own == how).map(|(policy, _)| code(policy)).collect();
            format!("{} {how}", listed(&names))
        })
        .collect();
    vec![Finding {
        langs: vec![lang.into()],
        sentence: format!("{}, with every seed.", sentences.join("; ")),
        advice: "Look for a rate or a number of epochs at which the encoder learns.".into(),
        command: rates.map(|view| other_rates(study, &view.cell.settings)),
        ..Finding::new(FindingKind::NothingLearned, severity, found.len() as f64)
    }]
}

/// How a cell shows that nothing was learned, if it does.
fn learned_nothing(view: &CellView) -> Option<String> {
    let done = view.done()?;
    if let Some(label) = only_label(done) {
        return Some(format!("got no label of dev right but {}", code(&label)));
    }
    let result = &done.result;
    let frequent = result.baselines.get(&result.headline)?.get(MOST_FREQUENT)?;
    let (own, baseline) = (done.score("dev")?, frequent.scores.get("dev")?);
    let name = BaselineStats::name(MOST_FREQUENT, result.facts().unit);
    let same = (own.correct, own.entities) == (baseline.correct, baseline.entities);
    same.then(|| format!("scored exactly what the {name} does"))
}

/// The only label that a cell gets right, if dev has several.
fn only_label(done: &Done) -> Option<String> {
    let result = &done.result;
    let dev = &result.facts().dev;
    if dev.tags.len() < 2 {
        return None;
    }
    let selected = result.last().selected_epoch;
    let row = result.epochs.iter().find(|row| row.epoch == selected)?;
    if row.dev_f1.is_empty() {
        // Records of before F1 was counted: as many right as the label of most words has.
        let train = &result.facts().train.tags;
        let (label, _) = train.iter().max_by_key(|(_, count)| **count)?;
        return (dev.tags.get(label) == Some(&row.dev.correct)).then(|| label.clone());
    }
    let mut right = row.dev_f1.iter().filter(|(_, f1)| **f1 > 0.0).map(|(label, _)| label);
    let first = right.next()?;
    right.next().is_none().then(|| first.clone())
}
