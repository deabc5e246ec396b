//! Owns what the page says about what learns from epoch to epoch: gradual unfreezing, and the
//! stages that epochs belong to.
//!
//! Refuses cells in which the same numbers learn throughout.

use crate::Report;
use crate::number::{count, or_dash};
use crate::page::{key, keyed, paragraph, section};
use crate::summary::{Group, distinct};

/// The heads of a language's epochs: `3`, or `3 (tuning)` where all cells are in one stage then.
pub(super) fn heads(report: &Report, lang: &str, last: u32) -> Vec<String> {
    (1..=last)
        .map(|epoch| {
            let rows = report.groups_of(lang).flat_map(|group| group.epochs.iter());
            let stages = distinct(rows.filter(|row| row.epoch == epoch).map(|row| row.stage.as_deref()));
            match stages.as_slice() {
                [Some(stage)] => format!("{epoch} ({stage})"),
                _ => epoch.to_string(),
            }
        })
        .collect()
}

/// Where groups differ in the stages of their epochs, those of each.
pub(super) fn stages(report: &Report, lang: &str, text: &mut String) {
    let of = |group: &Group| -> Vec<(u32, Option<String>)> {
        group.epochs.iter().map(|row| (row.epoch, row.stage.clone())).collect()
    };
    let all: Vec<_> = report.groups_of(lang).filter(|group| !group.epochs.is_empty()).collect();
    if all.iter().all(|group| group.epochs.iter().all(|row| row.stage.is_none()))
        || distinct(all.iter().map(|group| of(group))).len() == 1
    {
        return;
    }
    text.push('\n');
    for group in all {
        let names = distinct(group.epochs.iter().map(|row| row.stage.as_deref().unwrap_or("the only stage")));
        let parts: Vec<String> = names
            .into_iter()
            .map(|name| {
                let is = |row: &&crate::epoch::EpochStats| {
                    row.stage.as_deref().unwrap_or("the only stage") == name
                };
                let epochs: Vec<u32> = group.epochs.iter().filter(is).map(|row| row.epoch).collect();
                match epochs.as_slice() {
                    [one] => format!("epoch {one} is {name}"),
                    [first, .., last] => format!("epochs {first} to {last} are {name}"),
                    [] => name.into(),
                }
            })
            .collect();
        *text += &format!("- {}: {}\n", key(group).join(", "), parts.join(", "));
    }
}

/// What learns after each epoch, where that changes within a cell.
pub(super) fn trainable(report: &Report, lang: &str, text: &mut String) {
    let thawing: Vec<&Group> = report
        .groups_of(lang)
        .filter(|group| group.epochs.iter().any(|row| row.trainable_parameters.is_some()))
        .collect();
    let Some(last) = thawing.iter().flat_map(|group| group.epochs.iter().map(|row| row.epoch)).max() else {
        return;
    };
    section(text, 3, "Trainable parameters in each epoch");
    let mut table = keyed(report);
    for head in heads(report, lang, last) {
        table = table.right(head, 0);
    }
    let others = report.groups_of(lang).count() > thawing.len();
    for group in thawing {
        let mut row = key(group);
        row.extend((1..=last).map(|epoch| {
            let found = group.epochs.iter().find(|row| row.epoch == epoch);
            or_dash(found.and_then(|row| row.trainable_parameters), count)
        }));
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
    let rest = if others { " In all others the number of the first table learns throughout." } else { "" };
    paragraph(text, &format!("What learned at the end of each epoch, in cells in which that changes.{rest}"));
}
