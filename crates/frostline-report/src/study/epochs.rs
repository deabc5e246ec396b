//! What happened over a cell's epochs, over cells that differ only in their seed. An epoch's stage is named if
//! there are several, what learns, if that changes.

use std::collections::BTreeMap;

use frostline_record::{EpochRow, Unit};
use serde::Serialize;

use crate::study::cells::{Done, distinct, value_of_each};
use frostline_score::MeanStd;

/// One epoch over seeds.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EpochStats {
    pub epoch: u32,
    /// The epoch's stage, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Parameters that learned at its end, if that changes within a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trainable_parameters: Option<u64>,
    pub dev_accuracy: MeanStd,
    pub dev_study_accuracy: MeanStd,
    /// Mean F1 of all labels; nothing if a cell's record lacks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev_macro_f1: Option<MeanStd>,
    /// F1 of the second of two labels of sentences; nothing if a task has others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev_positive_f1: Option<MeanStd>,
    pub dev_loss_nats: MeanStd,
    pub train_loss_nats: MeanStd,
}

/// Every epoch that a cell had.
pub(crate) fn summarize_epochs(done: &[&Done]) -> Vec<EpochStats> {
    let mut rows: BTreeMap<u32, Vec<&EpochRow>> = BTreeMap::new();
    for row in done.iter().flat_map(|done| &done.result.epochs) {
        rows.entry(row.epoch).or_default().push(row);
    }
    let thaws = done.iter().any(|done| changes_what_learns(done));
    let of_sentences = done.iter().all(|done| labels_sentences(done));
    let stage = |row: &EpochRow| {
        let stages = &done.first()?.result.stages;
        let name = stages.get((row.stage as usize).checked_sub(1)?)?.name.clone();
        (stages.len() > 1).then_some(name)
    };
    rows.into_iter()
        .filter_map(|(epoch, rows)| {
            Some(EpochStats {
                epoch,
                stage: stage(rows.first()?),
                trainable_parameters: rows.first().filter(|_| thaws).map(|row| row.trainable),
                dev_accuracy: MeanStd::of(&value_of_each(&rows, |row| row.dev.accuracy()))?,
                dev_study_accuracy: MeanStd::of(&value_of_each(&rows, |row| row.dev.study_accuracy()))?,
                dev_macro_f1: mean_f1(&rows, EpochRow::dev_macro_f1),
                dev_positive_f1: mean_f1(&rows, EpochRow::dev_positive_f1).filter(|_| of_sentences),
                dev_loss_nats: MeanStd::of(&value_of_each(&rows, |row| row.dev.loss_nats))?,
                train_loss_nats: MeanStd::of(&value_of_each(&rows, |row| row.train_loss_nats))?,
            })
        })
        .collect()
}

/// Whether the headline labels sentences.
pub(crate) fn labels_sentences(done: &Done) -> bool {
    done.result.facts().unit == Unit::Sentences
}

/// An F1 of an epoch, if all cells have it.
fn mean_f1(rows: &[&EpochRow], get: fn(&EpochRow) -> Option<f64>) -> Option<MeanStd> {
    let all: Option<Vec<f64>> = rows.iter().map(|row| get(row)).collect();
    MeanStd::of(&all?)
}

/// Whether what learns changes from epoch to epoch.
pub(crate) fn changes_what_learns(done: &Done) -> bool {
    distinct(done.result.epochs.iter().map(|row| row.trainable)).len() > 1
}

/// Whether the same learns in every step of the last stage.
pub(crate) fn is_steady(done: &Done) -> bool {
    let stages = &done.result.stages;
    let last = done.result.epochs.iter().filter(|row| row.stage as usize == stages.len());
    distinct(last.map(|row| row.trainable)).len() <= 1
        && stages.last().is_none_or(|stage| stage.settled.is_empty())
}
