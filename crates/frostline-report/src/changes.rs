//! Owns how far encoders are from where they started: per group of cells, over seeds.
//!
//! Refuses cells whose record says nothing of it.

use frostline_record::Outcome;

use crate::Report;
use crate::csv;
use crate::summary::{CellView, Group, distinct};
use frostline_score::MeanStd;

/// A part of the encoder over seeds.
pub(crate) struct ChangeStats {
    /// `embeddings`, `block 0`, ...
    pub part: String,
    pub relative: MeanStd,
    pub cka: MeanStd,
}

/// Whether any record tells it.
pub(crate) fn any(report: &Report) -> bool {
    report.cells.iter().filter_map(CellView::done).any(|done| !done.result.changes.is_empty())
}

/// A group's parts from the input up; empty where its records tell nothing.
pub(crate) fn of(report: &Report, group: &Group) -> Vec<ChangeStats> {
    let results: Vec<&Outcome> =
        report.members(group).filter_map(CellView::done).map(|done| &done.result).collect();
    let all = || results.iter().flat_map(|result| &result.changes);
    let parts = distinct(all().map(|change| change.group.as_str()));
    let stats = |part: &str| {
        let of_part = || all().filter(|change| change.group == part);
        Some(ChangeStats {
            part: part.into(),
            relative: MeanStd::of(&of_part().map(|change| change.relative).collect::<Vec<_>>())?,
            cka: MeanStd::of(&of_part().map(|change| change.cka).collect::<Vec<_>>())?,
        })
    };
    parts.into_iter().filter_map(stats).collect()
}

/// `changes.csv`: a row per cell and part.
pub(crate) fn csv(report: &Report) -> String {
    let mut head = csv::key_head(report);
    head.extend(["part", "relative_change", "cka"].map(String::from));
    let mut text = csv::row(&head);
    for view in &report.cells {
        let Some(done) = view.done() else { continue };
        for change in &done.result.changes {
            let mut fields = csv::key(report, view);
            fields.extend([change.group.clone(), csv::float(change.relative), csv::float(change.cka)]);
            text += &csv::row(&fields);
        }
    }
    text
}
