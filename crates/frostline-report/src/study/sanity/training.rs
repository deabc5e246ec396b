//! What is wrong with how policies were trained: few seeds, too few epochs, cells without a result.

use crate::number::{count, listed, plural, signed};
use crate::page::code;
use crate::study::cells::{BASELINE, CellResult, CellView, Done, distinct};
use crate::study::groups::CellGroup;
use crate::study::sanity::options::{more_epochs, more_seeds};
use crate::study::sanity::scores::{BestGroup, best_of_policies};
use crate::study::sanity::{Examined, Finding, FindingKind, Severity};
use crate::study::stages::score_value;

/// Studies with at most this number of seeds are warned about.
const FEW_SEEDS: usize = 3;

/// The most policies that are named.
const NAMED: usize = 3;

/// What is wrong with the training of a language, seeds aside.
pub(super) fn find_problems(study: &Examined<'_>, lang: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = still_improving(study, lang).into_iter().collect();
    found.extend(find_undone(study, lang));
    found
}

/// Languages with few seeds, those with the same ones together.
pub(super) fn few_seeds(study: &Examined<'_>) -> Vec<Finding> {
    let seeds = |lang: &str| -> Vec<u64> {
        let here = study.cells.iter().filter(|view| view.cell.settings.lang == lang && view.done().is_some());
        let mut seeds = distinct(here.map(|view| view.cell.settings.seed));
        seeds.sort_unstable();
        seeds
    };
    let each: Vec<(&str, Vec<u64>)> = study.langs().into_iter().map(|lang| (lang, seeds(lang))).collect();
    let few = distinct(each.iter().map(|(_, seeds)| seeds));
    // A sweep that stops when it knows has no more seeds than it needs.
    let most = if study.plan.decide.is_on() { 1 } else { FEW_SEEDS };
    let few = few.into_iter().filter(|seeds| (1..=most).contains(&seeds.len()));
    few.map(|seeds| {
        let langs = each.iter().filter(|(_, own)| own == seeds).map(|(lang, _)| (*lang).into());
        of_seeds(seeds, langs.collect())
    })
    .collect()
}

fn of_seeds(seeds: &[u64], langs: Vec<String>) -> Finding {
    let named = listed(&seeds.iter().map(u64::to_string).collect::<Vec<_>>());
    let (severity, sentence) = match seeds.len() {
        1 => (
            Severity::ForbidsRecommendation,
            format!(
                "there is one seed ({named}), so that nothing can be decided: how far another seed's numbers lie from these \
                 is not known."
            ),
        ),
        few => {
            let words = if few == 2 { "two" } else { "three" };
            let sentence = format!(
                "the answer rests on {words} seeds ({named}): only differences well above the spread between \
                 seeds can be decided."
            );
            (Severity::Caution, sentence)
        }
    };
    Finding {
        langs,
        sentence,
        advice: "More seeds keep the cells that are done.".into(),
        command: Some(more_seeds(seeds)),
        ..Finding::new(FindingKind::FewSeeds, severity, 0.0)
    }
}

