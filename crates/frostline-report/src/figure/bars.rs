//! Owns figures of several bars per policy: dev beside test, stage after stage.
//!
//! Refuses bars without a name of their own: which is which is written beside each.

use crate::Report;
use crate::figure::accuracy::{axis_range, cut, thick, thin, value_bar};
use crate::figure::scale::{Scale, Spacing, tick_decimals};
use crate::figure::sheet::{Area, LABEL, Sheet, TICK, widest};
use crate::figure::svg::{Anchor, text_width};
use crate::figure::{Figure, GRID, style};
use crate::number::fixed;
use frostline_score::{MeanStd, ShareInterval};

/// Room for a number and its deviation at the right of a bar.
const NUMBER: f64 = 108.0;
const PLOT: f64 = 270.0;
const LEGEND: f64 = 28.0;
/// A bar's row, and the room between two policies.
const ROW: f64 = 21.0;
const GAP: f64 = 11.0;

/// A panel: its title, what its axis shows, a policy per row.
pub(super) struct Chart {
    pub title: String,
    pub axis: String,
    /// Charts of one kind share an axis.
    pub kind: String,
    pub rows: Vec<Row>,
}

/// The bars of a policy.
pub(super) struct Row {
    pub policy: String,
    pub bars: Vec<Bar>,
}

/// One bar, in shares of 1.
pub(super) struct Bar {
    pub name: String,
    pub value: MeanStd,
    /// What sampling alone would let it differ.
    pub interval: Option<ShareInterval>,
}

impl Chart {
    fn height(&self) -> f64 {
        self.rows.iter().map(Row::height).sum()
    }
}

impl Row {
    fn height(&self) -> f64 {
        self.bars.len().max(1) as f64 * ROW + GAP
    }
}

pub(super) fn draw(report: &Report, figure: &Figure, charts: &[Chart], notes: Vec<String>) -> String {
    let rows = || charts.iter().flat_map(|chart| &chart.rows);
    let bars = || rows().flat_map(|row| &row.bars);
    let policies = widest(rows().map(|row| row.policy.as_str()));
    let names = bars().map(|bar| text_width(&bar.name, TICK.size)).fold(0.0, f64::max);
    let left = policies + names + 24.0;
    let tallest = charts.iter().map(Chart::height).fold(ROW, f64::max);
    let titles: Vec<String> = charts.iter().map(|chart| chart.title.clone()).collect();
    let range = |kind: &str| {
        let alike = charts.iter().filter(|chart| chart.kind == kind).flat_map(|chart| &chart.rows);
        axis_range(alike.flat_map(|row| &row.bars).map(|bar| (bar.value, bar.interval)))
    };
    let size = (left + PLOT + NUMBER, LEGEND + tallest + 70.0);
    let mut sheet = Sheet::titled(report, figure, &titles, size, 2);
    for (i, chart) in charts.iter().enumerate() {
        let area = sheet.area(i);
        let several = bars().any(|bar| bar.value.std.is_some());
        let sampled = bars().any(|bar| bar.interval.is_some());
        legend(&mut sheet, area, sampled, several);
        let plot = area.inside(LEGEND, NUMBER, area.height - LEGEND - chart.height(), left);
        panel(&mut sheet, report, chart, plot, range(&chart.kind), names);
    }
    let mut notes = notes;
    if charts.iter().any(|chart| range(&chart.kind).0 > 0.0) {
        let note = "An axis that does not start at 0 is cut at its left end: the lengths of its bars must not be \
                    compared as ratios.";
        notes.push(note.into());
    }
    sheet.finish(&notes)
}

/// What the thin and the thick line at a bar's end are, as far as there are such.
fn legend(sheet: &mut Sheet, area: Area, sampled: bool, several: bool) {
    let y = area.y + 6.0;
    let mut x = area.x;
    if sampled {
        let words = "95 % interval";
        thin(sheet, (x, x + 24.0), y);
        sheet.svg.text(x + 30.0, y + 4.0, words, TICK);
        x += 30.0 + text_width(words, TICK.size) + 14.0;
    }
    if several {
        thick(sheet, (x, x + 18.0), y);
        sheet.svg.text(x + 24.0, y + 4.0, "± 1 deviation over seeds", TICK);
    }
}

fn panel(sheet: &mut Sheet, report: &Report, chart: &Chart, plot: Area, range: (f64, f64), names: f64) {
    let scale = Scale::new(Spacing::Even, range, (plot.x, plot.right()));
    let mut values = scale.ticks(46.0);
    if values.iter().all(|&value| scale.at(value) - plot.x > 24.0) {
        values.insert(0, range.0);
    }
    let decimals = tick_decimals(&values);
    for &value in &values {
        let x = scale.at(value);
        sheet.svg.line((x, plot.y), (x, plot.bottom()), GRID, 1.0);
    }
    let mut y = plot.y + GAP / 2.0;
    for row in &chart.rows {
        let colour = style(report, &row.policy).colour;
        let middle = y + row.bars.len().max(1) as f64 * ROW / 2.0;
        let before = plot.x - 24.0 - names;
        sheet.svg.text(before, middle + 4.5, &row.policy, LABEL.anchor(Anchor::End));
        if row.bars.is_empty() {
            sheet.svg.text(plot.x + 8.0, middle + 4.5, "no result", TICK);
        }
        for (at, bar) in row.bars.iter().enumerate() {
            // Later bars are fuller, so that a row reads from pale to full.
            let opacity = 0.3 + 0.4 * at as f64 / (row.bars.len().max(2) - 1) as f64;
            draw_bar(sheet, bar, (colour, opacity), &scale, y + (at as f64 + 0.5) * ROW);
        }
        y += row.height();
    }
    let ticks: Vec<(f64, String)> = values.iter().map(|&v| (v, fixed(v, decimals))).collect();
    let title = match range.0 {
        low if low > 0.0 => format!("{} (axis starts at {}, not 0)", chart.axis, fixed(low, decimals)),
        _ => chart.axis.clone(),
    };
    sheet.x_axis(plot, &scale, &ticks, &title);
    if range.0 > 0.0 {
        cut(sheet, plot);
    }
}

fn draw_bar(sheet: &mut Sheet, one: &Bar, paint: (&str, f64), scale: &Scale, middle: f64) {
    let start = scale.at(scale.low());
    sheet.svg.text(start - 8.0, middle + 4.2, &one.name, TICK.anchor(Anchor::End));
    value_bar(sheet, scale, (one.value.times(100.0), one.interval), paint, (middle, ROW * 0.72));
}
