//! Learning curves: accuracy by the number of train sentences, policy by policy. How many sentences a cell learned
//! from is in its record, whichever setting chose them.

use std::collections::BTreeSet;

use frostline_record::{MOST_FREQUENT, PROBE};
use frostline_score::MeanStd;
use serde::Serialize;

use crate::chart::{
    Chart, ChartLine, ChartNote, Figure, LineChart, LineKey, LinePanel, Spread, Theme, Tone, XAxis, YAxis,
};
use crate::fields::JsonFields;
use crate::number::count;
use crate::page::Page;
use crate::study::baselines::{self, BaselineStats};
use crate::study::words::counted_units;
use crate::study::words::{DEV_AXIS, dev_accuracy};
use crate::study::{CellView, Study, distinct};
use crate::table::{Quantity, TableColumns};
use crate::topic::{ReportPlace, Topic};

/// The curves of every language.
pub(crate) struct LearningCurvesTopic {
    all: Vec<Curves>,
}

impl LearningCurvesTopic {
    /// Computes the curves of a study; none if no axis chooses how many sentences are learned from.
    pub fn of(study: &Study) -> Self {
        Self { all: collect_curves(study) }
    }
}

impl Topic for LearningCurvesTopic {
    fn prose(&self, _: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            let all: Vec<&Curves> = self.all.iter().filter(|curves| curves.lang == lang).collect();
            if all.is_empty() {
                return;
            }
            page.section(3, dev_accuracy!(" % by train sentences"));
            for curves in all {
                if !curves.others.is_empty() {
                    page.paragraph(format!("With {}:", curves.others.join(", ")));
                }
                let rows = curves.policies.iter().map(|curve| (curve.name.clone(), curve));
                let below = curves.baselines.iter().map(|curve| (format!("*{}*", curve.name), curve));
                let columns = TableColumns::default()
                    .column("Frozen", Quantity::Text, |row: &(String, &LearningCurve)| row.0.clone())
                    .each(
                        curves.sizes(),
                        |&size| count(size),
                        Quantity::Share(2),
                        |row, &size| {
                            row.1.points.iter().find(|point| point.sentences == size).map(|point| point.dev)
                        },
                    );
                page.table(columns.table(rows.chain(below)));
            }
            page.paragraph(
                    "Numbers of sentences are those that cells learned from. ± is over seeds, and over draws if \
                     `data.draw` is an axis and leaves sentences out; if each seed draws its own sentences it covers \
                     both.",
                );
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        if self.all.is_empty() { Vec::new() } else { vec![self.figure(study)] }
    }

    fn facts(&self, _: &Study) -> JsonFields {
        JsonFields::default().with_some("learning_curves", &self.all)
    }
}

impl LearningCurvesTopic {
    fn figure(&self, study: &Study) -> Figure {
        let every = || self.all.iter().flat_map(|curves| curves.policies.iter().chain(&curves.baselines));
        let mut notes = vec![ChartNote::XAxis, ChartNote::YAxis];
        if every().flat_map(|curve| &curve.points).any(|point| point.dev.std.is_some()) {
            notes.push("Point: mean. Vertical line: one standard deviation over seeds and draws.".into());
        }
        Figure {
            path: "figures/learning_curve.svg",
            title: dev_accuracy!(" by the number of train sentences"),
            theme: Theme::Learning,
            about: format!(
                "Each line is a policy's mean accuracy on dev over all {}, by how many sentences it learned from; \
                 grey lines are baselines on the same sentences.",
                counted_units(study).many
            ),
            chart: Chart::Lines(LineChart {
                panels: self.all.iter().map(|curves| curves_panel(study, curves)).collect(),
                x_title: "train sentences",
                x: XAxis::Sizes,
                y_title: DEV_AXIS,
                y: YAxis::Shares,
                spread: Spread::Whisker,
                key: LineKey::Both,
            }),
            notes,
            across: study.langs().len(),
        }
    }
}

fn curves_panel(study: &Study, curves: &Curves) -> LinePanel {
    let line = |curve: &LearningCurve, tone: Tone| ChartLine {
        name: Some(curve.name.clone()),
        tone,
        points: curve.points.iter().map(|point| (point.sentences as f64, point.dev)).collect(),
    };
    let baselines = curves.baselines.iter().enumerate().map(|(at, curve)| line(curve, Tone::Reference(at)));
    let policies = curves.policies.iter().map(|curve| line(curve, Tone::Policy(study.place_of(&curve.name))));
    let title = [study.lang_title(&curves.lang)].into_iter().chain(curves.others.iter().cloned());
    LinePanel { title: title.collect::<Vec<_>>().join(", "), lines: baselines.chain(policies).collect() }
}

