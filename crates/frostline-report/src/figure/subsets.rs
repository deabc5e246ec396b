//! Owns the figure of every set of frozen blocks: its accuracy above, its blocks as a pattern below.
//!
//! Refuses names of sets: the pattern is the name.

use crate::Report;
use crate::figure::blocks::title;
use crate::figure::lines::{accuracy_decimals, accuracy_note, accuracy_range};
use crate::figure::scale::Scale;
use crate::figure::sheet::{Area, Sheet, TICK};
use crate::figure::svg::{Anchor, Shape};
use crate::figure::{COLOURS, Figure, GRID, INK, SOFT};
use crate::number::fixed;
use crate::subsets::{Lattice, lattices};
use frostline_score::MeanStd;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
/// A block's row in the pattern.
const ROW: f64 = 15.0;
const NAMES: f64 = 62.0;
/// The most room of a set.
const WIDEST: f64 = 40.0;

pub(super) fn draw(report: &Report, figure: &Figure) -> String {
    let lattices = lattices(report);
    let titles: Vec<String> = lattices.iter().map(|lattice| title(report, lattice)).collect();
    let most = lattices.iter().map(|lattice| lattice.blocks).max().unwrap_or(1) as f64;
    let size = (NAMES + WIDTH, 26.0 + HEIGHT + 12.0 + most * ROW + 60.0);
    let mut sheet = Sheet::titled(report, figure, &titles, size, 1);
    let columns: Vec<Vec<(usize, MeanStd)>> = lattices.iter().map(columns).collect();
    let stats = || columns.iter().flatten().map(|(_, stat)| stat);
    let std = |stat: &MeanStd| stat.std.unwrap_or(0.0);
    let low = stats().map(|stat| stat.mean - std(stat)).fold(1.0, f64::min);
    let high = stats().map(|stat| stat.mean + std(stat)).fold(0.0, f64::max);
    let (spacing, range) = accuracy_range(low, high);
    for (i, (lattice, columns)) in lattices.iter().zip(&columns).enumerate() {
        let area = sheet.area(i);
        // Few sets take less room.
        let width = WIDTH.min(columns.len() as f64 * WIDEST);
        let plot = Area { x: area.x + NAMES, y: area.y + 26.0, width, height: HEIGHT };
        let y = Scale::new(spacing, range, (plot.bottom(), plot.y));
        let label = |value: f64| fixed(value * 100.0, accuracy_decimals(value, spacing, range));
        sheet.y_axis(plot, &y, "dev accuracy, %", label);
        panel(&mut sheet, lattice, columns, plot, &y);
    }
    let mut notes = vec![
        "A column is a set of frozen blocks. The dashed line is the accuracy with none frozen.".to_string(),
        accuracy_note(spacing, range),
    ];
    if lattices.iter().any(|lattice| lattice.seeds() > 1) {
        notes.insert(1, "Vertical line: one standard deviation over seeds.".into());
    }
    sheet.finish(&notes)
}

/// Sets with their accuracies, by how many blocks they have, the most accurate of a size first.
fn columns(lattice: &Lattice<'_>) -> Vec<(usize, MeanStd)> {
    let all = (0..lattice.sets()).filter_map(|set| Some((set, lattice.accuracy(set)?)));
    let mut all: Vec<(usize, MeanStd)> = all.collect();
    all.sort_by(|(a, one), (b, other)| {
        a.count_ones().cmp(&b.count_ones()).then(other.mean.total_cmp(&one.mean)).then(a.cmp(b))
    });
    all
}

fn panel(sheet: &mut Sheet, lattice: &Lattice<'_>, columns: &[(usize, MeanStd)], plot: Area, y: &Scale) {
    let step = plot.width / columns.len() as f64;
    let x = |column: usize| plot.x + (column as f64 + 0.5) * step;
    let pattern = plot.bottom() + 12.0;
    let foot = pattern + lattice.blocks as f64 * ROW;
    if let Some((_, free)) = columns.first() {
        let level = y.at(free.mean);
        sheet.svg.polyline(&[(plot.x, level), (plot.right(), level)], INK, 1.2, "5 3");
    }
    for (column, (set, stat)) in columns.iter().enumerate() {
        let at = x(column);
        if let Some(std) = stat.std {
            sheet.svg.line((at, y.at(stat.mean - std)), (at, y.at(stat.mean + std)), SOFT, 1.0);
        }
        let radius = (step * 0.42).clamp(1.6, 4.5);
        sheet.svg.mark(Shape::Circle, (at, y.at(stat.mean)), radius, COLOURS[0]);
        let width = (step * 0.78).min(11.0);
        for block in 0..lattice.blocks {
            let top = pattern + (lattice.blocks - 1 - block) as f64 * ROW + 1.5;
            let colour = if set >> block & 1 == 1 { INK } else { GRID };
            sheet.svg.rect((at - width / 2.0, top), (width, ROW - 3.0), colour, 1.0);
        }
    }
    for block in 0..lattice.blocks {
        let middle = pattern + (lattice.blocks - 1 - block) as f64 * ROW + ROW / 2.0;
        let name = format!("block {block}");
        sheet.svg.text(plot.x - 7.0, middle + 4.0, &name, TICK.anchor(Anchor::End));
    }
    sizes(sheet, lattice, columns, plot, (step, foot));
}

/// Under the pattern, how many blocks are frozen, with a line between one size and the next.
fn sizes(
    sheet: &mut Sheet,
    lattice: &Lattice<'_>,
    columns: &[(usize, MeanStd)],
    plot: Area,
    (step, foot): (f64, f64),
) {
    let mut start = 0;
    for size in 0..=lattice.blocks {
        let count = columns.iter().filter(|(set, _)| set.count_ones() as usize == size).count();
        let (from, to) = (plot.x + start as f64 * step, plot.x + (start + count) as f64 * step);
        if start > 0 {
            sheet.svg.line((from, plot.y), (from, foot + 8.0), SOFT, 0.6);
        }
        sheet.svg.text((from + to) / 2.0, foot + 17.0, &size.to_string(), TICK.anchor(Anchor::Middle));
        start += count;
    }
    let middle = plot.x + plot.width / 2.0;
    sheet.svg.text(middle, foot + 36.0, "frozen blocks", TICK.anchor(Anchor::Middle));
}
