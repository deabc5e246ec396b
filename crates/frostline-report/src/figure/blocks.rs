//! Owns the figure of what freezing each block costs.
//!
//! Refuses an axis without its zero: these bars can point both ways.

use crate::Report;
use crate::figure::accuracy::thin;
use crate::figure::scale::{Scale, Spacing, tick_decimals};
use crate::figure::sheet::{Area, LABEL, Sheet, TICK};
use crate::figure::svg::{Anchor, Shape};
use crate::figure::{COLOURS, Figure, GRID, INK};
use crate::number::{fixed, signed};
use crate::subsets::{BlockWorth, Lattice, lattices};
use crate::words;

const ROW: f64 = 30.0;
const LEGEND: f64 = 28.0;
/// Room for names at the left and numbers at the right.
const NAMES: f64 = 86.0;
const NUMBER: f64 = 64.0;
const PLOT: f64 = 300.0;

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let lattices = lattices(report);
    let titles: Vec<String> = lattices.iter().map(|lattice| title(report, lattice)).collect();
    let most = lattices.iter().map(|lattice| lattice.blocks).max().unwrap_or(1) as f64;
    let size = (NAMES + PLOT + NUMBER, LEGEND + most * ROW + 70.0);
    let mut sheet = Sheet::titled(report, figure, &titles, size, 2);
    let worths: Vec<Vec<BlockWorth>> =
        lattices.iter().map(|lattice| lattice.worths(&report.sentence_errors)).collect();
    let range = range(worths.iter().flatten());
    for (i, worths) in worths.iter().enumerate() {
        let area = sheet.area(i);
        legend(&mut sheet, area, worths.iter().any(|worth| worth.interval.is_some()));
        let rows = worths.len() as f64 * ROW;
        panel(&mut sheet, worths, area.inside(LEGEND, NUMBER, area.height - LEGEND - rows, NAMES), range);
    }
    let mut notes = vec![
        "Bar and number: the Shapley value, in points of dev accuracy. The bars of a panel sum to what freezing \
         all blocks costs. Diamond: accuracy with the block free minus frozen."
            .to_string(),
    ];
    if let Some(over) = worths.iter().flatten().find_map(|worth| worth.error_over) {
        let of_dev = if over == "sentences" { " of dev" } else { "" };
        notes.push(format!("Thin line: 95 % interval over {over}{of_dev}."));
    }
    sheet.finish(&notes)
}

/// A panel's title: the language and the further axes.
pub(super) fn title(report: &Report, lattice: &Lattice<'_>) -> String {
    let extras = words::extras_name(report, &lattice.extras);
    if extras.is_empty() { report.lang_title(&lattice.lang) } else { format!("{}, {extras}", lattice.lang) }
}

fn legend(sheet: &mut Sheet, area: Area, intervals: bool) {
    let y = area.y + 6.0;
    sheet.svg.mark(Shape::Diamond, (area.x + 6.0, y), 5.0, INK);
    sheet.svg.text(area.x + 18.0, y + 4.0, "in a linear model", TICK);
    if intervals {
        thin(sheet, (area.x + 150.0, area.x + 174.0), y);
        sheet.svg.text(area.x + 180.0, y + 4.0, "95 % interval", TICK);
    }
}

/// From the lowest to the highest that is drawn, zero included, in points.
fn range<'a>(worths: impl Iterator<Item = &'a BlockWorth>) -> (f64, f64) {
    let ends = worths.flat_map(|worth| {
        let [low, high] = worth.interval.unwrap_or([worth.shapley_loss; 2]);
        [low, high, worth.regression_loss]
    });
    ends.fold((0.0, 0.0), |(low, high), end: f64| (low.min(end * 100.0), high.max(end * 100.0)))
}

/// The block nearest the head stands on top, as in drawings of encoders.
fn panel(sheet: &mut Sheet, worths: &[BlockWorth], plot: Area, range: (f64, f64)) {
    let scale = Scale::new(Spacing::Even, range, (plot.x, plot.right()));
    let values = scale.ticks(46.0);
    for &value in &values {
        let colour = if value.abs() < 1e-9 { INK } else { GRID };
        sheet.svg.line((scale.at(value), plot.y), (scale.at(value), plot.bottom()), colour, 1.0);
    }
    let zero = scale.at(0.0);
    for (row, worth) in worths.iter().rev().enumerate() {
        let middle = plot.y + (row as f64 + 0.5) * ROW;
        let end = scale.at(worth.shapley_loss * 100.0);
        let (from, width) = (zero.min(end), (end - zero).abs());
        sheet.svg.rect((from, middle - ROW * 0.3), (width, ROW * 0.6), COLOURS[0], 0.5);
        let mut reach = zero.max(end);
        if let Some([low, high]) = worth.interval {
            let ends = (scale.at(low * 100.0), scale.at(high * 100.0));
            thin(sheet, ends, middle);
            reach = reach.max(ends.1);
        }
        let linear = scale.at(worth.regression_loss * 100.0);
        sheet.svg.mark(Shape::Diamond, (linear, middle), 4.5, INK);
        reach = reach.max(linear + 5.0);
        sheet.svg.text(reach + 8.0, middle + 4.5, &signed(worth.shapley_loss * 100.0, 2), LABEL);
        let name = format!("block {}", worth.block);
        sheet.svg.text(plot.x - 10.0, middle + 4.5, &name, LABEL.anchor(Anchor::End));
    }
    let decimals = tick_decimals(&values);
    let ticks: Vec<(f64, String)> = values.iter().map(|&v| (v, fixed(v, decimals))).collect();
    sheet.x_axis(plot, &scale, &ticks, "lost by freezing it, points of dev accuracy");
}
