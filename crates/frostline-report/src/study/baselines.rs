//! What cells reach without training the encoder: baselines over the seeds of a language. A baseline belongs to
//! data and encoder, so all policies have the same.

use frostline_record::{Baseline, BaselineFit, MOST_FREQUENT, PROBE, Score, Unit};
use serde::Serialize;

use crate::study::cells::{CellView, distinct};
use crate::study::stages::{ScoredBy, score_value};
use frostline_score::{MeanStd, ShareInterval};

/// The value shown for a further axis whose values all have the same baselines.
pub(crate) const ANY: &str = "any";

/// A baseline of a task in a language, over seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BaselineStats {
    pub lang: String,
    /// Values of the further axes; `any` if they make no difference.
    pub extras: Vec<String>,
    pub task: String,
    pub unit: Unit,
    pub metric: ScoredBy,
    /// `most-frequent` or `probe`.
    pub baseline: String,
    pub dev: Option<BaselineScore>,
    pub test: Option<BaselineScore>,
    /// Whether every fit converged, if there was one.
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
    /// Returns the name in words.
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

    /// Its scores on a split.
    pub fn on(&self, split: &str) -> Option<&BaselineScore> {
        if split == "dev" { self.dev.as_ref() } else { self.test.as_ref() }
    }

    /// Whether it is the one of these further axes.
    pub fn is_at(&self, extras: &[String]) -> bool {
        self.extras.iter().zip(extras).all(|(own, other)| own == other || own == ANY)
    }
}

/// The baselines of a task in a language, of the headline if none is named: for all further axes together if they make
/// no difference.
pub(crate) fn of_cells(cells: &[CellView], lang: &str, task: Option<&str>) -> Vec<BaselineStats> {
    let here = cells.iter().filter(|view| view.cell.settings.lang == lang);
    let each: Vec<Vec<BaselineStats>> = distinct(here.map(|view| view.extras.as_slice()))
        .into_iter()
        .map(|extras| baselines_at(cells, lang, extras, task))
        .filter(|all| !all.is_empty())
        .collect();
    let any = |all: &[BaselineStats]| -> Vec<BaselineStats> {
        let extras = vec![ANY.to_string(); all.first().map_or(0, |one| one.extras.len())];
        all.iter().map(|one| BaselineStats { extras: extras.clone(), ..one.clone() }).collect()
    };
    match each.as_slice() {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|other| any(other) == any(first)) => {
            any(first)
        }
        _ => each.concat(),
    }
}

/// Returns the baselines under one combination of further axes.
fn baselines_at(cells: &[CellView], lang: &str, extras: &[String], task: Option<&str>) -> Vec<BaselineStats> {
    let is_here = |view: &&CellView| view.cell.settings.lang == lang && view.extras == extras;
    let cells: Vec<&CellView> = first_of_seeds(cells).filter(is_here).collect();
    [MOST_FREQUENT, PROBE].into_iter().filter_map(|name| summarize_baseline(name, task, &cells)).collect()
}

/// One cell for each language, seed and combination of further axes: any that is done and has baselines.
pub(crate) fn first_of_seeds(cells: &[CellView]) -> impl Iterator<Item = &CellView> {
    let known = |view: &&CellView| view.done().is_some_and(|done| !done.result.baselines.is_empty());
    let cells: Vec<&CellView> = cells.iter().filter(known).collect();
    let key = |view: &CellView| {
        let settings = &view.cell.settings;
        (settings.lang.clone(), settings.seed, view.extras.clone())
    };
    let keys = distinct(cells.iter().map(|view| key(view)));
    keys.into_iter().filter_map(move |wanted| cells.iter().find(|view| key(view) == wanted).copied())
}

fn summarize_baseline(name: &str, task: Option<&str>, cells: &[&CellView]) -> Option<BaselineStats> {
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
        lang: first.cell.settings.lang.to_string(),
        extras: first.extras.clone(),
        task: task.into(),
        unit: first.done()?.result.tasks.get(task)?.unit,
        metric: ScoredBy::of(baseline.scores.values().next()?),
        baseline: name.into(),
        dev: summarize_split(&found, "dev"),
        test: summarize_split(&found, "test"),
        converged: (!fits.is_empty()).then(|| fits.iter().all(|fit| fit.converged)),
        fit: fits.first().map(|fit| (*fit).clone()),
    })
}

fn summarize_split(found: &[&Baseline], split: &str) -> Option<BaselineScore> {
    let scores: Vec<&Score> = found.iter().filter_map(|baseline| baseline.scores.get(split)).collect();
    let accuracy = mean_over_scores(&scores, Score::accuracy)?;
    Some(BaselineScore {
        accuracy,
        accuracy_interval: ShareInterval::of(accuracy.mean, scores[0].words)
            .filter(|_| scores[0].entities.is_none()),
        study_accuracy: mean_over_scores(&scores, Score::study_accuracy)?,
        score: mean_over_scores(&scores, score_value)?,
    })
}

fn mean_over_scores(scores: &[&Score], get: fn(&Score) -> f64) -> Option<MeanStd> {
    spread_of_values(&scores.iter().map(|score| get(score)).collect::<Vec<_>>())
}

/// Over seeds; if they all have the same data there is nothing to spread.
pub(crate) fn spread_of_values(values: &[f64]) -> Option<MeanStd> {
    let same = values.windows(2).all(|pair| pair[0] == pair[1]);
    MeanStd::of(if same { &values[..values.len().min(1)] } else { values })
}
