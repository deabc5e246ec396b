//! What is known of an encoder's weights and the plan cannot know.

use serde::Serialize;

use crate::fields::Fields;
use crate::page::Page;
use crate::study::{CellView, Study, distinct};
use crate::topic::{Of, Place, Topic};

/// Caveats about weights.
pub(crate) struct Weights;

impl Topic for Weights {
    fn prose(&self, study: &Study, place: Place<'_>, page: &mut Page) {
        if place == Place::Caveats {
            page.items({
                let found = found(study);
                let all = study.cells.iter().all(|view| caveat(view).is_some());
                let one = |found: Found<'_>| match all {
                    true => format!("**{}**: {}", found.encoder, found.caveat),
                    false => format!("**{}**, in some of the cells: {}", found.encoder, found.caveat),
                };
                found.into_iter().map(one).collect::<Vec<String>>()
            });
        }
    }

    fn facts(&self, study: &Study, of: Of<'_>) -> Fields {
        match of {
            Of::Group(_) => Fields::default(),
            Of::Sweep => Fields::default().with_some("weights_caveats", &found(study)),
        }
    }
}

/// An encoder of the study with what to keep in mind about its weights.
#[derive(PartialEq, Serialize)]
struct Found<'a> {
    encoder: &'a str,
    caveat: &'static str,
}

fn found(study: &Study) -> Vec<Found<'_>> {
    let of_cell =
        |view| caveat(view).map(|caveat| Found { encoder: &view.cell.settings.encoder.name, caveat });
    distinct(study.cells.iter().filter_map(of_cell))
}

/// What to keep in mind about the weights that a cell starts from.
fn caveat(view: &CellView) -> Option<&'static str> {
    view.cell.weights_caveat()
}
