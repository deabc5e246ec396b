//! The train loss while a cell learns, between two of its logged steps.

use std::collections::BTreeMap;

use frostline_score::MeanStd;
use serde::Serialize;

use crate::chart::{Figure, LineChart, YAxis};
use crate::fields::JsonFields;
use crate::study::words::{SENTENCES, counted_units};
use crate::study::{CellGroup, CellView, Done, Study};
use crate::topic::Topic;
use crate::topics::convergence::curves_figure;

/// Train loss.
pub(crate) struct TrainLossTopic;

/// The loss since the point before, over seeds.
#[derive(Clone, Debug, Serialize)]
struct LossStats {
    step: u64,
    loss_nats: MeanStd,
}

impl Topic for TrainLossTopic {
    fn figures(&self, study: &Study) -> Vec<Figure> {
        let points = |group: &CellGroup| {
            loss_curve(study, group).iter().map(|point| (point.step as f64, point.loss_nats)).collect()
        };
        let units = counted_units(study);
        let note = format!(
            "The vertical axis is logarithmic: equal steps are equal factors. Dropout is on, so the \
             loss is higher than a finished model's on the same {}.",
            units.many
        );
        let y_title = match units {
            SENTENCES => "train loss, nats per sentence",
            _ => "train loss, nats per word",
        };
        vec![Figure {
            path: "figures/train_loss.svg",
            title: "Train loss while learning",
            about: "Each line is the mean over seeds of the loss since the point before.".into(),
            ..curves_figure(study, LineChart::by_step(y_title, YAxis::Loss), [note.into()], &points)
        }]
    }

    fn group_facts(&self, study: &Study, group: &CellGroup) -> JsonFields {
        JsonFields::default().with("train_loss", &loss_curve(study, group))
    }
}

fn loss_curve(study: &Study, group: &CellGroup) -> Vec<LossStats> {
    let mut steps: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    let done = study.members(group).filter_map(CellView::done);
    for point in done.flat_map(|done: &Done| &done.result.train_loss) {
        steps.entry(point.step).or_default().push(point.loss_nats);
    }
    let stats =
        |(step, losses): (u64, Vec<f64>)| MeanStd::of(&losses).map(|loss_nats| LossStats { step, loss_nats });
    steps.into_iter().filter_map(stats).collect()
}
