//! Owns which bars stand side by side: a policy's dev and test accuracy, and its scores stage after
//! stage.
//!
//! Refuses to mix tasks in a panel: each has its own.

use crate::Report;
use crate::figure::Figure;
use crate::figure::bars::{Bar, Chart, Row, draw};
use crate::figure::sheet::panels;
use crate::stages::{Metric, TaskStats};
use crate::summary::{Group, SplitStats, distinct};
use crate::words;

pub(super) fn dev_and_test(report: &Report, figure: &Figure) -> String {
    let bar = |name: &str, split: &Option<SplitStats>| {
        let split = split.as_ref()?;
        Some(Bar { name: name.into(), value: split.accuracy, interval: split.accuracy_interval })
    };
    let charts: Vec<Chart> = panels(report)
        .into_iter()
        .map(|panel| {
            let rows = panel.groups.iter().map(|group| Row {
                policy: group.policy.clone(),
                bars: [bar("dev", &group.dev), bar("test", &group.test)].into_iter().flatten().collect(),
            });
            Chart {
                title: panel.title,
                axis: "accuracy, %".into(),
                kind: String::new(),
                rows: rows.collect(),
            }
        })
        .collect();
    let mut notes = vec![format!(
        "Bar and number: mean accuracy over all {} of the split. Thin line: 95 % Wilson interval at its \
         size.",
        words::units(report).many
    )];
    notes.push(seeds_note(report));
    draw(report, figure, &charts, notes)
}

/// Dev scores after every stage, a panel per language, further axes and task.
pub(super) fn stages(report: &Report, figure: &Figure) -> String {
    let mut charts = Vec::new();
    let panels = panels(report);
    let alone = panels.len() == 1;
    for panel in panels {
        let tasks = panel.groups.iter().flat_map(|group| &group.stages).flat_map(|stage| &stage.tasks);
        let tasks = distinct(tasks.map(|task| (task.task.as_str(), task.metric)));
        let several = tasks.len() > 1;
        for (name, metric) in tasks {
            let rows = panel
                .groups
                .iter()
                .map(|group| Row { policy: group.policy.clone(), bars: bars(group, name) });
            let title = match (several, alone) {
                (false, _) => panel.title.clone(),
                (true, true) => format!("task {name}"),
                (true, false) => format!("{}: task {name}", panel.title),
            };
            let axis = format!("dev {}, %", metric.name());
            charts.push(Chart { title, axis, kind: name.into(), rows: rows.collect() });
        }
    }
    let mut notes = vec![
        "Bar and number: mean score on dev after the stage. Thin line: 95 % Wilson interval of an \
         accuracy at the size of dev."
            .to_string(),
    ];
    let metrics = report.groups.iter().flat_map(|group| &group.stages).flat_map(|stage| &stage.tasks);
    if metrics.map(|task| task.metric).any(|metric| metric == Metric::EntityF1) {
        notes.push("Entity F1 has no such interval.".into());
    }
    notes.push(seeds_note(report));
    draw(report, figure, &charts, notes)
}

fn bars(group: &Group, name: &str) -> Vec<Bar> {
    let of_stage = |(stage, task): (&String, &TaskStats)| {
        let dev = task.dev.as_ref()?;
        Some(Bar { name: stage.clone(), value: dev.score, interval: dev.interval })
    };
    let stages = group
        .stages
        .iter()
        .filter_map(|stage| Some((&stage.name, stage.tasks.iter().find(|task| task.task == name)?)));
    stages.filter_map(of_stage).collect()
}

fn seeds_note(report: &Report) -> String {
    if report.groups.iter().any(|group| group.seeds_done > 1) {
        "Thick line and ±: one standard deviation over seeds.".into()
    } else {
        "One seed only: no spread over seeds can be shown.".into()
    }
}
