//! The frame of every figure: title, banner, panels side by side, notes.

use crate::chart::{ChartNote, Figure, Tone};
use crate::number::fixed;
use crate::render::escape::xml;
use crate::render::svg::canvas::{
    Anchor, Lettering, Svg, TEXT_COLOUR, TEXT_SIZE, round_pixels, text_width, wrap_text,
};
use crate::render::svg::scale::{Scale, Spacing, accuracy_note, tick_labels};
use crate::render::svg::style::{GRID, INK, REFERENCES, SOFT, WARN};
use crate::study::BASELINE;
use crate::study::words::{SYNTHETIC, SYNTHETIC_SHORT};

const MARGIN: f64 = 20.0;
const GAP: f64 = 28.0;
const TITLE: Lettering = Lettering::new(17.0, INK).bold();
const BANNER: Lettering = Lettering::new(13.0, WARN).bold();
const PANEL: Lettering = Lettering::new(14.0, INK).bold();
const NOTE: Lettering = Lettering::new(12.0, SOFT);
pub(super) const LABEL: Lettering = Lettering::new(13.0, INK);
pub(super) const TICK: Lettering = Lettering::new(12.0, SOFT);

/// What all figures of a report share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// The plan's name.
    pub name: &'a str,
    /// Whether the data is made up.
    pub is_synthetic: bool,
    /// The policies in the plan's order.
    pub policies: &'a [&'a str],
}

impl<'a> Frame<'a> {
    /// The policy that has a tone.
    pub fn policy(&self, tone: Tone) -> Option<&'a str> {
        match tone {
            Tone::Policy(None) | Tone::Unnamed(None) => self.known(BASELINE),
            Tone::Policy(Some(place)) | Tone::Unnamed(Some(place)) => {
                self.policies.iter().filter(|name| **name != BASELINE).nth(place).copied()
            }
            Tone::Reference(_) => None,
        }
    }

    /// The policy of this name, if it is one.
    pub fn known(&self, name: &str) -> Option<&'a str> {
        self.policies.iter().find(|policy| **policy == name).copied()
    }
}

/// A figure as it was drawn: panels, which a page places one by one, and what a file has around them.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    /// The name of its file without the ending.
    name: String,
    title: &'static str,
    about: String,
    /// What is above the panels in a file.
    head: String,
    panels: Vec<DrawnPanel>,
    /// What is below the panels, as sentences and as a file has it.
    pub notes: Vec<String>,
    foot: String,
    size: (f64, f64),
}

/// A panel with its place in the file.
#[derive(Clone, Debug)]
struct DrawnPanel {
    title: String,
    area: Area,
    body: String,
}

impl Drawing {
    /// Returns the figure as a file of its own. Its title and description are for screen readers.
    pub fn file(&self) -> String {
        let (width, height) = (round_pixels(self.size.0), round_pixels(self.size.1));
        let bodies: String = self.panels.iter().map(|panel| panel.body.as_str()).collect();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{name}-title {name}-about\" \
             font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" \
             font-size=\"{TEXT_SIZE}\" fill=\"{TEXT_COLOUR}\">\n\
             <title id=\"{name}-title\">{}</title>\n<desc id=\"{name}-about\">{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n{}{bodies}{}</svg>\n",
            xml(self.title),
            xml(&self.about),
            self.head,
            self.foot,
            name = self.name,
        )
    }

    /// Returns the panels as elements of a page, which has the title and the notes around them.
    pub fn elements(&self) -> String {
        let element = |panel: &DrawnPanel| {
            let Area { x, y, width, height } = panel.area;
            let [x, y, width, height] = [x, y, width, height].map(round_pixels);
            format!(
                "<svg width=\"{width}\" viewBox=\"{x} {y} {width} {height}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
                xml(&format!("{}: {}", self.title, panel.title)),
                panel.body
            )
        };
        self.panels.iter().map(element).collect()
    }
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

/// The width of a reference's line.
pub(super) const REFERENCE: f64 = 1.5;

/// How much wider bold letters are.
const BOLD: f64 = 1.08;

/// A figure under construction.
pub(super) struct Sheet {
    pub svg: Svg,
    areas: Vec<(String, Area)>,
    drawing: Drawing,
    bottom: f64,
}

