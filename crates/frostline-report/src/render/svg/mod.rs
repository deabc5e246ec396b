//! Figures as SVG. Colour is never the only sign: every line, point, bar and field carries its name or number.

mod bars;
mod canvas;
mod heat;
mod lines;
mod scale;
mod scatter;
mod sets;
mod sheet;
mod style;

use crate::chart::{Chart, Figure};

pub(crate) use sheet::Frame;

/// A figure as a file.
pub(crate) fn draw(frame: Frame<'_>, figure: &Figure) -> String {
    match &figure.chart {
        Chart::Bars(bars) => bars::draw(frame, figure, bars),
        Chart::Lines(lines) => lines::draw(frame, figure, lines),
        Chart::Scatter(scatter) => scatter::draw(frame, figure, scatter),
        Chart::Heat(heat) => heat::draw(frame, figure, heat),
        Chart::Sets(sets) => sets::draw(frame, figure, sets),
    }
}
