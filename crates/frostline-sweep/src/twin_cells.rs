//! Cells of a plan that are the same experiment under two names: one of them is run.

use std::collections::{BTreeMap, BTreeSet};

use frostline_record::{GridPlace, Input, Reading, Settings, Twin, find_twins};

use crate::block_orders::OrderTable;
use crate::inputs::StudyInputs;
use crate::study::PlannedStudy;

/// Leaves cells out of the study's grid that are the same experiment as others. What is left out is listed in the study.
pub(crate) fn merge_twins(study: &mut PlannedStudy, sources: &StudyInputs) {
    let found = find_twins(study.grid.with_twins().map(|settings| {
        let read = reading_of_cell(sources, &study.block_orders, &settings);
        (settings, Some(read))
    }));
    let named: BTreeSet<usize> = (0..found.len()).filter(|&at| found[at].is_some()).collect();
    let wanted: BTreeSet<usize> = named.iter().copied().chain(found.iter().flatten().copied()).collect();
    let axes = study.plan.extra_axes();
    let cells = study.grid.with_twins().enumerate().filter(|(at, _)| wanted.contains(at));
    let places: BTreeMap<usize, GridPlace> =
        cells.map(|(at, settings)| (at, GridPlace::new(&settings, &axes))).collect();
    let twin = |(at, same): (usize, &Option<usize>)| {
        let same = (*same)?;
        Some(Twin { place: places[&at].clone(), same_as: places[&same].clone() })
    };
    study.twins = found.iter().enumerate().filter_map(twin).collect();
    study.grid = study.grid.without(named);
}

/// What a cell reads, by contents.
fn reading_of_cell(sources: &StudyInputs, orders: &OrderTable, settings: &Settings) -> Reading {
    let encoder = &sources.encoders[&settings.encoder.name];
    let hash = |(role, input): (String, Input)| match role.as_str() {
        "config" => (role, encoder.config.clone()),
        _ => (role, input.sha256),
    };
    Reading {
        contents: sources.inputs_of_cell(settings).into_iter().map(hash).collect(),
        blocks: encoder.blocks.clone().with_orders(orders.orders_of_all_seeds(settings)),
    }
}

/// Prints which names of the plan mean the same, each pair once.
pub(crate) fn announce_twins(twins: &[Twin]) {
    let mut lines: Vec<String> = Vec::new();
    for Twin { place, same_as } in twins {
        let mut line = |what: &str, name: &str, same: &str, why: &str| {
            let line =
                format!("{what:<9} `{name}` {why} `{same}`: they are one, trained once and counted once");
            if name != same && !lines.contains(&line) {
                lines.push(line);
            }
        };
        line("policies", place.policy.as_str(), same_as.policy.as_str(), "freezes the same parameters as");
        line("treebanks", &place.lang, &same_as.lang, "has the same files as");
        for (axis, value) in &place.axes {
            let same = same_as.axes.get(axis).map_or_else(String::new, shown_value);
            let what = if axis == "encoder.name" { "encoders" } else { "data" };
            line(what, &shown_value(value), &same, "has the same files as");
        }
    }
    for line in lines {
        note!("{line}");
    }
}

fn shown_value(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}
