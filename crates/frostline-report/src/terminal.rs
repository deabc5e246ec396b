//! Owns the study's table as a terminal shows it at the end of a sweep.
//!
//! Refuses to wrap: columns that do not fit are left away, the least important first.

use crate::Report;
use crate::baselines::{self, BaselineScore};
use crate::number::{NONE, count, fixed, or_dash, plus_minus, signed_plus_minus};
use crate::summary::BASELINE;
use crate::table::Table;
use crate::words;

/// The tables of all languages, one under the other.
pub(crate) fn tables(report: &Report, width: usize) -> String {
    let plan = &report.sweep.plan;
    let mut text = format!("{} · {}\n", plan.name, words::progress(report));
    if report.synthetic() {
        text += &format!("{}\n", words::SYNTHETIC_SHORT);
    }
    for lang in report.langs() {
        text += &format!("\n{}\n", report.lang_title(lang));
        text += &table(report, lang).terminal(width);
        if let Some((words, half)) = words::sampling(report, lang) {
            text += &format!(
                "dev has {} {}: each accuracy is good to about ±{} points\n",
                count(words),
                words::units(report).many,
                fixed(half * 100.0, 2)
            );
        }
    }
    let undone = words::undone(report);
    if !undone.is_empty() {
        text += "\nNot done\n";
    }
    for (title, status, why) in undone {
        let line = why.lines().next().unwrap_or("");
        text += &format!("  {status}: {title}: {line}\n");
    }
    text
}

fn table(report: &Report, lang: &str) -> Table {
    let mut table = Table::default().left("frozen", 0);
    for axis in report.axes() {
        table = table.left(axis, 0);
    }
    let test = report.groups_of(lang).any(|group| group.test.is_some());
    table = table
        .right("dev acc. %", 0)
        .right("vs none", 3)
        .right("test acc. %", if test { 4 } else { 9 })
        .right("trainable", 5)
        .right("saved %", 6)
        .right("train s", 1)
        .right("saved time %", 2)
        .right("samples/s", 7)
        .right("steps/s", 8)
        .right("seeds", 4);
    for group in report.groups_of(lang) {
        let baseline = group.policy == BASELINE;
        let mut row = vec![group.policy.clone()];
        row.extend(group.extras.iter().cloned());
        let times = group.times.as_ref();
        row.extend([
            or_dash(group.dev.as_ref(), |dev| plus_minus(dev.accuracy.times(100.0), 2)),
            or_dash(group.dev_accuracy_gain.filter(|_| !baseline), |gain| {
                signed_plus_minus(gain.times(100.0), 2)
            }),
            or_dash(group.test.as_ref(), |test| plus_minus(test.accuracy.times(100.0), 2)),
            or_dash(group.parameters.as_ref(), |p| count(p.trainable)),
            or_dash(group.parameters.as_ref(), |p| fixed(p.saving * 100.0, 1)),
            or_dash(times, |times| {
                plus_minus(times.train_s, crate::number::decimals(times.train_s.mean).max(1))
            }),
            or_dash(group.train_time_saving.filter(|_| !baseline), |saving| {
                plus_minus(saving.times(100.0), 1)
            }),
            or_dash(times, |times| fixed(times.samples_per_s.mean, 1)),
            or_dash(times, |times| fixed(times.steps_per_s.mean, 2)),
            words::seeds(group),
        ]);
        table.row(row);
    }
    for one in baselines::of(report, lang) {
        let accuracy = |split: &Option<BaselineScore>| {
            or_dash(split.as_ref(), |split| plus_minus(split.accuracy.times(100.0), 2))
        };
        let mut row = vec![one.title().to_string()];
        row.extend(one.extras.iter().cloned());
        row.extend([accuracy(&one.dev), NONE.into(), accuracy(&one.test)]);
        row.extend(vec![NONE.to_string(); 7]);
        table.row(row);
    }
    table
}
