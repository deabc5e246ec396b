//! Dev within epochs, if `eval.every_steps` asks for it, and cells that `train.patience` stopped early.

use std::collections::BTreeMap;

use frostline_record::DevPoint;
use frostline_score::MeanStd;
use serde::Serialize;

use crate::chart::{ChartNote, Figure, LineChart, YAxis};
use crate::fields::JsonFields;
use crate::keys;
use crate::page::Page;
use crate::study::words::{DEV_AXIS, dev_accuracy};
use crate::study::{CellGroup, CellView, Done, Study};
use crate::table::Quantity;
use crate::topic::{ReportPlace, Topic, TopicTable};
use crate::topics::convergence::curves_figure;

/// Dev within epochs, and early stopping.
pub(crate) struct DevStepsTopic;

/// Dev after so many steps, over the seeds whose cells took as many.
#[derive(Clone, Debug, Serialize)]
struct DevStats {
    step: u64,
    dev_accuracy: MeanStd,
    dev_loss_nats: MeanStd,
}

impl Topic for DevStepsTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        if let ReportPlace::Language(lang) = place {
            let stopped: Vec<&CellGroup> = study
                .groups_of(lang)
                .filter(|group| stops_of_group(study, group).any(|epoch| epoch.is_some()))
                .collect();
            if stopped.is_empty() {
                return;
            }
            page.section(3, "Cells that stopped early");
            let columns = keys::of_group(study)
                .column("Cells", Quantity::Count, |group: &&CellGroup| {
                    stops_of_group(study, group).count() as u64
                })
                .column("Stopped early", Quantity::Count, |group| {
                    stops_of_group(study, group).flatten().count() as u64
                })
                .column("After epoch", Quantity::Text, |group| {
                    let epochs: Vec<String> =
                        stops_of_group(study, group).flatten().map(|epoch| epoch.to_string()).collect();
                    epochs.join(", ")
                });
            page.table(columns.table(stopped));
            page.paragraph(
                    "`train.patience` ended these cells before `train.epochs`. Means of later epochs are over the cells that \
                     were not stopped.",
                );
        }
    }

    fn figures(&self, study: &Study) -> Vec<Figure> {
        if !dev_points(study).any(|_| true) {
            return Vec::new();
        }
        let points = |group: &CellGroup| {
            dev_curve(study, group).iter().map(|point| (point.step as f64, point.dev_accuracy)).collect()
        };
        let lines = LineChart::by_step(DEV_AXIS, YAxis::Shares);
        vec![Figure {
            path: "figures/dev_steps.svg",
            title: dev_accuracy!(" while learning"),
            about: "Each line is the mean over seeds, after every `eval.every_steps` steps.".into(),
            ..curves_figure(study, lines, [ChartNote::YAxis], &points)
        }]
    }

    fn tables(&self, study: &Study) -> Vec<TopicTable> {
        if !dev_points(study).any(|_| true) {
            return Vec::new();
        }
        let columns = keys::of_cell(study, |row: &(&CellView, &DevPoint)| row.0)
            .column("epoch", Quantity::Count, |row| row.1.epoch)
            .column("step", Quantity::Count, |row| row.1.step)
            .column("dev_loss_nats", Quantity::Exact, |row| row.1.dev.loss_nats)
            .column("dev_accuracy", Quantity::Exact, |row| row.1.dev.accuracy());
        vec![TopicTable::Rows("dev_steps", columns.table(dev_points(study)))]
    }

    fn group_facts(&self, study: &Study, group: &CellGroup) -> JsonFields {
        let curve = dev_curve(study, group);
        let stops: Vec<u32> = stops_of_group(study, group).flatten().collect();
        JsonFields::default().with_some("dev_steps", &curve).with_some("stopped_early", &stops)
    }
}

/// All points of all cells.
fn dev_points(study: &Study) -> impl Iterator<Item = (&CellView, &DevPoint)> {
    let done = study.cells.iter().filter_map(|view| Some((view, view.done()?)));
    done.flat_map(|(view, done)| done.result.dev_points.iter().map(move |point| (view, point)))
}

/// The epoch after which a stage of a cell was stopped; the last such stage's.
fn stopped_after(done: &Done) -> Option<u32> {
    done.result.stages.iter().filter_map(|stage| stage.stopped_early).next_back()
}

/// The same of each cell of a group that is done.
fn stops_of_group<'a>(study: &'a Study, group: &'a CellGroup) -> impl Iterator<Item = Option<u32>> + 'a {
    study.members(group).filter_map(CellView::done).map(stopped_after)
}

fn dev_curve(study: &Study, group: &CellGroup) -> Vec<DevStats> {
    let mut steps: BTreeMap<u64, Vec<&DevPoint>> = BTreeMap::new();
    let done = study.members(group).filter_map(CellView::done);
    for point in done.flat_map(|done: &Done| &done.result.dev_points) {
        steps.entry(point.step).or_default().push(point);
    }
    let stats = |(step, points): (u64, Vec<&DevPoint>)| {
        let over = |get: fn(&DevPoint) -> f64| {
            MeanStd::of(&points.iter().map(|point| get(point)).collect::<Vec<_>>())
        };
        let dev_accuracy = over(|point| point.dev.accuracy())?;
        Some(DevStats { step, dev_accuracy, dev_loss_nats: over(|point| point.dev.loss_nats)? })
    };
    steps.into_iter().filter_map(stats).collect()
}
