//! Owns the figures of something over time: dev accuracy by epoch, train loss by step.
//!
//! Refuses a legend: every line ends in its name.

use crate::Report;
use crate::figure::scale::{Scale, Spacing, nice_step};
use crate::figure::sheet::{Area, LABEL, NAMED, Panel, Sheet, named, panels, spread, unnamed_note, widest};
use crate::figure::{Figure, SOFT, Style, UNNAMED, style};
use crate::number::{count, fixed};
use crate::summary::Group;
use crate::words;
use frostline_score::MeanStd;

const SIZE: (f64, f64) = (330.0, 360.0);
/// Height of a line's name.
const NAME: f64 = 17.0;
/// Length of the piece of line beside its name.
const SAMPLE: f64 = 22.0;

/// One line: its name where it has one, its look, and a statistic at each place.
struct Series {
    name: Option<String>,
    style: Style,
    points: Vec<(f64, MeanStd)>,
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
    let mut notes = vec![accuracy_note(spacing, range)];
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
        y_title: match words::units(report) {
            words::SENTENCES => "train loss, nats per sentence",
            _ => "train loss, nats per word",
        },
        x_title: "optimiser step",
        marks: false,
        bands: false,
    };
    let notes = ["The vertical axis is logarithmic: equal steps are equal factors. Dropout is on, so the \
         loss lies above that of a finished model on the same {}."
        .replace("{}", words::units(report).many)];
    draw(report, figure, &look, &series, loss_label, &notes)
}

fn draw(
    report: &Report,
    figure: &Figure,
    look: &Look,
    series: &dyn Fn(&Group) -> Vec<(f64, MeanStd)>,
    label: impl Fn(f64) -> String,
    notes: &[String],
) -> String {
    let panels = panels(report);
    let names = widest(report.policies().into_iter());
    let most = panels.iter().map(|panel| panel.groups.len()).max().unwrap_or(0).min(NAMED);
    let height = SIZE.1.max(most as f64 * NAME + 110.0);
    let sample = if look.marks { 0.0 } else { SAMPLE - 11.0 };
    let mut sheet = Sheet::new(report, figure, &panels, (SIZE.0 + names + sample, height));
    for (i, panel) in panels.iter().enumerate() {
        let plot = sheet.area(i).inside(26.0, names + sample + 32.0, 46.0, 44.0);
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
    let mut notes = notes.to_vec();
    notes.extend(unnamed_note(&panels));
    sheet.finish(&notes)
}

fn lines(report: &Report, panel: &Panel<'_>, series: &dyn Fn(&Group) -> Vec<(f64, MeanStd)>) -> Vec<Series> {
    let lines = panel.groups.iter().filter_map(|group| {
        let mut points = series(group);
        points.retain(|(_, stat)| stat.mean.is_finite());
        let end = points.last()?.1.mean;
        Some((group, points, end))
    });
    let lines: Vec<_> = lines.collect();
    let ends: Vec<(&str, f64)> = lines.iter().map(|(group, _, end)| (group.policy.as_str(), *end)).collect();
    let named = named(&ends);
    let lines = lines.into_iter().zip(named);
    lines
        .map(|((group, points, _), named)| Series {
            name: named.then(|| group.policy.clone()),
            style: if named { style(report, &group.policy) } else { UNNAMED },
            points,
        })
        .collect()
}

fn draw_lines(sheet: &mut Sheet, look: &Look, plot: Area, lines: &[Series], x: &Scale, y: &Scale) {
    for line in lines.iter().filter(|line| look.bands && line.name.is_some()) {
        band(sheet, line, x, y);
    }
    // The first policies of a plan are the ones that others are compared with: they come last, on
    // top, and lines without a name come first.
    let mut order: Vec<&Series> = lines.iter().rev().collect();
    order.sort_by_key(|line| line.name.is_some());
    for line in order {
        let places: Vec<(f64, f64)> =
            line.points.iter().map(|(at, stat)| (x.at(*at), y.at(stat.mean))).collect();
        sheet.svg.polyline(&places, line.style.colour, 1.8, line.style.dash);
        let marks = look.marks && line.name.is_some() || places.len() == 1;
        for place in places.iter().filter(|_| marks) {
            sheet.svg.mark(line.style.shape, *place, 4.0, line.style.colour);
        }
    }
    names(sheet, look, plot, lines, x, y);
}

/// Every line's name at its end, moved apart where lines end close together.
fn names(sheet: &mut Sheet, look: &Look, plot: Area, lines: &[Series], x: &Scale, y: &Scale) {
    let ends: Vec<(&Series, &str, (f64, f64))> = lines
        .iter()
        .filter_map(|line| {
            let (at, stat) = line.points.last()?;
            Some((line, line.name.as_deref()?, (x.at(*at), y.at(stat.mean))))
        })
        .collect();
    let heights: Vec<f64> = ends.iter().map(|(_, _, end)| end.1).collect();
    let places = spread(&heights, NAME, plot.y + 2.0, plot.bottom() - 2.0);
    for ((line, name, end), place) in ends.iter().zip(places) {
        let left = plot.right() + 16.0;
        sheet.svg.line((end.0 + 6.0, end.1), (left, place), SOFT, 0.7);
        let style = line.style;
        if look.marks {
            sheet.svg.mark(style.shape, (left + 6.0, place), 4.0, style.colour);
        } else {
            let sample = [(left + 1.0, place), (left + SAMPLE - 3.0, place)];
            sheet.svg.polyline(&sample, style.colour, 2.4, style.dash);
        }
        let sample = if look.marks { 14.0 } else { SAMPLE + 3.0 };
        sheet.svg.text(left + sample, place + 4.5, name, LABEL);
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
fn range(report: &Report, series: &dyn Fn(&Group) -> Vec<(f64, MeanStd)>, bands: bool) -> (f64, f64) {
    let stats: Vec<MeanStd> =
        report.groups.iter().flat_map(|group| series(group).into_iter().map(|(_, stat)| stat)).collect();
    let std = |stat: &MeanStd| if bands { stat.std.unwrap_or(0.0) } else { 0.0 };
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
pub(super) fn accuracy_note(spacing: Spacing, range: (f64, f64)) -> String {
    let start = if range.0 > 0.0 {
        "The vertical axis does not start at 0."
    } else {
        "The vertical axis starts at 0."
    };
    let stretch = match spacing {
        Spacing::Missing => {
            " It is stretched towards 100 %: equal steps divide the number of errors by equal factors."
        }
        _ => "",
    };
    format!("{start}{stretch}")
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
