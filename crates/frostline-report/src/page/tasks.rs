//! Owns what the page says about several tasks: every score, and what a stage did to tasks that it
//! did not learn from.
//!
//! Refuses to call two predictions equal that are not so bit for bit.

use crate::Report;
use crate::baselines::{self, BaselineScore, BaselineStats};
use crate::number::{NONE, count, or_dash, plural, plus_minus};
use crate::page::stages::{points, relative};
use crate::page::{paragraph, section};
use crate::stages::{Change, Metric, StageStats, TaskStats};
use crate::summary::{Group, distinct};
use crate::table::Table;

/// A row's group, stage and task.
type Row<'a> = (&'a Group, &'a StageStats, &'a TaskStats);

/// Every task after every stage, where there is more than the headline's accuracy.
pub(super) fn table(report: &Report, lang: &str, text: &mut String) {
    let rows = rows(report, lang);
    let several = |row: &Row<'_>| row.1.tasks.len() > 1 || row.2.metric == Metric::EntityF1;
    if !rows.iter().any(several) {
        return;
    }
    section(text, 3, "Tasks");
    scores(report, lang, &rows, text);
    gains(report, &rows, text);
    drift(report, &rows, text);
}

/// By task, then in the order of policies and stages.
fn rows<'a>(report: &'a Report, lang: &'a str) -> Vec<Row<'a>> {
    let all = || {
        let groups = report.groups_of(lang);
        groups.flat_map(|group| {
            let stages = group.stages.iter();
            stages.flat_map(move |stage| stage.tasks.iter().map(move |task| (group, stage, task)))
        })
    };
    let names = distinct(all().map(|(_, _, task)| task.task.as_str()));
    names.into_iter().flat_map(|name| all().filter(move |(_, _, task)| task.task == name)).collect()
}

fn keyed(report: &Report, staged: bool) -> Table {
    let mut table = Table::default().left("Task", 0).left("Frozen", 0);
    for axis in report.axes() {
        table = table.left(format!("`{axis}`"), 0);
    }
    if staged { table.left("Stage", 0) } else { table }
}

fn key(&(group, stage, task): &Row<'_>, staged: bool) -> Vec<String> {
    let mut row = vec![task.task.clone(), group.policy.clone()];
    row.extend(group.extras.iter().cloned());
    row.extend(staged.then(|| stage.name.clone()));
    row
}

