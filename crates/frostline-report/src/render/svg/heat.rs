//! Tables whose fields are shaded.

use crate::chart::{Figure, Heat, HeatColour, HeatPanel};
use crate::render::svg::canvas::{Anchor, Lettering, TEXT_SIZE, text_width};
use crate::render::svg::scale::Spacing;
use crate::render::svg::sheet::{Area, Drawing, Frame, LABEL, Sheet, TICK, notes, widest_label};
use crate::render::svg::style::{COLOURS, INK, MISSING};

/// A field's height, and the least width that a number needs.
const ROW: f64 = 26.0;
const FIELD: f64 = 46.0;
/// Room for a panel's title, and for a line above its fields.
const TITLE: f64 = 26.0;
const LINE: f64 = 18.0;

/// Draws shaded tables.
pub(super) fn draw_heat(frame: Frame<'_>, figure: &Figure, heat: &Heat) -> Drawing {
    let panels = &heat.panels;
    let colour = match heat.colour {
        HeatColour::Much => COLOURS[0],
        HeatColour::Missing => MISSING,
    };
    let left =
        widest_label(panels.iter().flat_map(|panel| panel.rows.iter().map(|(name, _)| name.as_str()))) + 12.0;
    let names = panels.iter().flat_map(|panel| panel.columns.iter().flatten());
    let width = names.map(|name| text_width(name, TICK.size) + 8.0).fold(FIELD, f64::max);
    let most = |count: fn(&HeatPanel) -> usize| panels.iter().map(count).max().unwrap_or(1);
    let columns = most(|panel| panel.columns.len());
    let lines = most(|panel| panel.columns.iter().map(Vec::len).max().unwrap_or(1));
    let head = 4.0 + LINE * lines as f64;
    let size = (left + columns as f64 * width, TITLE + head + most(|panel| panel.rows.len()) as f64 * ROW);
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
    let mut sheet = Sheet::new(frame, figure, &titles, size);
    for (number, panel) in panels.iter().enumerate() {
        let plot = sheet.area(number).inside(head, 0.0, 0.0, left);
        draw_fields(&mut sheet, frame, plot, panel, (colour, width));
    }
    sheet.finish(notes(figure, Spacing::Even, (Spacing::Even, (0.0, 1.0))))
}

fn draw_fields(
    sheet: &mut Sheet,
    frame: Frame<'_>,
    plot: Area,
    panel: &HeatPanel,
    (colour, width): (&str, f64),
) {
    let middle = |column: usize| plot.x + (column as f64 + 0.5) * width;
    for (column, lines) in panel.columns.iter().enumerate() {
        for (line, text) in lines.iter().rev().enumerate() {
            let y = plot.y - 7.0 - 15.0 * line as f64;
            sheet.svg.text(middle(column), y, text, TICK.anchor(Anchor::Middle));
        }
    }
    for (number, (name, fields)) in panel.rows.iter().enumerate() {
        let top = plot.y + number as f64 * ROW;
        sheet.svg.part(frame.known(name), None, |svg| {
            svg.text(plot.x - 8.0, top + ROW / 2.0 + 4.5, name, LABEL.anchor(Anchor::End));
            for (column, field) in fields.iter().enumerate() {
                let Some(field) = field else { continue };
                let from = (plot.x + column as f64 * width + 1.0, top + 1.0);
                svg.rect(from, (width - 2.0, ROW - 2.0), colour, field.shade);
            }
            let number = Lettering::new(TEXT_SIZE, INK).anchor(Anchor::Middle);
            let known =
                fields.iter().enumerate().filter_map(|(column, field)| Some((column, field.as_ref()?)));
            let texts =
                known.map(|(column, field)| ((middle(column), top + ROW / 2.0 + 4.2), field.label.as_str()));
            svg.texts(number, texts);
        });
    }
}
