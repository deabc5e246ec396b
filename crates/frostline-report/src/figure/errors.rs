//! Owns the figures of errors: F1 of every tag, and accuracy by what train knows of a word.
//!
//! Refuses bars without their interval.

use crate::Report;
use crate::errors::{By, GroupErrors, TagErrors};
use crate::figure::Figure;
use crate::figure::bars::{Bar, Chart, Row, draw as draw_bars};
use crate::figure::heat::{Field, Heat, draw as draw_heat};
use crate::figure::sheet::{named, panels};
use crate::number::{count, fixed};
use crate::words;

/// The most tags in a panel.
const TAGS: usize = 18;
/// The colour of what is missing to an F1 of 1.
const MISSING: &str = "#D55E00";

/// A language under one combination of further axes.
struct Map<'a> {
    title: String,
    rows: Vec<&'a GroupErrors>,
}

fn maps(report: &Report) -> Vec<Map<'_>> {
    let maps = panels(report).into_iter().map(|panel| {
        let found = panel.groups.iter().filter_map(|group| {
            report.errors.groups.iter().find(|found| {
                (&found.lang, &found.policy, &found.extras, found.split)
                    == (&group.lang, &group.policy, &group.extras, "dev")
            })
        });
        let rows: Vec<&GroupErrors> = found.collect();
        let names: Vec<(&str, f64)> =
            rows.iter().map(|row| (row.policy.as_str(), row.accuracy.mean)).collect();
        let named = named(&names);
        Map {
            title: panel.title,
            rows: rows.into_iter().zip(named).filter(|(_, n)| *n).map(|(r, _)| r).collect(),
        }
    });
    maps.filter(|map| !map.rows.is_empty()).collect()
}

/// F1 of tags: a row per policy, a column per tag.
pub(super) fn tags(report: &Report, figure: &Figure) -> String {
    let maps = maps(report);
    let rows = || maps.iter().flat_map(|map| &map.rows);
    let heats: Vec<Heat<'_>> = maps.iter().map(heat).collect();
    let mut notes = vec![
        "Number: F1 on dev in percent, the mean over seeds. The darker a field, the more is missing to 100. Below a \
         tag stands the number of its words."
            .to_string(),
    ];
    if rows().any(|row| row.tags.len() > TAGS) {
        notes.push(format!("Only the {TAGS} most frequent tags are shown."));
    }
    notes.extend(left_away(report));
    draw_heat(report, figure, &heats, (MISSING, 1), &notes)
}

fn heat<'a>(map: &Map<'a>) -> Heat<'a> {
    let tags: Vec<&TagErrors> = map.rows[0].tags.iter().take(TAGS).collect();
    let field = |row: &GroupErrors, tag: &str| {
        let found = row.tags.iter().find(|other| other.tag == tag)?;
        Some(Field { label: fixed(100.0 * found.f1.mean, 1), shade: shade(found.f1.mean) })
    };
    let fields = |row: &GroupErrors| tags.iter().map(|tag| field(row, &tag.tag)).collect();
    Heat {
        title: map.title.clone(),
        columns: tags.iter().map(|tag| vec![tag.tag.clone(), count(tag.support)]).collect(),
        rows: map.rows.iter().map(|row| (row.policy.as_str(), fields(row))).collect(),
    }
}

/// How dark a field is: the same step for the same factor of errors, from 0.1 % to half; never so dark
/// that its number is hard to read.
fn shade(f1: f64) -> f64 {
    let missing = (1.0 - f1).clamp(0.001, 0.5);
    0.02 + 0.63 * (missing / 0.001).ln() / 500_f64.ln()
}

/// Accuracy by what train knows of a word: three bars per policy.
pub(super) fn familiarity(report: &Report, figure: &Figure) -> String {
    let names = [("unknown", "unknown"), ("ambiguous", "several tags"), ("unambiguous", "one tag")];
    let bars = |group: &&GroupErrors| {
        let bar = |(name, shown): (&str, &str)| {
            let found = group.strata.iter().find(|found| found.by == By::Train && found.name == name)?;
            Some(Bar { name: shown.into(), value: found.accuracy, interval: found.interval })
        };
        Row { policy: group.policy.clone(), bars: names.into_iter().filter_map(bar).collect() }
    };
    let charts: Vec<Chart> = maps(report)
        .into_iter()
        .map(|map| Chart {
            rows: map.rows.iter().map(bars).collect(),
            title: map.title,
            axis: "dev accuracy, %".into(),
            kind: String::new(),
        })
        .collect();
    let mut notes = vec![
        "Bar and number: mean accuracy on words that train lacks, that have several tags there, and that have one. \
         Thin line: 95 % Wilson interval at their number."
            .to_string(),
    ];
    notes.extend(left_away(report));
    draw_bars(report, figure, &charts, notes)
}

fn left_away(report: &Report) -> Option<String> {
    let shown: usize = maps(report).iter().map(|map| map.rows.len()).sum();
    let all = report.errors.groups.iter().filter(|group| group.split == "dev").count();
    let units = words::units(report).many;
    (shown < all).then(|| {
        format!("Of {all} rows, {shown} are drawn: those with the most and the fewest right {units}, and the baseline.")
    })
}
