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

use crate::chart::{Chart, Figure, Tone};

use crate::study::BASELINE;

pub(crate) use sheet::{Drawing, Frame};

/// A figure with how it was drawn.
pub(crate) type Drawn = (Figure, Drawing);

/// Draws figures, for files and for a page.
pub(crate) fn draw_figures(frame: Frame<'_>, figures: impl IntoIterator<Item = Figure>) -> Vec<Drawn> {
    let draw = |figure: Figure| {
        let drawing = match &figure.chart {
            Chart::Bars(bars) => bars::draw_bars(frame, &figure, bars),
            Chart::Lines(lines) => lines::draw_line_chart(frame, &figure, lines),
            Chart::Scatter(scatter) => scatter::draw_scatter(frame, &figure, scatter),
            Chart::Heat(heat) => heat::draw_heat(frame, &figure, heat),
            Chart::Sets(sets) => sets::draw_sets(frame, &figure, sets),
        };
        (figure, drawing)
    };
    figures.into_iter().map(draw).collect()
}

/// Draws the sign of one of these policies, which figures mark it with.
pub(crate) fn draw_swatch(policies: &[&str], name: &str) -> String {
    let place = policies.iter().filter(|policy| **policy != BASELINE).position(|policy| *policy == name);
    let look = style::tone_style(Tone::Policy(place));
    let mut svg = canvas::Svg::default();
    svg.mark(look.shape, (6.0, 6.0), 4.2, look.colour);
    format!("<svg class=swatch width=12 height=12 aria-hidden=true>{}</svg>", svg.take().trim_end())
}
