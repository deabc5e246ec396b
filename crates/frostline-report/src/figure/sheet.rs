//! Owns the frame of every figure: title, banner, panels side by side, notes.
//!
//! Refuses data: what goes into a panel is the figure's own.

use crate::Report;
use crate::figure::scale::Scale;
use crate::figure::svg::{Anchor, Svg, Type, text_width, wrapped};
use crate::figure::{Figure, GRID, INK, SOFT, WARN};
use crate::summary::{BASELINE, Group};
use crate::words;

const MARGIN: f64 = 20.0;
const GAP: f64 = 28.0;
const TITLE: Type = Type::new(17.0, INK).bold();
const BANNER: Type = Type::new(13.0, WARN).bold();
const PANEL: Type = Type::new(14.0, INK).bold();
const NOTE: Type = Type::new(12.0, SOFT);
pub(crate) const LABEL: Type = Type::new(13.0, INK);
pub(crate) const TICK: Type = Type::new(12.0, SOFT);

/// A part of the image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
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

/// What one panel shows: a language under one combination of further axes.
pub(crate) struct Panel<'a> {
    pub title: String,
    pub groups: Vec<&'a Group>,
}

/// The panels of a report: languages beside each other, further axes under each other.
pub(crate) fn panels(report: &Report) -> Vec<Panel<'_>> {
    let mut panels = Vec::new();
    for extras in report.extras() {
        for lang in report.langs() {
            let groups: Vec<&Group> = report.groups_of(lang).filter(|group| group.extras == extras).collect();
            let extras = words::extras_name(report, extras);
            let title = if extras.is_empty() { report.lang_title(lang) } else { format!("{lang}, {extras}") };
            if !groups.is_empty() {
                panels.push(Panel { title, groups });
            }
        }
    }
    panels
}

/// A figure under construction.
pub(crate) struct Sheet {
    pub svg: Svg,
    areas: Vec<Area>,
    width: f64,
    bottom: f64,
    desc: String,
    title: &'static str,
}

impl Sheet {
    /// Lays out as many panels as there are and writes their titles.
    pub fn new(report: &Report, figure: &Figure, panels: &[Panel<'_>], size: (f64, f64)) -> Self {
        let titles: Vec<String> = panels.iter().map(|panel| panel.title.clone()).collect();
        Self::titled(report, figure, &titles, size, report.langs().len())
    }

    /// The same for panels of these titles, at most so many side by side.
    pub fn titled(
        report: &Report,
        figure: &Figure,
        panels: &[String],
        size: (f64, f64),
        columns: usize,
    ) -> Self {
        let columns = columns.min(panels.len()).clamp(1, 3);
        let width = MARGIN * 2.0 + columns as f64 * (size.0 + GAP) - GAP;
        let mut svg = Svg::default();
        let mut y = MARGIN + 10.0;
        let title = format!("{}: {}", figure.title, report.sweep.plan.name);
        for line in wrapped(&title, TITLE.size, width - 2.0 * MARGIN) {
            svg.text(MARGIN, y, &line, TITLE);
            y += 22.0;
        }
        if report.synthetic() {
            for line in wrapped(words::SYNTHETIC_SHORT, BANNER.size, width - 2.0 * MARGIN) {
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
        let mut desc = figure.about(report);
        if report.synthetic() {
            desc = format!("{} {desc}", words::SYNTHETIC);
        }
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

    /// A grid across a plot with the values on its left, and what they are above it.
    pub fn y_axis(&mut self, plot: Area, scale: &Scale, title: &str, label: impl Fn(f64) -> String) {
        let ticks = scale.ticks(24.0);
        for tick in ticks {
            let y = scale.at(tick);
            self.svg.line((plot.x, y), (plot.right(), y), GRID, 1.0);
            let look = TICK.anchor(Anchor::End);
            self.svg.text(plot.x - 7.0, y + 4.2, &label(tick), look);
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

/// The height of a bar's row: less where there are many.
pub(crate) fn row_height(panels: &[Panel<'_>]) -> f64 {
    let most = panels.iter().map(|panel| panel.groups.len()).max().unwrap_or(0);
    if most > 10 { 24.0 } else { 36.0 }
}

/// The most names that one plot of lines or points carries.
pub(crate) const NAMED: usize = 24;

/// Which of these rows carry a name and colour: all of them, or where there are too many the
/// baseline, then the highest and lowest.
pub(crate) fn named(rows: &[(&str, f64)]) -> Vec<bool> {
    let mut named = vec![rows.len() <= NAMED; rows.len()];
    if rows.len() <= NAMED {
        return named;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&a, &b| rows[b].1.total_cmp(&rows[a].1).then(a.cmp(&b)));
    let (high, low) = (&order[..NAMED / 2], &order[rows.len() - NAMED / 3..]);
    for &i in high.iter().chain(low) {
        named[i] = true;
    }
    for (i, (name, _)) in rows.iter().enumerate() {
        named[i] |= *name == BASELINE;
    }
    named
}

/// What a note says where [`named`] leaves names away.
pub(crate) fn unnamed_note(panels: &[Panel<'_>]) -> Option<String> {
    let most = panels.iter().map(|panel| panel.groups.len()).max()?;
    (most > NAMED).then(|| {
        format!(
            "Of {most} policies, the highest {}, the lowest {} and the baseline are named; the others \
             are grey. The tables have them all.",
            NAMED / 2,
            NAMED / 3
        )
    })
}

/// The widest of some labels, in pixels.
pub(crate) fn widest<'a>(labels: impl Iterator<Item = &'a str>) -> f64 {
    labels.map(|label| text_width(label, LABEL.size)).fold(0.0, f64::max)
}

/// Moves places apart to at least `gap`, within bounds, keeping their order; the answer is in the
/// order of the question.
pub(crate) fn spread(places: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
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
    fn crowds_name_their_ends_and_the_baseline() {
        let names: Vec<String> = (0..64).map(|i| format!("p{i}")).collect();
        let mut rows: Vec<(&str, f64)> =
            names.iter().zip(0..).map(|(n, i)| (n.as_str(), f64::from(i))).collect();
        assert!(named(&rows[..NAMED]).iter().all(|&named| named));
        rows[30].0 = BASELINE;
        let named = named(&rows);
        assert_eq!(named.iter().filter(|&&named| named).count(), NAMED / 2 + NAMED / 3 + 1);
        assert!(named[0] && named[63] && named[30] && !named[31]);
    }

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
