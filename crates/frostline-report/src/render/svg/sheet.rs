//! The frame of every figure: title, banner, panels side by side, notes.

use crate::chart::{Figure, Note};
use crate::render::svg::canvas::{Anchor, Lettering, Svg, text_width, wrapped};
use crate::render::svg::scale::{Scale, Spacing, accuracy_note, tick_labels};
use crate::render::svg::style::{GRID, INK, SOFT, WARN};

const MARGIN: f64 = 20.0;
const GAP: f64 = 28.0;
const TITLE: Lettering = Lettering::new(17.0, INK).bold();
const BANNER: Lettering = Lettering::new(13.0, WARN).bold();
const PANEL: Lettering = Lettering::new(14.0, INK).bold();
const NOTE: Lettering = Lettering::new(12.0, SOFT);
pub(super) const LABEL: Lettering = Lettering::new(13.0, INK);
pub(super) const TICK: Lettering = Lettering::new(12.0, SOFT);

/// What every figure of a report says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// The plan's name.
    pub name: &'a str,
    /// A banner for the picture, and the same for those who cannot see it.
    pub banner: Option<[&'a str; 2]>,
}

/// A part of the image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// What is left after margins: top, right, bottom, left.
    pub fn inside(&self, top: f64, right: f64, bottom: f64, left: f64) -> Self {
        Self {
            x: self.x + left,
            y: self.y + top,
            width: self.width - left - right,
            height: self.height - top - bottom,
        }
    }
}

/// How much wider bold letters are.
const BOLD: f64 = 1.08;

/// A figure under construction.
pub(super) struct Sheet {
    pub svg: Svg,
    areas: Vec<Area>,
    width: f64,
    bottom: f64,
    desc: String,
    title: &'static str,
}

impl Sheet {
    /// Lays out panels of these titles and writes them. Panels are wider than `size` where a title needs it.
    pub fn new(frame: Frame<'_>, figure: &Figure, panels: &[&str], size: (f64, f64)) -> Self {
        // Letters of titles are bold.
        let widest = panels.iter().map(|title| text_width(title, PANEL.size) * BOLD).fold(0.0, f64::max);
        let size = (size.0.max(widest.ceil()), size.1);
        let columns = figure.across.min(panels.len()).clamp(1, 3);
        let width = MARGIN * 2.0 + columns as f64 * (size.0 + GAP) - GAP;
        let mut svg = Svg::default();
        let mut y = MARGIN + 10.0;
        let title = format!("{}: {}", figure.title, frame.name);
        for line in wrapped(&title, TITLE.size, width - 2.0 * MARGIN) {
            svg.text(MARGIN, y, &line, TITLE);
            y += 22.0;
        }
        if let Some([short, _]) = frame.banner {
            for line in wrapped(short, BANNER.size, width - 2.0 * MARGIN) {
                svg.text(MARGIN, y, &line, BANNER);
                y += 18.0;
            }
        }
        y += 4.0;
        let mut areas = Vec::new();
        for (i, title) in panels.iter().enumerate() {
            let area = Area {
                x: MARGIN + (i % columns) as f64 * (size.0 + GAP),
                y: y + (i / columns) as f64 * (size.1 + GAP),
                width: size.0,
                height: size.1,
            };
            svg.text(area.x, area.y + 14.0, title, PANEL);
            areas.push(area.inside(26.0, 0.0, 0.0, 0.0));
        }
        let bottom = areas.last().map_or(y, Area::bottom);
        let desc = match frame.banner {
            Some([_, whole]) => format!("{whole} {}", figure.about),
            None => figure.about.clone(),
        };
        Self { svg, areas, width, bottom, desc, title: figure.title }
    }

    /// Where a panel may draw, under its title.
    pub fn area(&self, panel: usize) -> Area {
        self.areas[panel]
    }

    /// The notes under the panels, then the whole file.
    pub fn finish(mut self, notes: &[String]) -> String {
        let mut y = self.bottom + 28.0;
        for note in notes {
            for line in wrapped(note, NOTE.size, self.width - 2.0 * MARGIN) {
                self.svg.text(MARGIN, y, &line, NOTE);
                y += 17.0;
            }
        }
        let size = (self.width, y + MARGIN - 12.0);
        self.svg.finish(size, self.title, &self.desc)
    }

    /// A grid across a plot with the values, times a factor, on its left, and what they are above it.
    pub fn y_axis(&mut self, plot: Area, scale: &Scale, title: &str, factor: f64) {
        let ticks = scale.ticks(24.0);
        let labels = tick_labels(&ticks.iter().map(|tick| tick * factor).collect::<Vec<_>>());
        for (tick, label) in ticks.into_iter().zip(&labels) {
            let y = scale.at(tick);
            self.svg.line((plot.x, y), (plot.right(), y), GRID, 1.0);
            let look = TICK.anchor(Anchor::End);
            self.svg.text(plot.x - 7.0, y + 4.2, label, look);
        }
        let left = plot.x - 44.0;
        self.svg.text(left, plot.y - 10.0, title, TICK);
    }

    /// Values under a plot, and what they are.
    pub fn x_axis(&mut self, plot: Area, scale: &Scale, ticks: &[(f64, String)], title: &str) {
        let y = plot.bottom();
        self.svg.line((plot.x, y), (plot.right(), y), SOFT, 1.0);
        for (value, label) in ticks {
            let x = scale.at(*value);
            self.svg.line((x, y), (x, y + 4.0), SOFT, 1.0);
            self.svg.text(x, y + 18.0, label, TICK.anchor(Anchor::Middle));
        }
        let middle = plot.x + plot.width / 2.0;
        self.svg.text(middle, y + 37.0, title, TICK.anchor(Anchor::Middle));
    }
}

/// The notes of a figure as sentences, with what its axes need said.
pub(super) fn notes(figure: &Figure, x: Spacing, y: (Spacing, (f64, f64))) -> Vec<String> {
    let said = |note: &Note| match note {
        Note::Text(text) => Some(text.clone()),
        Note::XAxis => (x == Spacing::Log)
            .then(|| "The horizontal axis is logarithmic: equal steps are equal factors.".into()),
        Note::YAxis => Some(accuracy_note(y.0, y.1)),
    };
    figure.notes.iter().filter_map(said).collect()
}

/// The widest of some labels, in pixels.
pub(super) fn widest<'a>(labels: impl Iterator<Item = &'a str>) -> f64 {
    labels.map(|label| text_width(label, LABEL.size)).fold(0.0, f64::max)
}

/// Moves places apart to at least `gap`, within bounds, keeping their order; the answer is in the
/// order of the question.
pub(super) fn spread(places: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| places[a].total_cmp(&places[b]).then(a.cmp(&b)));
    let gap = gap.min((bottom - top) / (places.len().max(2) - 1) as f64);
    let mut spread = places.to_vec();
    let mut least = top;
    for &i in &order {
        spread[i] = spread[i].max(least);
        least = spread[i] + gap;
    }
    let mut most = bottom;
    for &i in order.iter().rev() {
        spread[i] = spread[i].min(most);
        most = spread[i] - gap;
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_move_apart_and_stay_inside() {
        let spread = spread(&[50.0, 52.0, 51.0, 99.0, 100.0], 10.0, 0.0, 100.0);
        let mut sorted = spread.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 10.0 - 1e-9));
        assert!(sorted[0] >= 0.0 && sorted[4] <= 100.0);
        assert!(spread[0] < spread[2] && spread[2] < spread[1]);
    }
}
