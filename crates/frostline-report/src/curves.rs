//! Owns learning curves: accuracy by the number of train sentences, policy by policy.
//!
//! Refuses to read it off the plan: how many sentences a cell learned from stands in its record, whichever
//! setting chose them.

use std::collections::BTreeSet;

use frostline_record::{MOST_FREQUENT, PROBE};
use serde::Serialize;

use crate::Report;
use crate::baselines;
use crate::baselines::BaselineStats;
use crate::summary::{CellView, distinct};
use frostline_score::MeanStd;

/// The axes that choose how many sentences are learned from.
const SIZES: [&str; 3] = ["data.sample", "data.first", "data.fraction"];

/// The axes that only change which ones are.
const DRAWS: [&str; 1] = ["data.draw"];

/// The curves of a language under one combination of the axes that are left.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Curves {
    pub lang: String,
    /// Values of the axes besides those of the sentences, each with its name.
    pub others: Vec<String>,
    pub policies: Vec<Curve>,
    /// Baselines on the same sentences, by their title.
    pub baselines: Vec<Curve>,
}

/// One line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Curve {
    pub name: String,
    /// By the number of sentences, rising.
    pub points: Vec<Point>,
}

/// A place on a curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Point {
    pub sentences: u64,
    /// Over seeds, and over draws where they are an axis and leave sentences out.
    pub dev: MeanStd,
    pub test: Option<MeanStd>,
}

impl Curves {
    /// Every number of sentences, rising.
    pub fn sizes(&self) -> Vec<u64> {
        let points = self.policies.iter().flat_map(|curve| &curve.points);
        let mut sizes = distinct(points.map(|point| point.sentences));
        sizes.sort_unstable();
        sizes
    }
}

/// The curves of every language, where an axis chooses how many sentences are learned from.
pub(crate) fn of(report: &Report) -> Vec<Curves> {
    let axes = report.axes();
    if !axes.iter().any(|axis| SIZES.contains(axis)) {
        return Vec::new();
    }
    let others = |view: &CellView| -> Vec<String> {
        let kept =
            axes.iter().zip(&view.extras).filter(|(axis, _)| !SIZES.contains(axis) && !DRAWS.contains(axis));
        kept.map(|(axis, value)| format!("{axis} = {value}")).collect()
    };
    let done: Vec<&CellView> = report.cells.iter().filter(|view| view.done().is_some()).collect();
    let places = |lang: &str| {
        let of_lang = done.iter().filter(|view| view.cell.settings.lang == lang);
        distinct(of_lang.map(|view| others(view)))
    };
    let mut all = Vec::new();
    for lang in report.langs() {
        for place in places(lang) {
            let is_here = |view: &&&CellView| view.cell.settings.lang == lang && others(view) == place;
            let cells: Vec<&CellView> = done.iter().filter(is_here).copied().collect();
            let curves = Curves {
                lang: lang.into(),
                policies: policies(report, &cells),
                baselines: of_baselines(report, &cells),
                others: place,
            };
            all.extend((curves.sizes().len() > 1).then_some(curves));
        }
    }
    all
}

fn policies(report: &Report, cells: &[&CellView]) -> Vec<Curve> {
    let curve = |policy: &str| {
        let own = cells.iter().filter(|view| view.cell.settings.policy == policy);
        let score = |view: &CellView, split: &str| Some(view.done()?.score(split)?.accuracy());
        let curve = curve(policy, &own.copied().collect::<Vec<_>>(), score, MeanStd::of);
        (!curve.points.is_empty()).then_some(curve)
    };
    report.policies().into_iter().filter_map(curve).collect()
}

fn of_baselines(report: &Report, cells: &[&CellView]) -> Vec<Curve> {
    let held = |view: &&CellView| cells.iter().any(|cell| cell.cell.id == view.cell.id);
    // One cell for each seed and further axes: policies have the same baselines.
    let first: Vec<&CellView> = baselines::first_of_seeds(report).filter(held).collect();
    let curve = |name: &str| {
        let score = |view: &CellView, split: &str| {
            let result = &view.done()?.result;
            let baseline = result.baselines.get(&result.headline)?.get(name)?;
            Some(baseline.scores.get(split)?.accuracy())
        };
        let unit = first.first()?.done()?.result.facts().unit;
        let curve = curve(BaselineStats::name(name, unit), &first, score, baselines::spread);
        (!curve.points.is_empty()).then_some(curve)
    };
    [MOST_FREQUENT, PROBE].into_iter().filter_map(curve).collect()
}

fn curve(
    name: &str,
    cells: &[&CellView],
    score: impl Fn(&CellView, &str) -> Option<f64>,
    stat: fn(&[f64]) -> Option<MeanStd>,
) -> Curve {
    let size = |view: &CellView| view.done().map(|done| done.result.facts().train.sentences);
    let mut sizes = distinct(cells.iter().filter_map(|view| size(view)));
    sizes.sort_unstable();
    let point = |sentences: u64| {
        let mut here: Vec<&&CellView> = cells.iter().filter(|view| size(view) == Some(sentences)).collect();
        let whole = here.iter().find(|view| takes_all(view)).map(|view| sizes_of_tasks(view));
        let mut seen = BTreeSet::new();
        here.retain(|view| {
            whole.as_ref() != Some(&sizes_of_tasks(view)) || seen.insert(view.cell.settings.seed)
        });
        let over = |split: &str| stat(&here.iter().filter_map(|view| score(view, split)).collect::<Vec<_>>());
        Some(Point { sentences, dev: over("dev")?, test: over("test") })
    };
    Curve { name: name.into(), points: sizes.into_iter().filter_map(point).collect() }
}

/// Whether a cell learns from all sentences that there are. Cells of a seed that do are one run, however
/// many were asked for and whichever draw.
fn takes_all(view: &CellView) -> bool {
    let data = &view.cell.settings.data;
    let above = |asked: usize| asked == 0 || sizes_of_tasks(view).iter().all(|&there| asked as u64 > there);
    data.fraction >= 1.0 && above(data.sample) && above(data.first)
}

/// How many sentences each task learns from.
fn sizes_of_tasks(view: &CellView) -> Vec<u64> {
    let tasks = view.done().map(|done| done.result.tasks.values());
    tasks.into_iter().flatten().map(|task| task.train.sentences).collect()
}
