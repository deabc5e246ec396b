//! Owns what the data gives without training the encoder: baselines over the seeds of a language.
//!
//! Refuses policies: a baseline belongs to data and encoder, so all policies are held against the same.

use frostline_record::{Baseline, BaselineFit, MOST_FREQUENT, PROBE, Score, Unit};
use serde::Serialize;

use crate::Report;
use crate::number;
use crate::stages::{Metric, value};
use crate::summary::{CellView, Group, distinct};
use crate::words;
use frostline_score::{MeanStd, ShareInterval};

/// Stands for a further axis whose values all have the same baselines.
pub(crate) const ANY: &str = "any";

/// A baseline of a task in a language, over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BaselineStats {
    pub lang: String,
    /// Values of the further axes; `any` where they make no difference.
    pub extras: Vec<String>,
    pub task: String,
    pub unit: Unit,
    pub metric: Metric,
    /// `most-frequent` or `probe`.
    pub baseline: String,
    pub dev: Option<BaselineScore>,
    pub test: Option<BaselineScore>,
    /// Whether every fit converged, where there was one.
    pub converged: Option<bool>,
    /// The first seed's fit.
    pub fit: Option<BaselineFit>,
}

/// A baseline's accuracy on one split, in [0, 1].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BaselineScore {
    pub accuracy: MeanStd,
    pub accuracy_interval: Option<ShareInterval>,
    pub study_accuracy: MeanStd,
    /// By the task's own metric.
    pub score: MeanStd,
}

impl BaselineStats {
    /// Its name in words.
    pub fn title(&self) -> &'static str {
        Self::name(&self.baseline, self.unit)
    }

    /// The words for a baseline of words or of sentences.
    pub fn name(baseline: &str, unit: Unit) -> &'static str {
        match (baseline, unit) {
            (PROBE, _) => "logistic probe",
            (_, Unit::Words) => "most frequent tag",
            (_, Unit::Sentences) => "most frequent label",
        }
    }

    /// Whether it is the one of these further axes.
    pub fn is_at(&self, extras: &[String]) -> bool {
        self.extras.iter().zip(extras).all(|(own, other)| own == other || own == ANY)
    }
}

/// The baselines of the headline of a language's cells, for all further axes together where they make no
/// difference.
pub(crate) fn of(report: &Report, lang: &str) -> Vec<BaselineStats> {
    of_task(report, lang, None)
}

/// Those of a task; of the headline where none is named.
pub(crate) fn of_task(report: &Report, lang: &str, task: Option<&str>) -> Vec<BaselineStats> {
    let each: Vec<Vec<BaselineStats>> = report
        .extras()
        .into_iter()
        .map(|extras| at(report, lang, extras, task))
        .filter(|all| !all.is_empty())
        .collect();
    let any = |all: &[BaselineStats]| -> Vec<BaselineStats> {
        let extras = vec![ANY.to_string(); report.axes().len()];
        all.iter().map(|one| BaselineStats { extras: extras.clone(), ..one.clone() }).collect()
    };
    match each.as_slice() {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|other| any(other) == any(first)) => {
            any(first)
        }
        _ => each.concat(),
    }
}

/// All of a report.
pub(crate) fn all(report: &Report) -> Vec<BaselineStats> {
    report.langs().into_iter().flat_map(|lang| of(report, lang)).collect()
}

/// Those under one combination of further axes.
fn at(report: &Report, lang: &str, extras: &[String], task: Option<&str>) -> Vec<BaselineStats> {
    let is_here = |view: &&CellView| view.cell.settings.lang == lang && view.extras == extras;
    let cells: Vec<&CellView> = first_of_seeds(report).filter(is_here).collect();
    [MOST_FREQUENT, PROBE].into_iter().filter_map(|name| stats(name, task, &cells)).collect()
}

/// One cell for each language, seed and combination of further axes: any that is done and has baselines.
pub(crate) fn first_of_seeds(report: &Report) -> impl Iterator<Item = &CellView> {
    let known = |view: &&CellView| view.done().is_some_and(|done| !done.result.baselines.is_empty());
    let cells: Vec<&CellView> = report.cells.iter().filter(known).collect();
    let key = |view: &CellView| {
        let settings = &view.cell.settings;
        (settings.lang.clone(), settings.seed, view.extras.clone())
    };
    let keys = distinct(cells.iter().map(|view| key(view)));
    keys.into_iter().filter_map(move |wanted| cells.iter().find(|view| key(view) == wanted).copied())
}

