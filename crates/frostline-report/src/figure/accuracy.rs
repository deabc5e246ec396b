//! Owns the figure of dev accuracies: one bar per policy.
//!
//! Refuses an axis that starts elsewhere than at zero without saying so.

use crate::Report;
use crate::baselines;
use crate::figure::scale::{Scale, Spacing, nice_step, tick_decimals};
use crate::figure::sheet::{Area, LABEL, Panel, Sheet, TICK, panels, row_height, widest};
use crate::figure::svg::{Anchor, text_width};
use crate::figure::{Figure, GRID, INK, SOFT, style};
use crate::number::{fixed, plus_minus};
use crate::summary::{Group, SplitStats};
use crate::words;
use frostline_score::{MeanStd, ShareInterval};

/// Room for a number and its deviation at the right of a bar.
const NUMBER: f64 = 108.0;
const PLOT: f64 = 270.0;
/// The legend's height above a plot.
const LEGEND: f64 = 28.0;
/// A baseline's line in the legend, and how its line is dashed.
const LINE: f64 = 18.0;
const DASHES: [&str; 2] = ["2 3", "7 3"];

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let panels = panels(report);
    let row = row_height(&panels);
    let most = panels.iter().map(|panel| panel.groups.len()).max();
    let lines = panels.iter().map(|panel| references(report, panel).len()).max();
    let legends = LEGEND + lines.unwrap_or(0) as f64 * LINE;
    let height = legends + most.unwrap_or(1) as f64 * row + 70.0;
    let names = widest(report.policies().into_iter());
    let size = (names + 10.0 + PLOT + NUMBER, height);
    let mut sheet = Sheet::new(report, figure, &panels, size);
    let range = range(report);
    for (i, panel) in panels.iter().enumerate() {
        let area = sheet.area(i);
        legend(&mut sheet, area, panel);
        let rows = panel.groups.len() as f64 * row;
        let plot = area.inside(legends, NUMBER, area.height - legends - rows, names + 10.0);
        draw_panel(&mut sheet, report, panel, plot, range, row);
        reference_lines(&mut sheet, area, &references(report, panel), plot, range);
    }
    sheet.finish(&notes(report, range))
}

/// What the thin and the thick line at a bar's end are.
fn legend(sheet: &mut Sheet, area: Area, panel: &Panel<'_>) {
    let y = area.y + 6.0;
    let mut x = area.x;
    thin(sheet, (x, x + 24.0), y);
    let words = "95 % interval of dev";
    sheet.svg.text(x + 30.0, y + 4.0, words, TICK);
    if panel.groups.iter().any(|group| group.seeds_done > 1) {
        x += 30.0 + text_width(words, TICK.size) + 14.0;
        thick(sheet, (x, x + 18.0), y);
        sheet.svg.text(x + 24.0, y + 4.0, "± 1 deviation over seeds", TICK);
    }
}

fn draw_panel(
    sheet: &mut Sheet,
    report: &Report,
    panel: &Panel<'_>,
    plot: Area,
    range: (f64, f64),
    row: f64,
) {
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
    let ticks: Vec<(f64, String)> = values.iter().map(|&v| (v, fixed(v, decimals))).collect();
    let title = if range.0 > 0.0 {
        format!("dev accuracy, % (axis starts at {}, not 0)", fixed(range.0, decimals))
    } else {
        "dev accuracy, %".into()
    };
    for (i, group) in panel.groups.iter().enumerate() {
        let middle = plot.y + (i as f64 + 0.5) * row;
        let name = LABEL.anchor(Anchor::End);
        sheet.svg.text(plot.x - 10.0, middle + 4.5, &group.policy, name);
        match &group.dev {
            Some(dev) => bar(sheet, report, group, dev, &scale, (middle, row * 0.6)),
            None => sheet.svg.text(plot.x + 8.0, middle + 4.5, "no result", TICK),
        }
    }
    sheet.x_axis(plot, &scale, &ticks, &title);
    if range.0 > 0.0 {
        cut(sheet, plot);
    }
}

fn bar(
    sheet: &mut Sheet,
    report: &Report,
    group: &Group,
    dev: &SplitStats,
    scale: &Scale,
    (middle, height): (f64, f64),
) {
    let paint = (style(report, &group.policy).colour, 0.5);
    value_bar(sheet, scale, (dev.accuracy.times(100.0), dev.accuracy_interval), paint, (middle, height));
}

/// The baselines of a panel, each with its dev accuracy in percent.
fn references(report: &Report, panel: &Panel<'_>) -> Vec<(&'static str, f64)> {
    let Some(group) = panel.groups.first() else { return Vec::new() };
    let all = baselines::of(report, &group.lang).into_iter().filter(|one| one.is_at(&group.extras));
    all.filter_map(|one| Some((one.title(), one.dev.as_ref()?.accuracy.mean * 100.0))).collect()
}

