//! The precision of linear layers, where it is not f32 throughout. What a cell computed in depends on the machine
//! too, not on its setting alone.

use frostline_record::Precision;

use crate::number::plural;
use crate::page::Page;
use crate::study::{CellView, Study, distinct};
use crate::topic::{Place, Topic};

/// Precision.
pub(crate) struct LayerPrecision;

impl Topic for LayerPrecision {
    fn prose(&self, study: &Study, place: Place<'_>, page: &mut Page) {
        if place == Place::Appendix {
            let asked = |view: &CellView| view.cell.settings.train.precision;
            if study.cells.iter().all(|view| asked(view) == Precision::F32) {
                return;
            }
            page.section(2, "Precision");
            page.paragraph(
                "What the operands of linear layers were rounded to; sums and all else are f32. Cells that \
                     differ in it differ by rounding.",
            );
            let kind = |view: &CellView| {
                (asked(view), view.made_by().map(|by| (by.isa.clone(), view.computed_in())))
            };
            for (asked, made) in distinct(study.cells.iter().map(kind)) {
                let cells = study.cells.iter().filter(|view| kind(view) == (asked, made.clone())).count();
                let (cells, asked) = (plural(cells, "cell"), asked.name());
                page.item(match made {
                        None => format!("{cells} with `{asked}`: no record yet."),
                        Some((isa, Some(used))) if used.name() == asked => {
                            format!("{cells} with `{asked}`: computed in {asked} (instructions `{isa}`).")
                        }
                        Some((isa, _)) => format!(
                            "**{cells} with `{asked}`: computed in f32**, because the instructions `{isa}` have no \
                             native {asked}."
                        ),
                    });
            }
        }
    }
}
