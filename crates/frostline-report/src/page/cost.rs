//! Owns what the page says about cost: parameters, times, speeds and what was predicted of them.
//!
//! Refuses to add loading, computing a prefix or evaluation to training time.

use crate::Report;
use crate::epoch::is_steady;
use crate::number::{NONE, count, decimals, fixed, or_dash, plus_minus};
use crate::page::{key, keyed, paragraph, section};
use crate::prefix::PrefixStats;
use crate::summary::{BASELINE, CellView, Group, Times};
use frostline_score::MeanStd;

/// Trainable parameters, their share, saving, training time, its saving, samples/s, steps/s.
pub(super) fn columns(group: &Group) -> [String; 7] {
    let parameters = group.parameters.as_ref();
    let times = group.times.as_ref();
    [
        or_dash(parameters, |p| count(p.trainable)),
        or_dash(parameters, |p| fixed(p.trainable_share * 100.0, 1)),
        or_dash(parameters, |p| fixed(p.saving * 100.0, 1)),
        or_dash(times, |times| measured(times.train_s)),
        if group.policy == BASELINE && group.train_time_saving.is_some() {
            "baseline".into()
        } else {
            or_dash(group.train_time_saving, |saving| plus_minus(saving.times(100.0), 1))
        },
        or_dash(times, |times| measured(times.samples_per_s)),
        or_dash(times, |times| measured(times.steps_per_s)),
    ]
}

/// Where the time of a cell goes.
pub(super) fn times(report: &Report, lang: &str, text: &mut String) {
    section(text, 3, "Where the time goes");
    let mut table = keyed(report);
    type Get = fn(&Times) -> MeanStd;
    let columns: [(&str, Get); 6] = [
        ("Loading s", |t| t.load_s),
        ("Training s", |t| t.train_s),
        ("Evaluation s", |t| t.eval_s),
        ("Whole cell s", |t| t.total_s),
        ("Median step ms", |t| t.step_ms_median),
        ("Subwords/s", |t| t.tokens_per_s),
    ];
    for (i, (head, _)) in columns.into_iter().enumerate() {
        table = table.right(head, 0);
        if i == 0 {
            table = table.right("Prefix s", 1);
        }
    }
    table = table.right("Peak memory MiB", 1);
    for group in report.groups_of(lang) {
        let times = group.times.as_ref();
        let read = times.filter(|_| group.prefix.as_ref().is_some_and(PrefixStats::was_read));
        let mut cells = columns.map(|(_, get)| or_dash(times, |times| measured(get(times)))).to_vec();
        cells.insert(1, or_dash(read, |times| measured(times.prefix_s)));
        let mut row = key(group);
        row.extend(cells);
        let peak = times.map(|t| t.peak_rss_mib_max).filter(|&peak| peak > 0.0);
        row.push(peak.map_or_else(|| NONE.into(), |peak| fixed(peak, 0)));
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
    *text += "Peak memory is the worker's highest so far, the largest over seeds. A worker that ran \
              other cells before carries their peak along.\n";
    prefixes(report, lang, text);
}

/// Who read a constant prefix, who could have and why not.
fn prefixes(report: &Report, lang: &str, text: &mut String) {
    let groups: Vec<_> =
        report.groups_of(lang).filter_map(|group| Some((group, group.prefix.as_ref()?))).collect();
    if groups.is_empty() {
        return;
    }
    section(text, 3, "Constant prefix");
    paragraph(
        text,
        "Where the embeddings and the lowest blocks are frozen and nothing is dropped in them, what \
         comes out of them never changes. It can be computed once and then only be read.",
    );
    for (group, prefix) in &groups {
        *text += &format!("- **{}**: {}.\n", key(group).join(", "), prefix.words());
    }
    if groups.iter().any(|(_, prefix)| prefix.was_read()) {
        *text += "\n`Prefix s` is the mean time a cell spent on computing it, finding it or waiting \
                  for it. Training time, its saving, and both speed-ups leave it out.\n";
    }
}

/// What the cost model said beside what the clock said.
pub(super) fn speedups(report: &Report, lang: &str, text: &mut String) {
    section(text, 3, "Predicted and measured speed-up");
    let mut table = keyed(report)
        .right("GFLOP per step", 0)
        .right("Predicted speed-up", 0)
        .right("Measured speed-up", if report.has_baseline() { 0 } else { 1 });
    let mut uneven = false;
    for group in report.groups_of(lang) {
        let steady = report.members(group).filter_map(CellView::done).all(is_steady);
        uneven |= !steady;
        let cost = group.cost.as_ref().filter(|_| steady);
        let mut row = key(group);
        row.push(or_dash(cost, |cost| fixed(cost.gflop_per_step.mean, decimals(cost.gflop_per_step.mean))));
        row.push(or_dash(cost, |cost| fixed(cost.predicted_speedup.mean, 2)));
        row.push(match cost.and_then(|cost| cost.measured_speedup) {
            Some(_) if group.policy == BASELINE => "baseline".into(),
            speedup => or_dash(speedup, |speedup| plus_minus(speedup, 2)),
        });
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
    if uneven {
        paragraph(
            text,
            "Where what learns changes on the way, no step stands for all: there the training time and its saving say \
             what was won.",
        );
    }
}

/// A measured quantity with about three digits.
fn measured(stat: MeanStd) -> String {
    plus_minus(stat, decimals(stat.mean))
}