/// The axes that choose how many sentences are learned from.
const SIZES: [&str; 3] = ["data.sample", "data.first", "data.fraction"];

/// The axes that only change which ones are.
const DRAWS: [&str; 1] = ["data.draw"];

/// The curves of a language under one combination of the axes that are left.
#[derive(Clone, Debug, Serialize)]
struct Curves {
    pub lang: String,
    /// Values of the axes that do not choose sentences, each with its name.
    pub others: Vec<String>,
    pub policies: Vec<LearningCurve>,
    /// Baselines on the same sentences, by their title.
    pub baselines: Vec<LearningCurve>,
}

/// One line.
#[derive(Clone, Debug, Serialize)]
struct LearningCurve {
    pub name: String,
    /// By the number of sentences, rising.
    pub points: Vec<CurvePoint>,
}

/// A place on a curve.
#[derive(Clone, Copy, Debug, Serialize)]
struct CurvePoint {
    pub sentences: u64,
    /// Over seeds, and over draws if they are an axis and leave sentences out.
    pub dev: MeanStd,
    pub test: Option<MeanStd>,
}

impl Curves {
    /// Every number of sentences, rising.
    fn sizes(&self) -> Vec<u64> {
        let points = self.policies.iter().flat_map(|curve| &curve.points);
        let mut sizes = distinct(points.map(|point| point.sentences));
        sizes.sort_unstable();
        sizes
    }
}

/// The curves of every language, if an axis chooses how many sentences are learned from.
fn collect_curves(study: &Study) -> Vec<Curves> {
    let axes = study.axes();
    if !axes.iter().any(|axis| SIZES.contains(axis)) {
        return Vec::new();
    }
    let others = |view: &CellView| -> Vec<String> {
        let kept =
            axes.iter().zip(&view.extras).filter(|(axis, _)| !SIZES.contains(axis) && !DRAWS.contains(axis));
        kept.map(|(axis, value)| format!("{axis} = {value}")).collect()
    };
    let done: Vec<&CellView> = study.cells.iter().filter(|view| view.done().is_some()).collect();
    let places = |lang: &str| {
        let of_lang = done.iter().filter(|view| view.cell.settings.lang == lang);
        distinct(of_lang.map(|view| others(view)))
    };
    let mut all = Vec::new();
    for lang in study.langs() {
        for place in places(lang) {
            let is_here = |view: &&&CellView| view.cell.settings.lang == lang && others(view) == place;
            let cells: Vec<&CellView> = done.iter().filter(is_here).copied().collect();
            let curves = Curves {
                lang: lang.into(),
                policies: policy_curves(study, &cells),
                baselines: of_baselines(study, &cells),
                others: place,
            };
            all.extend((curves.sizes().len() > 1).then_some(curves));
        }
    }
    all
}

fn policy_curves(study: &Study, cells: &[&CellView]) -> Vec<LearningCurve> {
    let curve = |policy: &str| {
        let own = cells.iter().filter(|view| view.cell.settings.policy == policy);
        let score = |view: &CellView, split: &str| Some(view.done()?.score(split)?.accuracy());
        let curve = curve(policy, &own.copied().collect::<Vec<_>>(), score, MeanStd::of);
        (!curve.points.is_empty()).then_some(curve)
    };
    study.policies().into_iter().filter_map(curve).collect()
}

fn of_baselines(study: &Study, cells: &[&CellView]) -> Vec<LearningCurve> {
    let held = |view: &&CellView| cells.iter().any(|cell| cell.cell.id == view.cell.id);
    // One cell for each seed and further axes: policies have the same baselines.
    let first: Vec<&CellView> = baselines::first_of_seeds(&study.cells).filter(held).collect();
    let curve = |name: &str| {
        let score = |view: &CellView, split: &str| {
            let result = &view.done()?.result;
            let baseline = result.baselines.get(&result.headline)?.get(name)?;
            Some(baseline.scores.get(split)?.accuracy())
        };
        let unit = first.first()?.done()?.result.facts().unit;
        let curve = curve(BaselineStats::name(name, unit), &first, score, baselines::spread_of_values);
        (!curve.points.is_empty()).then_some(curve)
    };
    [MOST_FREQUENT, PROBE].into_iter().filter_map(curve).collect()
}

fn curve(
    name: &str,
    cells: &[&CellView],
    score: impl Fn(&CellView, &str) -> Option<f64>,
    stat: fn(&[f64]) -> Option<MeanStd>,
) -> LearningCurve {
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
        Some(CurvePoint { sentences, dev: over("dev")?, test: over("test") })
    };
    LearningCurve { name: name.into(), points: sizes.into_iter().filter_map(point).collect() }
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
