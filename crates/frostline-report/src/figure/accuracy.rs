//! Owns the figure of dev accuracies: one bar per policy.
//!
//! Refuses an axis that starts elsewhere than at zero without saying so.

use crate::Report;
use crate::figure::scale::{Scale, Spacing, nice_step, tick_decimals};
use crate::figure::sheet::{Area, LABEL, Panel, Sheet, TICK, panels, widest};
use crate::figure::svg::{Anchor, Shape};
use crate::figure::{Figure, GRID, INK, SOFT, style};
use crate::number::{fixed, plus_minus};
use crate::summary::{Group, SplitStats};

const ROW: f64 = 40.0;
const BAR: f64 = 22.0;

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let panels = panels(report);
    let rows = panels.iter().map(|panel| panel.groups.len()).max();
    let height = 26.0 + rows.unwrap_or(1) as f64 * ROW + 44.0;
    let names = widest(report.policies().into_iter());
    let mut sheet = Sheet::new(report, figure, &panels, (names + 330.0, height));
    let range = range(report);
    for (i, panel) in panels.iter().enumerate() {
        let area = sheet.area(i);
        let rows = panel.groups.len() as f64 * ROW;
        let bottom = area.height - rows - 2.0;
        let plot = area.inside(2.0, 108.0, bottom, names + 10.0);
        draw_panel(&mut sheet, report, panel, plot, range);
    }
    sheet.finish(&notes(report, range))
}

fn draw_panel(sheet: &mut Sheet, report: &Report, panel: &Panel<'_>, plot: Area, range: (f64, f64)) {
    let scale = Scale::new(Spacing::Even, range, (plot.x, plot.right()));
    let values = scale.ticks(46.0);
    let decimals = tick_decimals(&values);
    for &value in &values {
        let x = scale.at(value);
        sheet.svg.line((x, plot.y), (x, plot.bottom()), GRID, 1.0);
    }
    let ticks: Vec<(f64, String)> = values.iter().map(|&v| (v, fixed(v, decimals))).collect();
    let title = if range.0 > 0.0 {
        format!("dev accuracy, % (axis starts at {}, not 0)", fixed(range.0, decimals))
    } else {
        "dev accuracy, %".into()
    };
    for (i, group) in panel.groups.iter().enumerate() {
        let middle = plot.y + (i as f64 + 0.5) * ROW;
        let name = LABEL.anchor(Anchor::End);
        sheet.svg.text(plot.x - 10.0, middle + 4.5, &group.policy, name);
        match &group.dev {
            Some(dev) => bar(sheet, report, group, dev, &scale, middle),
            None => sheet.svg.text(plot.x + 8.0, middle + 4.5, "no result", TICK),
        }
    }
    sheet.x_axis(plot, &scale, &ticks, &title);
    if range.0 > 0.0 {
        cut(sheet, plot);
    }
}

fn bar(sheet: &mut Sheet, report: &Report, group: &Group, dev: &SplitStats, scale: &Scale, middle: f64) {
    let accuracy = dev.accuracy.times(100.0);
    let style = style(report, &group.policy);
    let start = scale.at(scale.low());
    let end = scale.at(accuracy.mean);
    let from = (start, middle - BAR / 2.0);
    sheet.svg.rect(from, (end - start, BAR), style.colour, 0.55);
    sheet.svg.rect((end - 2.0, middle - BAR / 2.0), (2.0, BAR), style.colour, 1.0);
    let mut reach = end;
    if let Some(interval) = dev.accuracy_interval {
        let (low, high) = (scale.at(interval.low * 100.0), scale.at(interval.high * 100.0));
        let from = (low, middle - 5.0);
        sheet.svg.rect(from, (high - low, 10.0), INK, 0.28);
        reach = reach.max(high);
    }
    for (i, seed) in dev.seeds.iter().enumerate().filter(|_| dev.seeds.len() > 1) {
        // Seeds stand apart a little so that equal ones stay visible.
        let lane = (i % 3) as f64 - 1.0;
        let at = (scale.at(seed * 100.0), middle + lane * 7.0);
        sheet.svg.mark(Shape::Circle, at, 2.6, style.colour);
        reach = reach.max(at.0);
    }
    if let Some(std) = accuracy.std {
        let (low, high) = (scale.at(accuracy.mean - std), scale.at(accuracy.mean + std));
        sheet.svg.line((low, middle), (high, middle), INK, 1.6);
        for x in [low, high] {
            sheet.svg.line((x, middle - 4.0), (x, middle + 4.0), INK, 1.6);
        }
        reach = reach.max(high);
    }
    sheet.svg.text(reach + 8.0, middle + 4.5, &plus_minus(accuracy, 2), LABEL);
}

/// Two slanted strokes through the axis: it was cut here.
fn cut(sheet: &mut Sheet, plot: Area) {
    let (x, y) = (plot.x + 6.0, plot.bottom());
    let stroke = |dx: f64| ((x + dx - 3.0, y + 5.0), (x + dx + 3.0, y - 5.0));
    let (from, to) = stroke(0.0);
    sheet.svg.line(from, to, SOFT, 1.4);
    let (from, to) = stroke(5.0);
    sheet.svg.line(from, to, SOFT, 1.4);
}

/// Where the axis starts and ends, in percent: at 0, unless the differences would be lost.
fn range(report: &Report) -> (f64, f64) {
    let splits = || report.groups.iter().filter_map(|group| group.dev.as_ref());
    let low = splits().flat_map(|dev| {
        let spread = dev.accuracy.mean - dev.accuracy.std.unwrap_or(0.0);
        let interval = dev.accuracy_interval.map(|interval| interval.low);
        dev.seeds.iter().copied().chain([spread]).chain(interval)
    });
    let high = splits().flat_map(|dev| {
        let spread = dev.accuracy.mean + dev.accuracy.std.unwrap_or(0.0);
        let interval = dev.accuracy_interval.map(|interval| interval.high);
        dev.seeds.iter().copied().chain([spread]).chain(interval)
    });
    let low = low.fold(1.0, f64::min) * 100.0;
    let high = (high.fold(0.0, f64::max) * 100.0).min(100.0);
    if high <= 0.0 {
        return (0.0, 100.0);
    }
    // The shortest bar keeps a third of the length of the longest.
    let wanted = low - (high - low).max(0.5) / 2.0;
    if wanted < 40.0 {
        return (0.0, high);
    }
    let step = nice_step((high - wanted) / 8.0);
    ((wanted / step).floor() * step, high)
}

fn notes(report: &Report, range: (f64, f64)) -> Vec<String> {
    let mut notes = vec![
        "Bar: mean accuracy over all words of dev. Grey band: 95 % Wilson interval at the size of \
         dev; bars whose bands overlap may differ by chance."
            .to_string(),
    ];
    if report.groups.iter().any(|group| group.seeds_done > 1) {
        notes.push("Whisker: one standard deviation over seeds. Dots: single seeds.".into());
    } else {
        notes.push("One seed only: no spread over seeds can be shown.".into());
    }
    if range.0 > 0.0 {
        notes.push(
            "The axis is cut at its left end: the lengths of bars must not be compared as ratios.".into(),
        );
    }
    notes
}
