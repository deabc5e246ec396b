//! What is scored while cells learn, and cells that stop early.

use frostline_record::{DevPoint, Record};

use crate::common::{paper, records, sweep};
use crate::{files, text};

/// Dev every hundred steps of a cell's first two epochs, rising from half of what the first epoch reached.
fn with_points(record: &mut Record) {
    let result = record.result.as_mut().expect("a result");
    let first = result.epochs[0].clone();
    let point = |step: u64| {
        let mut dev = first.dev.clone();
        dev.correct = dev.correct / 2 + dev.correct * step / (4 * first.step);
        DevPoint { step, epoch: 1 + (step - 1) as u32 / first.step as u32, dev, others: Default::default() }
    };
    result.dev_points = (1..=2 * first.step / 100).map(|at| point(100 * at)).collect();
}

#[test]
fn dev_within_epochs_is_a_figure_and_a_file() {
    let sweep = sweep("steps", &paper(), 2, false, "");
    let mut records = records(&sweep, &paper());
    let without = files("steps", &sweep, &records);
    assert!(without.iter().all(|file| !file.path.contains("dev_steps")));
    records.iter_mut().for_each(with_points);
    let files = files("steps", &sweep, &records);
    let svg = text(&files, "figures/dev_steps.svg");
    assert!(svg.contains("optimiser step") && svg.contains("dev accuracy, %"), "{svg}");
    let rows = text(&files, "dev_steps.csv");
    let points: usize =
        records.iter().map(|record| record.result.as_ref().expect("one").dev_points.len()).sum();
    assert_eq!(rows.lines().count(), points + 1);
    let json: serde_json::Value = serde_json::from_str(text(&files, "report.json")).expect("JSON");
    assert_eq!(json["groups"][0]["dev_steps"][0]["step"], 100);
}

#[test]
fn cells_that_stopped_early_are_listed_with_their_last_epoch() {
    let patient = "[settings.train]\npatience = 1";
    let sweep = sweep("patient", &paper(), 2, false, patient);
    let mut records = records(&sweep, &paper());
    for (at, epoch) in [(0, 3), (5, 4)] {
        let result = records[at].result.as_mut().expect("a result");
        result.epochs.truncate(epoch);
        result.stages[0].selected_epoch = epoch as u32;
        result.stages[0].stopped_early = Some(epoch as u32);
    }
    let files = files("patient", &sweep, &records);
    let page = text(&files, "report.md");
    let start = page.find("### Cells that stopped early").expect("a section");
    let section = &page[start..page[start + 4..].find("###").map_or(page.len(), |end| start + 4 + end)];
    insta::assert_snapshot!("stopped_early", section);
    let cells = text(&files, "cells.csv");
    assert!(cells.lines().next().is_some_and(|head| head.contains("stopped_early_after_epoch")), "{cells}");
}
