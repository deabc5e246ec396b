//! Owns tables whose fields are shaded: policies by tags, policies by parts of the encoder.
//!
//! Refuses colour as the only sign: every field carries its number.

use crate::Report;
use crate::figure::sheet::{Area, LABEL, Sheet, TICK, widest};
use crate::figure::svg::{Anchor, Type, text_width};
use crate::figure::{Figure, INK};

/// A field's height, and the least width that a number needs.
const ROW: f64 = 26.0;
const FIELD: f64 = 46.0;
/// Room for a panel's title, and for a line above its fields.
const TITLE: f64 = 26.0;
const LINE: f64 = 18.0;

/// One panel.
pub(super) struct Heat<'a> {
    pub title: String,
    /// What each column is, in one line or two.
    pub columns: Vec<Vec<String>>,
    /// A policy and its fields, as many as there are columns.
    pub rows: Vec<(&'a str, Vec<Option<Field>>)>,
}

/// One field.
pub(super) struct Field {
    pub label: String,
    /// How dark it is; up to 0.75 the label can be read.
    pub shade: f64,
}

/// Panels, so many beside one another.
pub(super) fn draw(
    report: &Report,
    figure: &Figure,
    panels: &[Heat<'_>],
    (colour, across): (&str, usize),
    notes: &[String],
) -> String {
    let left = widest(panels.iter().flat_map(|panel| panel.rows.iter().map(|(policy, _)| *policy))) + 12.0;
    let names = panels.iter().flat_map(|panel| panel.columns.iter().flatten());
    let width = names.map(|name| text_width(name, TICK.size) + 8.0).fold(FIELD, f64::max);
    let most = |count: fn(&Heat<'_>) -> usize| panels.iter().map(count).max().unwrap_or(1);
    let columns = most(|panel| panel.columns.len());
    let lines = most(|panel| panel.columns.iter().map(Vec::len).max().unwrap_or(1));
    let head = 4.0 + LINE * lines as f64;
    let size = (left + columns as f64 * width, TITLE + head + most(|panel| panel.rows.len()) as f64 * ROW);
    let titles: Vec<String> = panels.iter().map(|panel| panel.title.clone()).collect();
    let mut sheet = Sheet::titled(report, figure, &titles, size, across);
    for (number, panel) in panels.iter().enumerate() {
        let plot = sheet.area(number).inside(head, 0.0, 0.0, left);
        fields(&mut sheet, plot, panel, colour, width);
    }
    sheet.finish(notes)
}

fn fields(sheet: &mut Sheet, plot: Area, panel: &Heat<'_>, colour: &str, width: f64) {
    let middle = |column: usize| plot.x + (column as f64 + 0.5) * width;
    for (column, lines) in panel.columns.iter().enumerate() {
        for (line, text) in lines.iter().rev().enumerate() {
            let y = plot.y - 7.0 - 15.0 * line as f64;
            sheet.svg.text(middle(column), y, text, TICK.anchor(Anchor::Middle));
        }
    }
    for (number, (policy, fields)) in panel.rows.iter().enumerate() {
        let top = plot.y + number as f64 * ROW;
        sheet.svg.text(plot.x - 8.0, top + ROW / 2.0 + 4.5, policy, LABEL.anchor(Anchor::End));
        for (column, field) in fields.iter().enumerate() {
            let Some(field) = field else { continue };
            let from = (plot.x + column as f64 * width + 1.0, top + 1.0);
            sheet.svg.rect(from, (width - 2.0, ROW - 2.0), colour, field.shade);
            let number = Type::new(12.0, INK).anchor(Anchor::Middle);
            sheet.svg.text(middle(column), top + ROW / 2.0 + 4.2, &field.label, number);
        }
    }
}