fn stats(name: &str, task: Option<&str>, cells: &[&CellView]) -> Option<BaselineStats> {
    let results = cells.iter().filter_map(|view| Some((*view, &view.done()?.result)));
    let found: Vec<(&CellView, &str, &Baseline)> = results
        .filter_map(|(view, result)| {
            let task = task.unwrap_or(&result.headline);
            Some((view, task, result.baselines.get(task)?.get(name)?))
        })
        .collect();
    let &(first, task, baseline) = found.first()?;
    let found: Vec<&Baseline> = found.iter().map(|(_, _, baseline)| *baseline).collect();
    let fits: Vec<&BaselineFit> = found.iter().filter_map(|baseline| baseline.fit.as_ref()).collect();
    Some(BaselineStats {
        lang: first.cell.settings.lang.clone(),
        extras: first.extras.clone(),
        task: task.into(),
        unit: first.done()?.result.tasks.get(task)?.unit,
        metric: Metric::of(baseline.scores.values().next()?),
        baseline: name.into(),
        dev: split(&found, "dev"),
        test: split(&found, "test"),
        converged: (!fits.is_empty()).then(|| fits.iter().all(|fit| fit.converged)),
        fit: fits.first().map(|fit| (*fit).clone()),
    })
}

fn split(found: &[&Baseline], split: &str) -> Option<BaselineScore> {
    let scores: Vec<&Score> = found.iter().filter_map(|baseline| baseline.scores.get(split)).collect();
    let accuracy = over(&scores, Score::accuracy)?;
    Some(BaselineScore {
        accuracy,
        accuracy_interval: ShareInterval::of(accuracy.mean, scores[0].words),
        study_accuracy: over(&scores, Score::study_accuracy)?,
        score: over(&scores, value)?,
    })
}

fn over(scores: &[&Score], get: fn(&Score) -> f64) -> Option<MeanStd> {
    spread(&scores.iter().map(|score| get(score)).collect::<Vec<_>>())
}

/// Over seeds; where they all have the same data there is nothing to spread.
pub(crate) fn spread(values: &[f64]) -> Option<MeanStd> {
    let same = values.windows(2).all(|pair| pair[0] == pair[1]);
    MeanStd::of(if same { &values[..values.len().min(1)] } else { values })
}

/// Who stays below a baseline on dev in a language, in words; places with the same answer in one.
pub(crate) fn below(report: &Report, lang: &str) -> Vec<String> {
    type Who = (&'static str, Vec<String>);
    let mut found: Vec<(Who, Vec<(String, f64)>)> = Vec::new();
    for one in of(report, lang) {
        let Some(dev) = &one.dev else { continue };
        let is_below =
            |group: &&Group| group.dev.as_ref().is_some_and(|own| own.accuracy.mean < dev.accuracy.mean);
        let here = || report.groups_of(lang).filter(|group| one.is_at(&group.extras));
        let named = |policy: &str| {
            let of_policy = || here().filter(|group| group.policy == policy);
            let places =
                || of_policy().filter(is_below).map(|group| words::extras_name(report, &group.extras));
            match (places().count(), of_policy().count()) {
                (0, _) => None,
                (below, all) if below == all => Some(format!("`{policy}`")),
                _ => Some(format!("`{policy}` with {}", places().collect::<Vec<_>>().join(" or "))),
            }
        };
        let policies: Vec<String> =
            distinct(here().map(|group| group.policy.as_str())).into_iter().filter_map(named).collect();
        if policies.is_empty() {
            continue;
        }
        let anywhere = one.extras.iter().all(|value| value == ANY);
        let place = if anywhere { String::new() } else { words::extras_name(report, &one.extras) };
        let (key, at) = ((one.title(), policies), (place, dev.accuracy.mean));
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, places)) => places.push(at),
            None => found.push((key, vec![at])),
        }
    }
    found.iter().map(|((title, policies), places)| said(lang, title, policies, places)).collect()
}

fn said(lang: &str, title: &str, policies: &[String], places: &[(String, f64)]) -> String {
    let verb = if policies.len() == 1 { "lies" } else { "lie" };
    let at = match places {
        [(place, _)] if place.is_empty() => String::new(),
        places => {
            format!(" at {}", places.iter().map(|(place, _)| place.as_str()).collect::<Vec<_>>().join("; "))
        }
    };
    let value = match places {
        [(_, value)] => format!(" ({} %)", number::fixed(value * 100.0, 2)),
        _ => String::new(),
    };
    format!("**{lang}**{at}: {} {verb} below the {title}{value}.", number::listed(policies))
}