impl Sheet {
    /// Lays out panels of these titles. Panels are wider than `size` if a title needs it.
    pub fn new(frame: Frame<'_>, figure: &Figure, panels: &[&str], size: (f64, f64)) -> Self {
        // Letters of titles are bold.
        let widest = panels.iter().map(|title| text_width(title, PANEL.size) * BOLD).fold(0.0, f64::max);
        let size = (size.0.max(widest.ceil()), size.1);
        let columns = figure.across.min(panels.len()).clamp(1, 3);
        let width = MARGIN * 2.0 + columns as f64 * (size.0 + GAP) - GAP;
        let mut svg = Svg::default();
        let mut y = MARGIN + 10.0;
        let title = format!("{}: {}", figure.title, frame.name);
        for line in wrap_text(&title, TITLE.size, width - 2.0 * MARGIN) {
            svg.text(MARGIN, y, &line, TITLE);
            y += 22.0;
        }
        let banner = if frame.is_synthetic { SYNTHETIC_SHORT } else { "" };
        for line in wrap_text(banner, BANNER.size, width - 2.0 * MARGIN) {
            svg.text(MARGIN, y, &line, BANNER);
            y += 18.0;
        }
        y += 4.0;
        let area = |(i, title): (usize, &&str)| {
            let (x, y) =
                (MARGIN + (i % columns) as f64 * (size.0 + GAP), y + (i / columns) as f64 * (size.1 + GAP));
            (title.to_string(), Area { x, y, width: size.0, height: size.1 })
        };
        let areas: Vec<(String, Area)> = panels.iter().enumerate().map(area).collect();
        let bottom = areas.last().map_or(y, |(_, area)| area.bottom());
        let about = match frame.is_synthetic {
            true => format!("{SYNTHETIC} {}", figure.about),
            false => figure.about.clone(),
        };
        let drawing = Drawing {
            name: figure.name().into(),
            title: figure.title,
            about,
            head: svg.take(),
            panels: Vec::new(),
            notes: Vec::new(),
            foot: String::new(),
            size: (width, bottom),
        };
        Self { svg, areas, drawing, bottom }
    }

    /// Begins the next panel, which has this number, and returns its area, under its title.
    pub fn area(&mut self, panel: usize) -> Area {
        self.end_panel();
        let (title, area) = self.areas[panel].clone();
        self.svg.text(area.x, area.y + 14.0, &title, PANEL);
        self.drawing.panels.push(DrawnPanel { title, area, body: String::new() });
        area.inside(26.0, 0.0, 0.0, 0.0)
    }

    fn end_panel(&mut self) {
        if let Some(panel) = self.drawing.panels.last_mut() {
            panel.body = self.svg.take();
        }
    }

    /// Ends the last panel, with notes under all panels.
    pub fn finish(mut self, notes: Vec<String>) -> Drawing {
        self.end_panel();
        let mut drawing = self.drawing;
        let mut y = self.bottom + 28.0;
        for note in &notes {
            for line in wrap_text(note, NOTE.size, drawing.size.0 - 2.0 * MARGIN) {
                self.svg.text(MARGIN, y, &line, NOTE);
                y += 17.0;
            }
        }
        drawing.foot = self.svg.take();
        drawing.notes = notes;
        drawing.size.1 = y + MARGIN - 12.0;
        drawing
    }

    /// Names references above a plot, one below the other, and returns those on its axis with their dashes. `low` is
    /// the start of the axis, `outside` the word for a reference before it. Values are shares of 1.
    pub fn references(
        &mut self,
        (x, top): (f64, f64),
        height: f64,
        references: &[(String, f64)],
        low: f64,
        outside: &str,
    ) -> Vec<(f64, &'static str)> {
        let mut inside = Vec::new();
        for (at, ((name, share), dash)) in references.iter().zip(REFERENCES).enumerate() {
            let y = top + at as f64 * height;
            self.svg.polyline(&[(x, y), (x + 24.0, y)], INK, REFERENCE, dash);
            let place = if *share < low { format!(", {outside}") } else { String::new() };
            self.svg.text(x + 30.0, y + 4.0, &format!("{name}: {}{place}", fixed(100.0 * share, 2)), TICK);
            inside.extend((*share >= low).then_some((*share, dash)));
        }
        inside
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

/// The notes of a figure as sentences, with those on its axes.
pub(super) fn notes(figure: &Figure, x: Spacing, y: (Spacing, (f64, f64))) -> Vec<String> {
    let said = |note: &ChartNote| match note {
        ChartNote::Text(text) => Some(text.clone()),
        ChartNote::XAxis => (x == Spacing::Log)
            .then(|| "The horizontal axis is logarithmic: equal steps are equal factors.".into()),
        ChartNote::YAxis => Some(accuracy_note(y.0, y.1)),
    };
    figure.notes.iter().filter_map(said).collect()
}

/// The widest of some labels, in pixels.
pub(super) fn widest_label<'a>(labels: impl Iterator<Item = &'a str>) -> f64 {
    labels.map(|label| text_width(label, LABEL.size)).fold(0.0, f64::max)
}

/// Moves places apart to at least `gap`, within bounds, keeping their order; the answer is in the
/// order of the question.
pub(super) fn spread_places(places: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
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
        let spread = spread_places(&[50.0, 52.0, 51.0, 99.0, 100.0], 10.0, 0.0, 100.0);
        let mut sorted = spread.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 10.0 - 1e-9));
        assert!(sorted[0] >= 0.0 && sorted[4] <= 100.0);
        assert!(spread[0] < spread[2] && spread[2] < spread[1]);
    }
}
