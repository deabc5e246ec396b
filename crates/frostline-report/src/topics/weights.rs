//! What is known of an encoder's weights and the plan cannot know.

use serde::Serialize;

use crate::fields::Fields;
use crate::page::Page;
use crate::study::{CellView, Study, distinct};
use crate::topic::{Place, Topic};

/// Caveats about weights.
pub(crate) struct Weights;

impl Topic for Weights {
    fn prose(&self, study: &Study, place: Place<'_>, page: &mut Page) {
        if place == Place::Caveats {
            page.items({
                let found = caveats_of_study(study);
                let all = study.cells.iter().all(|view| caveat_of_cell(view).is_some());
                let one = |found: WeightsCaveat<'_>| match all {
                    true => format!("**{}**: {}", found.encoder, found.caveat),
                    false => format!("**{}**, in some of the cells: {}", found.encoder, found.caveat),
                };
                found.into_iter().map(one).collect::<Vec<String>>()
            });
        }
    }

    fn facts(&self, study: &Study) -> Fields {
        Fields::default().with_some("weights_caveats", &caveats_of_study(study))
    }
}

/// An encoder of the study with what to keep in mind about its weights.
#[derive(PartialEq, Serialize)]
struct WeightsCaveat<'a> {
    encoder: &'a str,
    caveat: &'static str,
}

fn caveats_of_study(study: &Study) -> Vec<WeightsCaveat<'_>> {
    let of_cell = |view| {
        caveat_of_cell(view).map(|caveat| WeightsCaveat { encoder: &view.cell.settings.encoder.name, caveat })
    };
    distinct(study.cells.iter().filter_map(of_cell))
}

/// What to keep in mind about the weights that a cell starts from.
fn caveat_of_cell(view: &CellView) -> Option<&'static str> {
    view.cell.weights_caveat()
}
