//! How much learns: trainable parameters, what that saves, and whether frozen ones stayed as they were.

use std::collections::BTreeSet;

use crate::fields::Fields;
use crate::number::{listed, plural};
use crate::page::Page;
use crate::study::{CellView, Done, Group, Study};
use crate::topic::{Place, Topic};

/// Parameters.
pub(crate) struct Parameters;

impl Topic for Parameters {
    fn prose(&self, study: &Study, place: Place<'_>, page: &mut Page) {
        match place {
            Place::Reading => page.items({
                vec![
                    "**Trainable parameters** are the numbers that learn. **Parameter saving** is the frozen \
                     share of all parameters.",
                ]
            }),
            Place::Caveats => page.items(frozen_caveat(study).into_iter().chain(unmoved_caveat(study))),
            _ => {}
        }
    }

    fn group_facts(&self, _: &Study, group: &Group) -> Fields {
        Fields::default().with("parameters", &group.parameters).with("steps", &group.steps)
    }
}

fn frozen_caveat(study: &Study) -> Option<String> {
    let done = study.cells.iter().filter(|view| view.done().is_some()).count();
    (done > 0).then(|| {
        format!(
            "Frozen means frozen: in the {} that are done, each frozen parameter was compared bit by bit \
             with its start. A cell in which one had changed would be listed as failed.",
            plural(done, "cell")
        )
    })
}

fn unmoved_caveat(study: &Study) -> Option<String> {
    let paths = |done: &Done| -> Vec<String> {
        let stages = done.result.stages.iter();
        stages.flat_map(|stage| stage.freezing.unmoved.iter().map(|path| format!("`{path}`"))).collect()
    };
    let all: Vec<Vec<String>> = study.cells.iter().filter_map(CellView::done).map(paths).collect();
    let cells = all.iter().filter(|paths| !paths.is_empty()).count();
    let unmoved: BTreeSet<String> = all.into_iter().flatten().collect();
    (!unmoved.is_empty()).then(|| {
        format!(
            "In {} some parameters were free to learn but did not move: {}.",
            plural(cells, "cell"),
            listed(&unmoved.into_iter().collect::<Vec<_>>())
        )
    })
}