/// A dashed line at each baseline, and its number above the plot; one left of a cut axis is only told.
fn reference_lines(sheet: &mut Sheet, area: Area, all: &[(&str, f64)], plot: Area, range: (f64, f64)) {
    let scale = Scale::new(Spacing::Even, range, (plot.x, plot.right()));
    for (at, ((name, value), dash)) in all.iter().zip(DASHES).enumerate() {
        let y = area.y + 6.0 + (at + 1) as f64 * LINE;
        sheet.svg.polyline(&[(area.x, y), (area.x + 24.0, y)], INK, 1.6, dash);
        let place = if *value < range.0 { ", left of the axis" } else { "" };
        sheet.svg.text(area.x + 30.0, y + 4.0, &format!("{name}: {}{place}", fixed(*value, 2)), TICK);
        if *value >= range.0 {
            let x = scale.at(*value);
            sheet.svg.polyline(&[(x, plot.y), (x, plot.bottom())], INK, 1.6, dash);
        }
    }
}

/// A bar from the axis to a value in percent, with its interval, its spread and its number. `place` is
/// the bar's middle and height.
pub(super) fn value_bar(
    sheet: &mut Sheet,
    scale: &Scale,
    (value, interval): (MeanStd, Option<ShareInterval>),
    (colour, opacity): (&str, f64),
    (middle, height): (f64, f64),
) {
    let (start, end) = (scale.at(scale.low()), scale.at(value.mean));
    let (from, size) = ((start, middle - height / 2.0), (end - start, height));
    sheet.svg.rect(from, size, "#FFFFFF", 1.0);
    sheet.svg.rect(from, size, colour, opacity);
    let mut reach = end;
    if let Some(interval) = interval {
        let ends = (scale.at(interval.low * 100.0), scale.at(interval.high * 100.0));
        thin(sheet, ends, middle);
        reach = reach.max(ends.1);
    }
    if let Some(std) = value.std {
        let ends = (scale.at(value.mean - std), scale.at(value.mean + std));
        thick(sheet, ends, middle);
        reach = reach.max(ends.1);
    }
    sheet.svg.text(reach + 9.0, middle + 4.5, &plus_minus(value, 2), LABEL);
}

/// The sampling interval: a thin line with ends.
pub(super) fn thin(sheet: &mut Sheet, (low, high): (f64, f64), y: f64) {
    sheet.svg.line((low, y), (high, y), INK, 1.2);
    for x in [low, high] {
        sheet.svg.line((x, y - 4.5), (x, y + 4.5), INK, 1.2);
    }
}

/// The spread over seeds: a thick line, never so short that it vanishes.
pub(super) fn thick(sheet: &mut Sheet, (low, high): (f64, f64), y: f64) {
    let (middle, half) = ((low + high) / 2.0, ((high - low) / 2.0).max(0.9));
    sheet.svg.rect((middle - half, y - 3.0), (2.0 * half, 6.0), INK, 1.0);
}

/// Two slanted strokes through the axis: it was cut here.
pub(super) fn cut(sheet: &mut Sheet, plot: Area) {
    let (x, y) = (plot.x + 6.0, plot.bottom());
    let stroke = |dx: f64| ((x + dx - 3.0, y + 5.0), (x + dx + 3.0, y - 5.0));
    let (from, to) = stroke(0.0);
    sheet.svg.line(from, to, SOFT, 1.4);
    let (from, to) = stroke(5.0);
    sheet.svg.line(from, to, SOFT, 1.4);
}

/// Where the axis starts and ends, in percent: at 0, unless the differences would be lost.
fn range(report: &Report) -> (f64, f64) {
    let splits = report.groups.iter().filter_map(|group| group.dev.as_ref());
    let range = axis_range(splits.map(|dev| (dev.accuracy, dev.accuracy_interval)));
    // A baseline above all bars widens the axis; one far below them does not.
    let dev = baselines::all(report).into_iter().filter_map(|one| Some(one.dev?.accuracy.mean * 100.0));
    (range.0, dev.fold(range.1, f64::max))
}

/// The same for any shares with their intervals.
pub(super) fn axis_range(shares: impl Iterator<Item = (MeanStd, Option<ShareInterval>)>) -> (f64, f64) {
    let shares: Vec<_> = shares.collect();
    let ends = |sign: f64| {
        shares.iter().flat_map(move |(share, interval)| {
            let spread = share.mean + sign * share.std.unwrap_or(0.0);
            let interval = interval.map(|i| if sign < 0.0 { i.low } else { i.high });
            [Some(spread), interval].into_iter().flatten()
        })
    };
    let (low, high) = (ends(-1.0), ends(1.0));
    let low = low.fold(1.0, f64::min) * 100.0;
    let high = (high.fold(0.0, f64::max) * 100.0).min(100.0);
    if high <= 0.0 {
        return (0.0, 100.0);
    }
    // The shortest bar keeps a quarter of the length of the longest.
    let wanted = low - (high - low).max(0.5) / 3.0;
    if wanted < 60.0 {
        return (0.0, high);
    }
    let step = nice_step((high - wanted) / 8.0);
    ((wanted / step).floor() * step, high)
}

fn notes(report: &Report, range: (f64, f64)) -> Vec<String> {
    let mut notes = vec![format!(
        "Bar and number: mean accuracy over all {} of dev. Thin line: 95 % Wilson interval at the \
         size of dev; bars whose thin lines overlap may differ by chance.",
        words::units(report).many
    )];
    if report.groups.iter().any(|group| group.seeds_done > 1) {
        notes.push("Thick line and ±: one standard deviation over seeds.".into());
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
