//! Owns the figures of errors: F1 of every tag, and accuracy by what train knows of a word.
//!
//! Refuses colour as the only sign: every field carries its number.

use crate::Report;
use crate::errors::{By, GroupErrors};
use crate::figure::bars::{Bar, Chart, Row, draw as draw_bars};
use crate::figure::sheet::{Area, LABEL, Sheet, TICK, named, panels, widest};
use crate::figure::svg::{Anchor, Type, text_width};
use crate::figure::{Figure, INK};
use crate::number::{count, fixed};
use crate::words;

/// A field's height, and the least width that its number needs.
const ROW: f64 = 26.0;
const FIELD: f64 = 46.0;
/// Room for a panel's title, and for its tags and their words.
const TITLE: f64 = 26.0;
const HEAD: f64 = 40.0;
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
    let left = widest(rows().map(|row| row.policy.as_str())) + 12.0;
    let labels = rows().flat_map(|row| row.tags.iter().take(TAGS));
    let field = labels.map(|tag| text_width(&tag.tag, TICK.size) + 8.0).fold(FIELD, f64::max);
    let columns = rows().map(|row| row.tags.len().min(TAGS)).max().unwrap_or(1);
    let most = maps.iter().map(|map| map.rows.len()).max().unwrap_or(1);
    let size = (left + columns as f64 * field, TITLE + HEAD + most as f64 * ROW);
    let titles: Vec<String> = maps.iter().map(|map| map.title.clone()).collect();
    let mut sheet = Sheet::titled(report, figure, &titles, size, 1);
    for (i, map) in maps.iter().enumerate() {
        let area = sheet.area(i);
        heat(&mut sheet, area.inside(HEAD, 0.0, 0.0, left), map, field);
    }
    let mut notes = vec![
        "Number: F1 on dev in percent, the mean over seeds. The darker a field, the more is missing to 100. Below a \
         tag stands the number of its words."
            .to_string(),
    ];
    if rows().any(|row| row.tags.len() > TAGS) {
        notes.push(format!("Only the {TAGS} most frequent tags are shown."));
    }
    notes.extend(left_away(report));
    sheet.finish(&notes)
}

fn heat(sheet: &mut Sheet, plot: Area, map: &Map<'_>, field: f64) {
    let Some(first) = map.rows.first() else { return };
    for (at, tag) in first.tags.iter().take(TAGS).enumerate() {
        let middle = plot.x + (at as f64 + 0.5) * field;
        sheet.svg.text(middle, plot.y - 22.0, &tag.tag, TICK.anchor(Anchor::Middle));
        let words = Type::new(11.0, TICK.colour).anchor(Anchor::Middle);
        sheet.svg.text(middle, plot.y - 7.0, &count(tag.support), words);
        for (number, row) in map.rows.iter().enumerate() {
            let Some(found) = row.tags.iter().find(|other| other.tag == tag.tag) else { continue };
            let top = plot.y + number as f64 * ROW;
            let from = (plot.x + at as f64 * field + 1.0, top + 1.0);
            sheet.svg.rect(from, (field - 2.0, ROW - 2.0), MISSING, shade(found.f1.mean));
            let number = Type::new(12.0, INK).anchor(Anchor::Middle);
            sheet.svg.text(middle, top + ROW / 2.0 + 4.2, &fixed(100.0 * found.f1.mean, 1), number);
        }
    }
    for (number, row) in map.rows.iter().enumerate() {
        let y = plot.y + (number as f64 + 0.5) * ROW + 4.5;
        sheet.svg.text(plot.x - 8.0, y, &row.policy, LABEL.anchor(Anchor::End));
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
