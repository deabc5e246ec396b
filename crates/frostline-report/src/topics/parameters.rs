//! How much learns: trainable parameters, what that saves, and whether frozen ones stayed as they were.

use std::collections::{BTreeMap, BTreeSet};

use frostline_record::Cell;

use crate::fields::JsonFields;
use crate::number::{listed, plural};
use crate::page::Page;
use crate::study::{CellGroup, CellView, Done, Study};
use crate::topic::{ReportPlace, Topic};

/// Parameters.
pub(crate) struct ParametersTopic;

impl Topic for ParametersTopic {
    fn prose(&self, study: &Study, place: ReportPlace<'_>, page: &mut Page) {
        match place {
            ReportPlace::Reading => {
                page.item(
                    "**Trainable parameters** are the numbers that learn. **Parameter saving** is the frozen \
                     share of all parameters.",
                );
                if study.cells.iter().any(|view| view.cell.settings.policy.block_score().is_some()) {
                    page.item(
                        "`fisher-K`, `rgn-K`, `snr-K`, `probe-K` and `drift-K` train only the K blocks with the highest score, \
                         which is computed on train sentences before training; `random-K` trains K blocks drawn by the seed.",
                    );
                }
            }
            ReportPlace::Remarks => page.items(chosen_blocks(study)),
            ReportPlace::Caveats => page.items(frozen_caveat(study).into_iter().chain(unmoved_caveat(study))),
            _ => {}
        }
    }

    fn group_facts(&self, _: &Study, group: &CellGroup) -> JsonFields {
        JsonFields::default().with("parameters", &group.parameters).with("steps", &group.steps)
    }
}

/// Which blocks each policy chose that chooses by a score.
fn chosen_blocks(study: &Study) -> Vec<String> {
    let mut chosen: BTreeMap<&str, Vec<(String, Vec<String>)>> = BTreeMap::new();
    for view in &study.cells {
        let Some(blocks) = trained_blocks(&view.cell) else { continue };
        let (lang, seed) = (view.cell.settings.lang.as_str(), view.cell.settings.seed.to_string());
        let places = chosen.entry(view.cell.settings.policy.as_str()).or_default();
        let what = format!("{} in {lang}", listed(&blocks));
        match places.iter_mut().find(|(known, _)| *known == what) {
            Some((_, seeds)) => seeds.push(seed),
            None => places.push((what, vec![seed])),
        }
    }
    let sentence = |(policy, places): (&str, Vec<(String, Vec<String>)>)| {
        let varies = policy.starts_with("random-");
        let place = |(what, seeds): &(String, Vec<String>)| match varies {
            true => format!("{what} (seed {})", listed(seeds)),
            false => what.clone(),
        };
        format!("`{policy}` trains blocks {}.", places.iter().map(place).collect::<Vec<_>>().join("; "))
    };
    chosen.into_iter().map(sentence).collect()
}

/// The blocks that a cell's policy chose to train, from the input to the output.
fn trained_blocks(cell: &Cell) -> Option<Vec<String>> {
    let (score, count) = cell.settings.policy.best_blocks()?;
    let order = cell.block_orders.get(&score)?;
    let mut blocks = order.get(..count.of(order.len()))?.to_vec();
    blocks.sort_unstable();
    Some(blocks.iter().map(ToString::to_string).collect())
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