fn is_staged(rows: &[Row<'_>]) -> bool {
    rows.iter().any(|(group, ..)| group.stages.len() > 1)
}

fn scores(report: &Report, lang: &str, rows: &[Row<'_>], text: &mut String) {
    let staged = is_staged(rows);
    let mut table = keyed(report, staged)
        .left("Learned", 0)
        .left("Scored by", 0)
        .right("Dev %", 0)
        .right("Test %", 1)
        .right("Dev size", 0);
    for row in rows {
        let task = row.2;
        let percent = |scored: &Option<crate::stages::Scored>| {
            or_dash(scored.as_ref(), |scored| plus_minus(scored.score.times(100.0), 2))
        };
        let mut cells = key(row, staged);
        cells.extend([
            if task.learned { "yes" } else { "no" }.into(),
            task.metric.name().into(),
            percent(&task.dev),
            percent(&task.test),
            or_dash(task.dev.as_ref(), |dev| format!("{} {}", count(dev.units), unit_name(task))),
        ]);
        table.row(cells);
    }
    for task in distinct(rows.iter().map(|row| row.2.task.as_str())) {
        for one in baselines::of_task(report, lang, Some(task)) {
            table.row(baseline(&one, staged));
        }
    }
    paragraph(text, table.markdown().trim_end());
    if rows.iter().any(|(_, _, task)| task.metric == Metric::EntityF1) {
        paragraph(
            text,
            "**Entity F1** is the harmonic mean of precision and recall over all entities of a cell's \
             split; an entity is right where its words and its type are. ± is over seeds.",
        );
    }
}

/// The row of what needs no training of the encoder.
fn baseline(one: &BaselineStats, staged: bool) -> Vec<String> {
    let percent = |split: &Option<BaselineScore>| {
        or_dash(split.as_ref(), |split| plus_minus(split.score.times(100.0), 2))
    };
    let mut cells = vec![one.task.clone(), format!("*{}*", one.title())];
    cells.extend(one.extras.iter().cloned());
    cells.extend(staged.then(|| NONE.into()));
    cells.extend([NONE.into(), one.metric.name().into(), percent(&one.dev), percent(&one.test), NONE.into()]);
    cells
}

const fn unit_name(task: &TaskStats) -> &'static str {
    match task.unit {
        frostline_record::Unit::Words => "words",
        frostline_record::Unit::Sentences => "sentences",
    }
}

/// Changes of tasks that a stage learned from, the headline's left to the table of stages.
fn gains(report: &Report, rows: &[Row<'_>], text: &mut String) {
    let is_headline = |row: &Row<'_>| row.1.tasks.first().is_some_and(|first| first.task == row.2.task);
    let rows: Vec<(&Row<'_>, [Option<&Change>; 2])> = rows
        .iter()
        .filter(|row| row.2.learned && !is_headline(row))
        .map(|row| (row, changes(row.2)))
        .filter(|(_, changes)| changes.iter().any(Option::is_some))
        .collect();
    if rows.is_empty() {
        return;
    }
    section(text, 4, "What stages changed in the other tasks that they learned");
    let mut table = keyed(report, true);
    for split in ["Dev", "Test"] {
        table = table
            .right(format!("{split}: change, points"), 1)
            .right(format!("{split}: relative change %"), 1)
            .right(format!("{split}: fewer errors %"), 1);
    }
    for (row, changes) in rows {
        let mut cells = key(row, true);
        for change in changes {
            cells.push(or_dash(change, |change| points(change.points)));
            cells.extend(relative(change));
        }
        table.row(cells);
    }
    paragraph(text, table.markdown().trim_end());
}

fn changes(task: &TaskStats) -> [Option<&Change>; 2] {
    [&task.dev, &task.test].map(|scored| scored.as_ref().and_then(|scored| scored.change.as_ref()))
}

/// What became of tasks while a stage learned something else.
fn drift(report: &Report, rows: &[Row<'_>], text: &mut String) {
    let drifted: Vec<(&Row<'_>, [Option<&Change>; 2])> = rows
        .iter()
        .filter(|row| !row.2.learned)
        .map(|row| (row, changes(row.2)))
        .filter(|(_, changes)| changes.iter().any(Option::is_some))
        .collect();
    if drifted.is_empty() {
        return;
    }
    section(text, 4, "Drift of tasks that a stage did not learn");
    let mut table = keyed(report, true)
        .right("Dev: drift, points", 0)
        .right("Test: drift, points", 1)
        .left("Predictions", 1);
    for (row, changes) in drifted {
        let mut cells = key(row, true);
        cells.extend(changes.map(|change| or_dash(change, |change| points(change.points))));
        cells.push(identical(&changes));
        table.row(cells);
    }
    paragraph(text, table.markdown().trim_end());
    paragraph(
        text,
        "Drift is the score after the stage minus that of the same cell before it: the mean over seeds \
         and Student's 95 % interval. **Bit-identical** means that the files of predictions before and \
         after the stage have the same SHA-256.",
    );
}

/// Whether predictions are the same bytes before and after, over the splits that are stored.
fn identical(changes: &[Option<&Change>; 2]) -> String {
    let sum = |get: fn(&Change) -> usize| changes.iter().flatten().map(|change| get(change)).sum::<usize>();
    let (same, all) = (sum(|change| change.identical), sum(|change| change.compared));
    match (same, all) {
        (_, 0) => crate::number::NONE.into(),
        (0, _) => "changed".into(),
        _ if same == all => format!("bit-identical ({})", plural(all, "file")),
        _ => format!("bit-identical in {same} of {}", plural(all, "file")),
    }
}
