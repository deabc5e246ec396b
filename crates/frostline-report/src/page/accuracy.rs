//! Owns what the page says about accuracy: languages side by side, differences from the baseline,
//! epochs.
//!
//! Refuses a difference without its sampling error.

use crate::Report;
use crate::epoch::EpochStats;
use crate::number::{NONE, count, fixed, or_dash, plus_minus, signed_plus_minus};
use crate::page::{baselines, key, keyed, paragraph, section, thaw};
use crate::summary::{BASELINE, Group};
use crate::words;
use frostline_score::MeanStd;

/// Dev accuracy, the study's accuracy where words are tagged, and test accuracy of a group, in percent.
pub(super) fn columns(report: &Report, group: &Group) -> [String; 3] {
    let of_words = words::units(report) != words::SENTENCES;
    let percent = |stat: MeanStd| plus_minus(stat.times(100.0), 2);
    [
        or_dash(group.dev.as_ref(), |dev| percent(dev.accuracy)),
        or_dash(group.dev.as_ref().filter(|_| of_words), |dev| percent(dev.study_accuracy)),
        or_dash(group.test.as_ref(), |test| percent(test.accuracy)),
    ]
}

/// One row per policy, the languages beside each other.
pub(super) fn side_by_side(report: &Report, text: &mut String) {
    section(text, 2, "Result");
    let langs = report.langs();
    let units = words::units(report).many;
    let mut table = keyed(report);
    for lang in &langs {
        table = table.right(format!("{lang}: dev accuracy %"), 0);
    }
    for lang in &langs {
        table = table.right(format!("{lang}: time saving %"), 1);
    }
    for extras in report.extras() {
        for policy in report.policies() {
            let of = |lang: &str| {
                let mut groups = report.groups.iter();
                groups.find(|g| g.lang == lang && g.policy == policy && g.extras == extras)
            };
            let Some(any) = langs.iter().find_map(|lang| of(lang)) else {
                continue;
            };
            let mut row = key(any);
            row.extend(langs.iter().map(|lang| {
                let dev = of(lang).and_then(|group| group.dev.as_ref());
                or_dash(dev, |dev| plus_minus(dev.accuracy.times(100.0), 2))
            }));
            row.extend(langs.iter().map(|lang| match of(lang) {
                Some(group) if group.policy == BASELINE => "baseline".into(),
                group => or_dash(group.and_then(|g| g.train_time_saving), |saving| {
                    plus_minus(saving.times(100.0), 1)
                }),
            }));
            table.row(row);
        }
    }
    baselines::side_by_side(report, &mut table);
    paragraph(text, table.markdown().trim_end());
    for lang in langs {
        if let Some((words, half)) = words::sampling(report, lang) {
            *text += &format!(
                "- **{lang}**: dev has {} {units}. Each accuracy is good to about ± {} points (half \
                 of a 95 % Wilson interval, the widest of the table). Smaller differences may be \
                 chance.\n",
                count(words),
                fixed(half * 100.0, 2)
            );
        }
    }
    baselines::notes(report, text);
}

/// The differences from the baseline and whether they are larger than sampling error.
pub(super) fn differences(report: &Report, lang: &str, text: &mut String) {
    section(text, 3, "How sure are these accuracies?");
    let units = words::units(report);
    let mut table = keyed(report)
        .right(format!("Dev {}", units.many), 0)
        .right("Half of 95 % interval", 0)
        .right("vs none, points", 1)
        .left("Beyond sampling error?", 1);
    for group in report.groups_of(lang) {
        let baseline =
            report.groups_of(lang).find(|other| other.policy == BASELINE && other.extras == group.extras);
        let (gain, clear) = if group.policy == BASELINE {
            ("baseline".into(), NONE.into())
        } else {
            let clear = baseline.and_then(|base| words::gain_is_clear(group, base));
            (
                or_dash(group.dev_accuracy_gain, |gain| signed_plus_minus(gain.times(100.0), 2)),
                or_dash(clear, |clear| if clear { "yes" } else { "no" }.into()),
            )
        };
        let dev = group.dev.as_ref();
        let half = dev.and_then(|dev| dev.accuracy_interval);
        let mut row = key(group);
        row.extend([
            or_dash(dev, |dev| count(dev.words)),
            or_dash(half, |half| format!("± {}", fixed(half.half_width() * 100.0, 2))),
            gain,
            clear,
        ]);
        table.row(row);
    }
    paragraph(text, table.markdown().trim_end());
    let dependent = match units {
        words::SENTENCES => "",
        _ => "; words of one sentence are not, so the true error is somewhat larger",
    };
    paragraph(
        text,
        &format!(
            "The interval is Wilson's, for the mean accuracy at this number of {0}. It treats {0} as \
             independent{dependent}.",
            units.many
        ),
    );
    if report.has_baseline() {
        paragraph(
            text,
            &format!(
                "The last column asks whether the difference exceeds the root of the sum of both \
                 squared half widths. It treats the two policies as if they had been scored on \
                 different {}. They were scored on the same ones, so a `no` means: not shown here. \
                 It does not mean: equal.",
                units.many
            ),
        );
    }
}

/// Dev accuracy, dev loss and train loss after every epoch.
pub(super) fn epochs(report: &Report, lang: &str, text: &mut String) {
    type Get = fn(&EpochStats) -> String;
    let per = words::units(report).one;
    let tables: [(String, Get); 3] = [
        ("Dev accuracy % after each epoch".into(), |row| plus_minus(row.dev_accuracy.times(100.0), 2)),
        (format!("Dev loss after each epoch, nats per {per}"), |row| plus_minus(row.dev_loss_nats, 4)),
        (format!("Train loss of each epoch, nats per {per}"), |row| plus_minus(row.train_loss_nats, 4)),
    ];
    let last =
        report.groups_of(lang).flat_map(|group| group.epochs.iter().map(|row| row.epoch)).max().unwrap_or(0);
    for (title, get) in tables {
        section(text, 3, &title);
        let mut table = keyed(report);
        for head in thaw::heads(report, lang, last) {
            table = table.right(head, 1);
        }
        for group in report.groups_of(lang) {
            let mut row = key(group);
            row.extend((1..=last).map(|epoch| {
                let found = group.epochs.iter().find(|row| row.epoch == epoch);
                or_dash(found, get)
            }));
            table.row(row);
        }
        *text += &table.markdown();
        thaw::stages(report, lang, text);
    }
}
