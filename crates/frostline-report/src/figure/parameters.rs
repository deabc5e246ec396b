//! Owns the figure of accuracy against the number of parameters that learn.
//!
//! Refuses names that cover points or each other: they move, with a line to their point.

use crate::Report;
use crate::figure::lines::{accuracy_decimals, accuracy_note, accuracy_range};
use crate::figure::scale::{Scale, Spacing, tick_decimals};
use crate::figure::sheet::{Area, LABEL, Panel, Sheet, panels, widest};
use crate::figure::svg::{Anchor, text_width};
use crate::figure::{Figure, SOFT, Style, style};
use crate::number::fixed;

const SIZE: (f64, f64) = (400.0, 350.0);

/// A point with its name and whisker, in pixels.
struct Point {
    name: String,
    style: Style,
    at: (f64, f64),
    whisker: Option<(f64, f64)>,
}

/// A rectangle that is taken: left, top, right, bottom.
type Taken = (f64, f64, f64, f64);

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let panels = panels(report);
    let splits = || report.groups.iter().filter_map(|group| group.dev.as_ref());
    let lows = splits().map(|dev| dev.accuracy_interval.map_or(dev.accuracy.mean, |i| i.low));
    let highs = splits().map(|dev| dev.accuracy_interval.map_or(dev.accuracy.mean, |i| i.high));
    let (spacing, range) = accuracy_range(lows.fold(1.0, f64::min), highs.fold(0.0, f64::max));
    let most = report.groups.iter().filter_map(|g| g.parameters.as_ref());
    let most = most.map(|p| p.trainable).max().unwrap_or(1).max(1) as f64;
    let (unit, unit_name) = unit(most);
    let mut sheet = Sheet::new(report, figure, &panels, SIZE);
    let names = widest(report.policies().into_iter());
    for (i, panel) in panels.iter().enumerate() {
        let plot = sheet.area(i).inside(26.0, 16.0, 46.0, 44.0);
        let x = Scale::new(Spacing::Even, (0.0, most / unit * 1.04), (plot.x, plot.right()));
        let y = Scale::new(spacing, range, (plot.bottom(), plot.y));
        sheet.y_axis(plot, &y, "dev accuracy, %", |value| {
            fixed(value * 100.0, accuracy_decimals(value, spacing, range))
        });
        let values = x.ticks(50.0);
        let decimals = tick_decimals(&values);
        let ticks: Vec<(f64, String)> = values.iter().map(|&v| (v, fixed(v, decimals))).collect();
        let title = format!("trainable parameters{unit_name}");
        sheet.x_axis(plot, &x, &ticks, &title);
        let points = points(report, panel, unit, &x, &y);
        draw_points(&mut sheet, plot, &points, names);
    }
    sheet.finish(&[
        "Whisker: 95 % Wilson interval at the size of dev; points whose whiskers overlap may \
         differ by chance."
            .into(),
        accuracy_note(spacing),
    ])
}

fn points(report: &Report, panel: &Panel<'_>, unit: f64, x: &Scale, y: &Scale) -> Vec<Point> {
    panel
        .groups
        .iter()
        .filter_map(|group| {
            let dev = group.dev.as_ref()?;
            let trainable = group.parameters.as_ref()?.trainable as f64;
            Some(Point {
                name: group.policy.clone(),
                style: style(report, &group.policy),
                at: (x.at(trainable / unit), y.at(dev.accuracy.mean)),
                whisker: dev.accuracy_interval.map(|i| (y.at(i.low), y.at(i.high))),
            })
        })
        .collect()
}

fn draw_points(sheet: &mut Sheet, plot: Area, points: &[Point], _names: f64) {
    let mut taken: Vec<Taken> = Vec::new();
    for point in points {
        let (x, y) = point.at;
        if let Some((low, high)) = point.whisker {
            let colour = point.style.colour;
            sheet.svg.line((x, low), (x, high), colour, 1.4);
            for end in [low, high] {
                sheet.svg.line((x - 4.0, end), (x + 4.0, end), colour, 1.4);
            }
            taken.push((x - 5.0, high - 1.0, x + 5.0, low + 1.0));
        }
        taken.push((x - 6.0, y - 6.0, x + 6.0, y + 6.0));
    }
    for point in points {
        sheet.svg.mark(point.style.shape, point.at, 5.0, point.style.colour);
    }
    for point in points {
        let (at, anchor, rect, far) = place(point, plot, &taken);
        taken.push(rect);
        if far {
            let end = (at.0, at.1 - 4.5);
            let end = match anchor {
                Anchor::End => (end.0 + 3.0, end.1),
                _ => (end.0 - 3.0, end.1),
            };
            sheet.svg.line(point.at, end, SOFT, 0.7);
        }
        sheet.svg.text(at.0, at.1, &point.name, LABEL.anchor(anchor));
    }
}

/// The nearest free place for a point's name: beside it, else further and further up and down.
fn place(point: &Point, plot: Area, taken: &[Taken]) -> ((f64, f64), Anchor, Taken, bool) {
    let width = text_width(&point.name, LABEL.size);
    let (x, y) = point.at;
    let mut first = None;
    for ring in 0..14 {
        let off = 8.0 * f64::from(ring);
        let reach = if ring == 0 { 10.0 } else { 18.0 };
        for (dy, right) in [(off, true), (off, false), (-off, true), (-off, false)] {
            let (left, anchor) =
                if right { (x + reach, Anchor::Start) } else { (x - reach - width, Anchor::End) };
            let middle = y + dy;
            let rect = (left, middle - 8.0, left + width, middle + 8.0);
            let start = if right { left } else { left + width };
            let answer = ((start, middle + 4.5), anchor, rect, ring > 0);
            let inside = rect.0 >= plot.x + 2.0
                && rect.2 <= plot.right() + 16.0
                && rect.1 >= plot.y - 6.0
                && rect.3 <= plot.bottom();
            if inside && !taken.iter().any(|other| overlap(&rect, other)) {
                return answer;
            }
            first.get_or_insert(answer);
        }
    }
    first.expect("the loop above runs")
}

fn overlap(a: &Taken, b: &Taken) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

fn unit(most: f64) -> (f64, &'static str) {
    if most >= 2e6 {
        (1e6, ", millions")
    } else if most >= 2e3 {
        (1e3, ", thousands")
    } else {
        (1.0, "")
    }
}