/// Policies whose last epoch was clearly better than the one before, or the only one.
fn still_improving(study: &Examined<'_>, lang: &str) -> Option<Finding> {
    let groups = study.groups_of(lang);
    let reached = best_of_policies(study, groups);
    let rises: Vec<(&BestGroup<'_>, Rise)> =
        reached.iter().filter_map(|one| Some((one, last_rise(study, one.group)?))).collect();
    let margin = study.plan.verdict.margin.points();
    let mut rising: Vec<(&str, f64)> = rises
        .iter()
        .filter_map(|(one, rise)| Some((one.policy, 100.0 * rise.gain?)))
        .filter(|(_, points)| *points >= margin)
        .collect();
    rising.sort_by(|a, b| b.1.total_cmp(&a.1));
    let once = rises.iter().filter(|(_, rise)| rise.epochs == 1).count();
    let sentence = match (rising.as_slice(), once) {
        ([], 0) => return None,
        ([], once) if once == rises.len() => {
            "every policy was trained for one epoch: whether more epochs would give more is not known."
                .to_string()
        }
        ([], once) => format!("{once} of {} policies were trained for one epoch alone.", rises.len()),
        (some, _) => format!(
            "{} still improved in the last epoch by the margin or more. A policy that learns slowly looks worse than it is.",
            named_rises(some)
        ),
    };
    let most = rises.iter().filter_map(|(_, rise)| rise.gain).fold(0.0, f64::max);
    let view = rises.first().and_then(|(one, _)| study.members(one.group).next())?;
    Some(Finding {
        langs: vec![lang.into()],
        sentence,
        advice: "Train longer.".into(),
        command: Some(more_epochs(&view.cell.settings)),
        ..Finding::new(FindingKind::StillImproving, Severity::Caution, most)
    })
}

/// Policies with their last gains in points, the first of them by name.
fn named_rises(rising: &[(&str, f64)]) -> String {
    let one = |(policy, points): &(&str, f64)| format!("{} ({} points)", code(policy), signed(*points, 2));
    let mut named: Vec<String> = rising.iter().take(NAMED).map(one).collect();
    if rising.len() > NAMED {
        named.push(format!("{} more", rising.len() - NAMED));
    }
    listed(&named)
}

/// How the last stage's dev score rose at its end.
struct Rise {
    epochs: usize,
    /// The last epoch's score minus the one before, as a mean over cells, if the last one was selected.
    gain: Option<f64>,
}

fn last_rise<'a>(study: &Examined<'a>, group: &'a CellGroup) -> Option<Rise> {
    let done: Vec<&Done> = study.members(group).filter_map(CellView::done).collect();
    let of_cell = |done: &&Done| -> Option<(usize, Option<f64>)> {
        let result = &done.result;
        let stage = result.stages.len() as u32;
        let rows: Vec<_> = result.epochs.iter().filter(|row| row.stage == stage).collect();
        let last = rows.last()?;
        let gain = match rows.as_slice() {
            [.., before, last] if result.last().selected_epoch == last.epoch => {
                Some(score_value(&last.dev) - score_value(&before.dev))
            }
            _ => None,
        };
        (last.step > 0).then_some((rows.len(), gain))
    };
    let each: Vec<(usize, Option<f64>)> = done.iter().filter_map(of_cell).collect();
    let epochs = each.iter().map(|(epochs, _)| *epochs).min()?;
    let gains: Vec<f64> = each.iter().filter_map(|(_, gain)| *gain).collect();
    // Cells that selected an earlier epoch no longer improved at the last one.
    let gain = (!gains.is_empty()).then(|| gains.iter().sum::<f64>() / each.len() as f64);
    Some(Rise { epochs, gain })
}

/// Cells without a result.
fn find_undone(study: &Examined<'_>, lang: &str) -> Option<Finding> {
    let cells: Vec<&CellView> = study.cells.iter().filter(|view| view.cell.settings.lang == lang).collect();
    let failed: Vec<&str> = cells
        .iter()
        .filter_map(|view| match &view.state {
            CellResult::Failed { error, .. } => Some(error.lines().next().unwrap_or_default()),
            _ => None,
        })
        .collect();
    let missing = cells.iter().filter(|view| matches!(view.state, CellResult::Missing)).count();
    let without: Vec<String> = without_result(study, lang);
    let parts =
        [(failed.len(), "failed"), (missing, if missing == 1 { "is missing" } else { "are missing" })];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(found, _)| *found > 0)
        .map(|(found, what)| format!("{} {what}", count(*found as u64)))
        .collect();
    if parts.is_empty() {
        return None;
    }
    let reason = failed.first().map_or_else(String::new, |error| {
        format!(" The first error: {}.", code(&error.trim_end_matches('.').replace('`', "'")))
    });
    let nothing = match without.as_slice() {
        [] => String::new(),
        names => format!(" There is no result at all of {}.", listed(names)),
    };
    let no_baseline = without.iter().any(|name| *name == code(BASELINE));
    let severity = if no_baseline { Severity::ForbidsRecommendation } else { Severity::Caution };
    let weight = 1.0 - (cells.len() - failed.len() - missing) as f64 / cells.len() as f64;
    Some(Finding {
        langs: vec![lang.into()],
        sentence: format!(
            "of {}, {}: numbers are over the cells that are left.{nothing}{reason}",
            plural(cells.len(), "cell"),
            listed(&parts)
        ),
        advice: "The same command again keeps what is done, and runs what failed or is missing.".into(),
        ..Finding::new(FindingKind::Undone, severity, weight)
    })
}

/// Policies of a language of which no cell is done.
fn without_result(study: &Examined<'_>, lang: &str) -> Vec<String> {
    let groups = || study.groups_of(lang);
    let policies = distinct(groups().map(|group| group.policy.as_str()));
    let has_none =
        |policy: &&str| groups().filter(|group| group.policy == *policy).all(|group| group.seeds_done == 0);
    policies.into_iter().filter(has_none).map(code).collect()
}
