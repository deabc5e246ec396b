//! Owns the figures of something over time: dev accuracy by epoch, train loss by step.
//!
//! Refuses a legend: every line ends in its name.

use crate::Report;
use crate::figure::scale::{Scale, Spacing, nice_step};
use crate::figure::sheet::{Area, LABEL, Panel, Sheet, panels, spread, widest};
use crate::figure::{Figure, SOFT, Style, style};
use crate::number::{count, fixed};
use crate::stat::Stat;
use crate::summary::Group;

const SIZE: (f64, f64) = (330.0, 360.0);

/// One line: its policy, its look, and a statistic at each place.
struct Series {
    name: String,
    style: Style,
    points: Vec<(f64, Stat)>,
}

/// How the values of a figure are drawn.
struct Look {
    spacing: Spacing,
    range: (f64, f64),
    y_title: &'static str,
    x_title: &'static str,
    marks: bool,
    bands: bool,
}

pub(super) fn convergence(report: &Report, figure: &Figure) -> String {
    let series = |group: &Group| {
        let points = group.epochs.iter();
        points.map(|row| (f64::from(row.epoch), row.dev_accuracy)).collect::<Vec<_>>()
    };
    let (low, high) = range(report, &series, true);
    let (spacing, range) = accuracy_range(low, high);
    let look =
        Look { spacing, range, y_title: "dev accuracy, %", x_title: "epoch", marks: true, bands: true };
    let mut notes = vec![accuracy_note(spacing)];
    if report.groups.iter().any(|group| group.seeds_done > 1) {
        notes.push("Line: mean over seeds. Shade: one standard deviation.".into());
    }
    let label = |value: f64| fixed(value * 100.0, accuracy_decimals(value, spacing, range));
    draw(report, figure, &look, &series, label, &notes)
}

pub(super) fn train_loss(report: &Report, figure: &Figure) -> String {
    let series = |group: &Group| {
        let points = group.train_loss.iter();
        points.map(|point| (point.step as f64, point.loss_nats)).collect::<Vec<_>>()
    };
    let (low, high) = range(report, &series, false);
    let low = low.max(1e-4);
    let look = Look {
        spacing: Spacing::Log,
        range: (low / 1.15, high.max(low) * 1.15),
        y_title: "train loss, nats per word",
        x_title: "optimiser step",
        marks: false,
        bands: false,
    };
    let notes = ["The vertical axis is logarithmic: equal steps are equal factors. Dropout is on, so the \
         loss lies above that of a finished model on the same words."
        .to_string()];
    draw(report, figure, &look, &series, loss_label, &notes)
}

fn draw(
    report: &Report,
    figure: &Figure,
    look: &Look,
    series: &dyn Fn(&Group) -> Vec<(f64, Stat)>,
    label: impl Fn(f64) -> String,
    notes: &[String],
) -> String {
    let panels = panels(report);
    let names = widest(report.policies().into_iter());
    let mut sheet = Sheet::new(report, figure, &panels, (SIZE.0 + names, SIZE.1));
    for (i, panel) in panels.iter().enumerate() {
        let plot = sheet.area(i).inside(26.0, names + 32.0, 46.0, 44.0);
        let lines = lines(report, panel, series);
        if lines.is_empty() {
            sheet.svg.text(plot.x, plot.y + 20.0, "no result", LABEL);
            continue;
        }
        let last = lines.iter().flat_map(|line| line.points.last());
        let last = last.map(|point| point.0).fold(1.0, f64::max);
        let first = if look.marks { 1.0 } else { 0.0 };
        let x = Scale::new(Spacing::Even, (first, last), (plot.x + 8.0, plot.right()));
        let y = Scale::new(look.spacing, look.range, (plot.bottom(), plot.y));
        sheet.y_axis(plot, &y, look.y_title, &label);
        sheet.x_axis(plot, &x, &whole_ticks(&x, first, last), look.x_title);
        draw_lines(&mut sheet, look, plot, &lines, &x, &y);
    }
    sheet.finish(notes)
}

