//! Owns the figure of learning curves.
//!
//! Refuses a legend: every line ends in its name.

use crate::Report;
use crate::curves::{self, Curve, Curves};
use crate::figure::lines::{accuracy_decimals, accuracy_note, accuracy_range};
use crate::figure::scale::{Scale, Spacing};
use crate::figure::sheet::{Area, LABEL, Sheet, spread, widest};
use crate::figure::svg::Shape;
use crate::figure::{Figure, SOFT, Style, style};
use crate::number::{count, fixed};
use frostline_score::MeanStd;

const SIZE: (f64, f64) = (360.0, 360.0);
/// Height of a line's name, and room for the piece of line beside it.
const NAME: f64 = 17.0;
const SAMPLE: f64 = 20.0;

/// How baselines look: grey, the first dotted, the second dashed.
const BASELINES: [Style; 2] = [
    Style { colour: SOFT, dash: "2 3", shape: Shape::Circle },
    Style { colour: SOFT, dash: "7 3", shape: Shape::Circle },
];

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let all = curves::of(report);
    let titles: Vec<String> = all.iter().map(|curves| title(report, curves)).collect();
    let lines = |curves: &Curves| curves.policies.len() + curves.baselines.len();
    let every = || all.iter().flat_map(|curves| curves.policies.iter().chain(&curves.baselines));
    let names = widest(every().map(|curve| curve.name.as_str())) + SAMPLE;
    let most = all.iter().map(lines).max().unwrap_or(0) as f64;
    let size = (SIZE.0 + names, SIZE.1.max(most * NAME + 110.0));
    let mut sheet = Sheet::titled(report, figure, &titles, size, report.langs().len());
    let stats = || every().flat_map(|curve| curve.points.iter().map(|point| point.dev));
    let low = stats().map(|stat| stat.mean - stat.std.unwrap_or(0.0)).fold(1.0, f64::min);
    // On an axis stretched towards 100 % a deviation that reaches it would take all the room.
    let above = |stat: MeanStd| stat.std.unwrap_or(0.0).min((1.0 - stat.mean) / 2.0);
    let high = stats().map(|stat| stat.mean + above(stat)).fold(0.0, f64::max);
    let (spacing, range) = accuracy_range(low, high);
    for (i, curves) in all.iter().enumerate() {
        let plot = sheet.area(i).inside(26.0, names + 32.0, 46.0, 44.0);
        let sizes = curves.sizes();
        let ends = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
        let x = Scale::new(Spacing::Log, ends, (plot.x + 10.0, plot.right()));
        let y = Scale::new(spacing, range, (plot.bottom(), plot.y));
        let label = |value: f64| fixed(value * 100.0, accuracy_decimals(value, spacing, range));
        sheet.y_axis(plot, &y, "dev accuracy, %", label);
        sheet.x_axis(plot, &x, &ticks(&sizes, &x), "train sentences");
        let own = |curve: &Curve| style(report, &curve.name);
        let policies = curves.policies.iter().map(|curve| (curve, own(curve)));
        let lines: Vec<(&Curve, Style)> = curves.baselines.iter().zip(BASELINES).chain(policies).collect();
        for line in lines.iter().rev() {
            draw_line(&mut sheet, line, &x, &y);
        }
        name_lines(&mut sheet, plot, &lines, &x, &y);
    }
    let mut notes = vec![
        "The horizontal axis is logarithmic: equal steps are equal factors.".to_string(),
        accuracy_note(spacing, range),
    ];
    if stats().any(|stat| stat.std.is_some()) {
        notes.push("Point: mean. Vertical line: one standard deviation over seeds and draws.".into());
    }
    sheet.finish(&notes)
}

fn title(report: &Report, curves: &Curves) -> String {
    let mut parts = vec![report.lang_title(&curves.lang)];
    parts.extend(curves.others.iter().cloned());
    parts.join(", ")
}

/// The sizes that were run, those that would overlap left away from the smallest up.
fn ticks(sizes: &[u64], x: &Scale) -> Vec<(f64, String)> {
    let mut kept: Vec<(f64, String)> = Vec::new();
    for &size in sizes.iter().rev() {
        let place = x.at(size as f64);
        if kept.iter().all(|(other, _)| (x.at(*other) - place).abs() >= 40.0) {
            kept.push((size as f64, count(size)));
        }
    }
    kept
}

fn draw_line(sheet: &mut Sheet, (curve, style): &(&Curve, Style), x: &Scale, y: &Scale) {
    let at = |sentences: u64| x.at(sentences as f64);
    for point in &curve.points {
        if let Some(std) = point.dev.std {
            let ends = (y.at(point.dev.mean - std), y.at(point.dev.mean + std));
            sheet.svg.line((at(point.sentences), ends.0), (at(point.sentences), ends.1), style.colour, 1.2);
        }
    }
    let places: Vec<(f64, f64)> =
        curve.points.iter().map(|point| (at(point.sentences), y.at(point.dev.mean))).collect();
    sheet.svg.polyline(&places, style.colour, 1.8, style.dash);
    for place in places {
        sheet.svg.mark(style.shape, place, 4.0, style.colour);
    }
}

/// Every line's name at its end, moved apart where lines end close together.
fn name_lines(sheet: &mut Sheet, plot: Area, lines: &[(&Curve, Style)], x: &Scale, y: &Scale) {
    let ends: Vec<(f64, f64)> = lines
        .iter()
        .filter_map(|(curve, _)| curve.points.last())
        .map(|point| (x.at(point.sentences as f64), y.at(point.dev.mean)))
        .collect();
    let heights: Vec<f64> = ends.iter().map(|end| end.1).collect();
    let places = spread(&heights, NAME, plot.y + 2.0, plot.bottom() - 2.0);
    for (((curve, style), end), place) in lines.iter().zip(&ends).zip(places) {
        let left = plot.right() + 14.0;
        sheet.svg.line((end.0 + 6.0, end.1), (left, place), SOFT, 0.7);
        sheet.svg.polyline(
            &[(left + 1.0, place), (left + SAMPLE - 3.0, place)],
            style.colour,
            2.0,
            style.dash,
        );
        sheet.svg.mark(style.shape, (left + SAMPLE / 2.0 - 1.0, place), 3.5, style.colour);
        sheet.svg.text(left + SAMPLE + 2.0, place + 4.5, &curve.name, LABEL);
    }
}
