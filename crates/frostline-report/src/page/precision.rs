//! Owns what the page says about the precision of linear layers, where it is not f32 throughout.
//!
//! Refuses to take a setting's word: what a cell computed in depends on the machine too.

use frostline_record::Precision;

use crate::Report;
use crate::number::plural;
use crate::page::{paragraph, section};
use crate::summary::{CellView, distinct};

/// What cells asked for, and what they computed in.
pub(super) fn of_cells(report: &Report, text: &mut String) {
    let asked = |view: &CellView| view.cell.settings.train.precision;
    if report.cells.iter().all(|view| asked(view) == Precision::F32) {
        return;
    }
    section(text, 2, "Precision");
    paragraph(
        text,
        "What the operands of linear layers were rounded to; sums and all else are f32. Cells that \
         differ in it differ by rounding.",
    );
    let kind = |view: &CellView| (asked(view), view.made_by().map(|by| (by.isa.clone(), view.computed_in())));
    for (asked, made) in distinct(report.cells.iter().map(kind)) {
        let cells = report.cells.iter().filter(|view| kind(view) == (asked, made.clone())).count();
        let (cells, asked) = (plural(cells, "cell"), asked.name());
        *text += &match made {
            None => format!("- {cells} with `{asked}`: no record yet.\n"),
            Some((isa, Some(used))) if used.name() == asked => {
                format!("- {cells} with `{asked}`: computed in {asked} (instructions `{isa}`).\n")
            }
            Some((isa, _)) => format!(
                "- **{cells} with `{asked}`: computed in f32**, because the instructions `{isa}` have no \
                 native {asked}.\n"
            ),
        };
    }
}