fn lines(report: &Report, panel: &Panel<'_>, series: &dyn Fn(&Group) -> Vec<(f64, Stat)>) -> Vec<Series> {
    panel
        .groups
        .iter()
        .map(|group| Series {
            name: group.policy.clone(),
            style: style(report, &group.policy),
            points: series(group),
        })
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn draw_lines(sheet: &mut Sheet, look: &Look, plot: Area, lines: &[Series], x: &Scale, y: &Scale) {
    for line in lines.iter().filter(|_| look.bands) {
        band(sheet, line, x, y);
    }
    // The first policies of a plan are the ones that others are compared with: draw them on top.
    for line in lines.iter().rev() {
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|(at, stat)| (x.at(*at), y.at(stat.mean))).collect();
        sheet.svg.polyline(&places, line.style.colour, 1.8, line.style.dash);
        for place in places.iter().filter(|_| look.marks || places.len() == 1) {
            sheet.svg.mark(line.style.shape, *place, 4.0, line.style.colour);
        }
    }
    let ends: Vec<f64> =
        lines.iter().filter_map(|line| line.points.last()).map(|(_, stat)| y.at(stat.mean)).collect();
    let places = spread(&ends, 17.0, plot.y + 2.0, plot.bottom() - 2.0);
    for ((line, end), place) in lines.iter().zip(&ends).zip(&places) {
        let last = line.points.last().map_or(plot.right(), |p| x.at(p.0));
        let start = (last + 6.0, *end);
        sheet.svg.line(start, (plot.right() + 16.0, *place), SOFT, 0.7);
        let at = (plot.right() + 21.0, *place);
        sheet.svg.mark(line.style.shape, at, 4.0, line.style.colour);
        sheet.svg.text(plot.right() + 29.0, place + 4.5, &line.name, LABEL);
    }
}

fn band(sheet: &mut Sheet, line: &Series, x: &Scale, y: &Scale) {
    let edge = |sign: f64| {
        let points = line.points.iter();
        points.map(move |(at, stat)| {
            let value = stat.mean + sign * stat.std.unwrap_or(0.0);
            (x.at(*at), y.at(value))
        })
    };
    if line.points.iter().any(|(_, stat)| stat.std.is_some()) {
        let outline: Vec<(f64, f64)> = edge(1.0).chain(edge(-1.0).rev()).collect();
        sheet.svg.polygon(&outline, line.style.colour, 0.18);
    }
}

/// The lowest and highest value that is drawn.
fn range(report: &Report, series: &dyn Fn(&Group) -> Vec<(f64, Stat)>, bands: bool) -> (f64, f64) {
    let stats: Vec<Stat> =
        report.groups.iter().flat_map(|group| series(group).into_iter().map(|(_, stat)| stat)).collect();
    let std = |stat: &Stat| if bands { stat.std.unwrap_or(0.0) } else { 0.0 };
    let low = stats.iter().map(|stat| stat.mean - std(stat));
    let high = stats.iter().map(|stat| stat.mean + std(stat));
    (low.fold(f64::INFINITY, f64::min).min(1e9), high.fold(0.0, f64::max))
}

/// Accuracies far apart are stretched towards 100 %, so that close ones can be told apart.
pub(super) fn accuracy_range(low: f64, high: f64) -> (Spacing, (f64, f64)) {
    let (low, high) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
    if low >= high {
        return (Spacing::Even, ((high - 0.05).max(0.0), (high + 0.05).min(1.0)));
    }
    let least_missing = (1.0 - high).max(5e-4);
    if (1.0 - low) / least_missing > 3.0 {
        let range = (1.0 - (1.0 - low) * 1.08, 1.0 - least_missing / 1.08);
        return (Spacing::Missing, (range.0.max(0.0), range.1));
    }
    let step = nice_step((high - low) / 5.0);
    let low = ((low / step).floor() * step).max(0.0);
    (Spacing::Even, (low, ((high / step).ceil() * step).min(1.0)))
}

/// What the vertical axis of accuracies does, said plainly.
pub(super) fn accuracy_note(spacing: Spacing) -> String {
    match spacing {
        Spacing::Missing => "The vertical axis does not start at 0 and is stretched towards \
                             100 %: equal steps divide the number of errors by equal factors."
            .into(),
        _ => "The vertical axis does not start at 0.".into(),
    }
}

/// Decimals of a named accuracy.
pub(super) fn accuracy_decimals(value: f64, spacing: Spacing, range: (f64, f64)) -> usize {
    let tenths = (value * 1000.0).round();
    let whole = (tenths / 10.0).fract().abs() < 1e-9;
    match spacing {
        Spacing::Even if range.1 - range.0 < 0.03 => 1,
        _ if whole => 0,
        _ => 1,
    }
}

fn whole_ticks(scale: &Scale, first: f64, last: f64) -> Vec<(f64, String)> {
    let ticks = scale.ticks(46.0);
    let whole = ticks.into_iter().filter(|tick| tick.fract() == 0.0);
    let mut ticks: Vec<(f64, String)> = whole.map(|v| (v, count(v as u64))).collect();
    if last - first <= 9.0 {
        let all = first as u64..=last as u64;
        ticks = all.map(|v| (v as f64, v.to_string())).collect();
    }
    ticks
}

fn loss_label(value: f64) -> String {
    let decimals = (-value.log10()).ceil().max(0.0) as usize;
    fixed(value, decimals)
}
