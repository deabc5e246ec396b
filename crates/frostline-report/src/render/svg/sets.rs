//! Every set of blocks: its value above, its blocks as a pattern below. The pattern is the set's name.

use frostline_score::MeanStd;

use crate::chart::{BlockSetChart, Figure, SetPanel};
use crate::number::plus_minus;
use crate::render::svg::canvas::{Anchor, PartLabel, PointShape};
use crate::render::svg::scale::{Scale, Spacing, accuracy_range};
use crate::render::svg::sheet::{Area, Drawing, Frame, Sheet, TICK, notes};
use crate::render::svg::style::{COLOURS, GRID, INK, SOFT};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 240.0;
/// A block's row in the pattern.
const ROW: f64 = 15.0;
const NAMES: f64 = 62.0;
/// The most room of a set.
const WIDEST: f64 = 40.0;

/// Draws every set: its value above, its members as a pattern below.
pub(super) fn draw_sets(frame: Frame<'_>, figure: &Figure, sets: &BlockSetChart) -> Drawing {
    let titles: Vec<&str> = sets.panels.iter().map(|panel| panel.title.as_str()).collect();
    let most = sets.panels.iter().map(|panel| panel.blocks).max().unwrap_or(1) as f64;
    let size = (NAMES + WIDTH, 26.0 + HEIGHT + 12.0 + most * ROW + 60.0);
    let mut sheet = Sheet::new(frame, figure, &titles, size);
    let stats = || sets.panels.iter().flat_map(|panel| &panel.columns).map(|(_, stat)| stat);
    let std = |stat: &MeanStd| stat.std.unwrap_or(0.0);
    let low = stats().map(|stat| stat.mean - std(stat)).fold(1.0, f64::min);
    let high = stats().map(|stat| stat.mean + std(stat)).fold(0.0, f64::max);
    let (spacing, range) = accuracy_range(low, high);
    for (i, set_panel) in sets.panels.iter().enumerate() {
        let area = sheet.area(i);
        // Few sets take less room.
        let width = WIDTH.min(set_panel.columns.len() as f64 * WIDEST);
        let plot = Area { x: area.x + NAMES, y: area.y + 26.0, width, height: HEIGHT };
        let y = Scale::new(spacing, range, (plot.bottom(), plot.y));
        sheet.y_axis(plot, &y, sets.y_title, 100.0);
        draw_panel(&mut sheet, set_panel, plot, &y);
    }
    sheet.finish(notes(figure, Spacing::Even, (spacing, range)))
}

fn draw_panel(sheet: &mut Sheet, panel: &SetPanel, plot: Area, y: &Scale) {
    let columns = &panel.columns;
    let step = plot.width / columns.len() as f64;
    let x = |column: usize| plot.x + (column as f64 + 0.5) * step;
    let pattern = plot.bottom() + 12.0;
    let foot = pattern + panel.blocks as f64 * ROW;
    if let Some((_, free)) = columns.first() {
        let level = y.at(free.mean);
        sheet.svg.polyline(&[(plot.x, level), (plot.right(), level)], INK, 1.2, "5 3");
    }
    for (column, (set, stat)) in columns.iter().enumerate() {
        let at = x(column);
        if let Some(std) = stat.std {
            let ends = (y.at(stat.mean - std), y.at((stat.mean + std).min(1.0)));
            sheet.svg.line((at, ends.0), (at, ends.1), SOFT, 1.0);
        }
        let radius = (step * 0.42).clamp(1.6, 4.5);
        let place = (at, y.at(stat.mean));
        sheet.svg.mark_showing(
            PointShape::Circle,
            place,
            radius,
            COLOURS[0],
            Some(&set_label(panel, *set, *stat)),
        );
        let width = (step * 0.78).min(11.0);
        for block in 0..panel.blocks {
            let top = pattern + (panel.blocks - 1 - block) as f64 * ROW + 1.5;
            let colour = if set >> block & 1 == 1 { INK } else { GRID };
            sheet.svg.rect((at - width / 2.0, top), (width, ROW - 3.0), colour, 1.0);
        }
    }
    for block in 0..panel.blocks {
        let middle = pattern + (panel.blocks - 1 - block) as f64 * ROW + ROW / 2.0;
        let name = format!("block {block}");
        sheet.svg.text(plot.x - 7.0, middle + 4.0, &name, TICK.anchor(Anchor::End));
    }
    draw_sizes(sheet, panel, plot, (step, foot));
}

/// The value of a set, with its blocks.
fn set_label(panel: &SetPanel, set: usize, stat: MeanStd) -> PartLabel {
    let blocks = (0..panel.blocks).filter(|block| set >> block & 1 == 1).map(|block| block.to_string());
    let blocks = blocks.collect::<Vec<_>>().join(", ");
    let frozen = if blocks.is_empty() { "no block frozen".into() } else { format!("blocks {blocks} frozen") };
    let value = stat.times(100.0);
    PartLabel { value: format!("{:.2}", value.mean), words: format!("{frozen}: {} %", plus_minus(value, 2)) }
}

/// Under the pattern, how many blocks are frozen, with a line between one size and the next.
fn draw_sizes(sheet: &mut Sheet, panel: &SetPanel, plot: Area, (step, foot): (f64, f64)) {
    let mut start = 0;
    for size in 0..=panel.blocks {
        let count = panel.columns.iter().filter(|(set, _)| set.count_ones() as usize == size).count();
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
