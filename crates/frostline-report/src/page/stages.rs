//! Owns what the page says about stages: what each learned, and what it changed.
//!
//! Refuses sweeps of one stage.

use crate::Report;
use crate::number::{NONE, count, fixed, or_dash, plus_minus, signed, signed_plus_minus};
use crate::page::{key, keyed, paragraph, section};
use crate::stages::{Change, Metric, Scored, StageStats, TaskStats};
use crate::summary::{Group, distinct};
use frostline_score::MeanInterval;

/// The headline after every stage, and what became of it.
pub(super) fn table(report: &Report, lang: &str, text: &mut String) {
    if !report.groups_of(lang).any(|group| group.stages.len() > 1) {
        return;
    }
    section(text, 3, "Stages");
    learned(report, lang, text);
    scores(report, lang, text);
    changes(report, lang, text);
}

fn rows<'a>(report: &'a Report, lang: &'a str) -> impl Iterator<Item = (&'a Group, &'a StageStats)> {
    report.groups_of(lang).flat_map(|group| group.stages.iter().map(move |stage| (group, stage)))
}

/// The first columns of a row: what is frozen, further axes, the stage.
fn key_of(group: &Group, stage: &StageStats) -> Vec<String> {
    key(group).into_iter().chain([stage.name.clone()]).collect()
}

fn learned(report: &Report, lang: &str, text: &mut String) {
    let mut table = keyed(report)
        .left("Stage", 0)
        .left("Frozen in it", 0)
        .right("Trainable parameters", 0)
        .right("Trainable %", 0)
        .right("Epochs", 0)
        .right("Steps", 0)
        .left("Learns from", 1);
    for (group, stage) in rows(report, lang) {
        let share = stage.trainable_parameters as f64 / stage.total_parameters.max(1) as f64;
        let tasks: Vec<&str> =
            stage.tasks.iter().filter(|task| task.learned).map(|task| task.task.as_str()).collect();
        let mut row = key_of(group, stage);
        row.extend([
            stage.policy.clone(),
            count(stage.trainable_parameters),
            fixed(share * 100.0, 1),
            stage.epochs.to_string(),
            count(stage.steps),
            if stage.tasks.len() == 1 { NONE.into() } else { tasks.join(", ") },
        ]);
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
}

fn headline(stage: &StageStats) -> Option<&TaskStats> {
    stage.tasks.first()
}

/// The metric of the headline; of several kinds the neutral word.
pub(super) fn metric_name<'a>(tasks: impl Iterator<Item = &'a TaskStats>) -> &'static str {
    match distinct(tasks.map(|task| task.metric)).as_slice() {
        [one] => one.name(),
        [] => Metric::Accuracy.name(),
        _ => "score",
    }
}

fn scores(report: &Report, lang: &str, text: &mut String) {
    let name = metric_name(rows(report, lang).filter_map(|(_, stage)| headline(stage)));
    let mut table = keyed(report).left("Stage", 0);
    for split in ["Dev", "Test"] {
        table = table.right(format!("{split} {name} %"), 1).right(format!("{split}: change, points"), 1);
    }
    for (group, stage) in rows(report, lang) {
        let mut row = key_of(group, stage);
        for scored in splits(stage) {
            row.push(or_dash(scored, |scored| plus_minus(scored.score.times(100.0), 2)));
            row.push(or_dash(change(scored), |change| points(change.points)));
        }
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
    paragraph(
        text,
        "A change is the score after a stage minus that of the same cell before it: the mean over \
         seeds and, in brackets, Student's 95 % interval of this mean. One seed gives no interval.",
    );
}

/// The same changes as shares: of the score, and of the errors.
fn changes(report: &Report, lang: &str, text: &mut String) {
    let mut table = keyed(report).left("Stage", 0);
    for split in ["Dev", "Test"] {
        table = table
            .right(format!("{split}: relative change %"), 1)
            .right(format!("{split}: fewer errors %"), 1);
    }
    let mut any = false;
    for (group, stage) in rows(report, lang) {
        let changes = splits(stage).map(change);
        if changes.iter().all(Option::is_none) {
            continue;
        }
        any = true;
        let mut row = key_of(group, stage);
        for change in changes {
            row.extend(relative(change));
        }
        table.row(row);
    }
    if any {
        paragraph(text, table.markdown().trim_end());
        paragraph(
            text,
            "**Relative change** is the change as a share of the score before. **Fewer errors** is the \
             share of what was wrong before the stage that it put right (less than 0: it did harm).",
        );
    }
}

fn splits(stage: &StageStats) -> [Option<&Scored>; 2] {
    let task = headline(stage);
    [task.and_then(|task| task.dev.as_ref()), task.and_then(|task| task.test.as_ref())]
}

fn change(scored: Option<&Scored>) -> Option<&Change> {
    scored?.change.as_ref()
}

/// A relative change and the share of errors that are gone, in percent.
pub(super) fn relative(change: Option<&Change>) -> [String; 2] {
    let percent = |stat: Option<frostline_score::MeanStd>| {
        or_dash(stat, |stat| signed_plus_minus(stat.times(100.0), 2))
    };
    [
        percent(change.and_then(|change| change.relative)),
        percent(change.and_then(|change| change.error_reduction)),
    ]
}

/// `+0.25 [+0.10, +0.40]`, in points.
pub(super) fn points(mean: MeanInterval) -> String {
    let mean = mean.times(100.0);
    let interval = mean.interval.map(|[low, high]| format!(" [{}, {}]", signed(low, 2), signed(high, 2)));
    signed(mean.mean, 2) + &interval.unwrap_or_default()
}
