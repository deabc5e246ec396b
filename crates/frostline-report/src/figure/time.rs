//! Owns the figure of where a cell's time goes: one bar per policy, in three parts.
//!
//! Refuses to count loading or evaluation as training.

use crate::Report;
use crate::figure::scale::{Scale, Spacing, tick_decimals};
use crate::figure::sheet::{Area, LABEL, Panel, Sheet, TICK, panels, row_height, widest};
use crate::figure::svg::{Anchor, Type, text_width};
use crate::figure::{Figure, GRID, INK};
use crate::number::{decimals, fixed};
use crate::prefix::PrefixStats;
use crate::summary::Times;

/// Room for a number at the right of a bar.
const NUMBER: f64 = 84.0;
const PLOT: f64 = 270.0;
/// The legend's height above a plot.
const LEGEND: f64 = 28.0;

const INSIDE: Type = Type::new(13.0, "#FFFFFF").bold();

/// The parts of a bar from left to right: name, colour (from the palette of Okabe and Ito), time.
type Part = (&'static str, &'static str, fn(&Times) -> f64);
const PARTS: [Part; 3] = [
    ("training", "#0072B2", |times| times.train_s.mean),
    ("evaluation", "#E69F00", |times| times.eval_s.mean),
    ("loading", "#999999", |times| times.load_s.mean + times.prefix_s.mean),
];

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let panels = panels(report);
    let row = row_height(&panels);
    let rows = panels.iter().map(|panel| panel.groups.len()).max();
    let height = LEGEND + rows.unwrap_or(1) as f64 * row + 70.0;
    let names = widest(report.policies().into_iter());
    let size = (names + 10.0 + PLOT + NUMBER, height);
    let mut sheet = Sheet::new(report, figure, &panels, size);
    let most = report.groups.iter().filter_map(|group| group.times.as_ref());
    let most = most.map(total).fold(0.0, f64::max);
    let (unit, unit_name) = unit(most);
    for (i, panel) in panels.iter().enumerate() {
        let area = sheet.area(i);
        legend(&mut sheet, area);
        let rows = panel.groups.len() as f64 * row;
        let plot = area.inside(LEGEND, NUMBER, area.height - LEGEND - rows, names + 10.0);
        draw_panel(&mut sheet, panel, plot, most / unit, (unit, unit_name), row);
    }
    let mut note =
        "In a bar: training time. After it: the sum of its parts. Means over seeds of one cell.".to_string();
    if report.groups.iter().any(|group| group.prefix.as_ref().is_some_and(PrefixStats::was_read)) {
        note += " Loading holds computing a constant prefix.";
    }
    if report.groups.iter().any(|group| group.seeds_done > 1) {
        note += " The black line is one standard deviation of the training time to either side.";
    }
    sheet.finish(&[note])
}

fn legend(sheet: &mut Sheet, area: Area) {
    let mut x = area.x;
    for (name, colour, _) in PARTS {
        sheet.svg.rect((x, area.y - 1.0), (12.0, 12.0), colour, 1.0);
        sheet.svg.text(x + 17.0, area.y + 9.5, name, TICK);
        x += 17.0 + text_width(name, TICK.size) + 16.0;
    }
}

fn draw_panel(
    sheet: &mut Sheet,
    panel: &Panel<'_>,
    plot: Area,
    most: f64,
    (unit, unit_name): (f64, &str),
    row: f64,
) {
    let scale = Scale::new(Spacing::Even, (0.0, most), (plot.x, plot.right()));
    let values = scale.ticks(50.0);
    let places = tick_decimals(&values);
    for &value in &values {
        let x = scale.at(value);
        sheet.svg.line((x, plot.y), (x, plot.bottom()), GRID, 1.0);
    }
    for (i, group) in panel.groups.iter().enumerate() {
        let middle = plot.y + (i as f64 + 0.5) * row;
        let name = LABEL.anchor(Anchor::End);
        sheet.svg.text(plot.x - 10.0, middle + 4.5, &group.policy, name);
        match &group.times {
            Some(times) => bar(sheet, times, &scale, (middle, row * 0.6), (unit, unit_name)),
            None => sheet.svg.text(plot.x + 8.0, middle + 4.5, "no result", TICK),
        }
    }
    let ticks: Vec<(f64, String)> = values.iter().map(|&v| (v, fixed(v, places))).collect();
    sheet.x_axis(plot, &scale, &ticks, &format!("time of one cell, {unit_name}"));
}

fn bar(
    sheet: &mut Sheet,
    times: &Times,
    scale: &Scale,
    (middle, height): (f64, f64),
    (unit, name): (f64, &str),
) {
    let mut end = 0.0;
    for (_, colour, get) in PARTS {
        let (from, to) = (scale.at(end / unit), scale.at((end + get(times)) / unit));
        let corner = (from, middle - height / 2.0);
        sheet.svg.rect(corner, (to - from, height), colour, 1.0);
        end += get(times);
    }
    let train = times.train_s.times(1.0 / unit);
    let shown = |value: f64| format!("{} {name}", fixed(value, decimals(value)));
    let (start, trained) = (scale.at(0.0), scale.at(train.mean));
    let label = shown(train.mean);
    if trained - start > text_width(&label, INSIDE.size) + 16.0 {
        sheet.svg.text(start + 8.0, middle + 4.5, &label, INSIDE);
    }
    let mut reach = scale.at(end / unit);
    if let Some(std) = train.std {
        let half = ((scale.at(train.mean + std) - trained).abs()).max(0.9);
        sheet.svg.rect((trained - half, middle - 3.0), (2.0 * half, 6.0), INK, 1.0);
        reach = reach.max(trained + half);
    }
    sheet.svg.text(reach + 8.0, middle + 4.5, &shown(end / unit), LABEL);
}

fn total(times: &Times) -> f64 {
    PARTS.iter().map(|(_, _, get)| get(times)).sum()
}

/// The unit in which the longest bar has a readable length.
fn unit(most_s: f64) -> (f64, &'static str) {
    if most_s >= 3.0 * 3600.0 {
        (3600.0, "h")
    } else if most_s >= 600.0 {
        (60.0, "min")
    } else {
        (1.0, "s")
    }
}
