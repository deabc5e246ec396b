//! Cells that are the same experiment under two names. One of them stands for all, so that nothing is counted twice; the other
//! names are shown with it.

use std::collections::{BTreeMap, HashSet};

use frostline_record::{Cell, GridPlace, Reading, Record, Sweep, Twin, find_twins};

use crate::number::listed;
use crate::study::cells::{CellView, distinct, shown};
use crate::study::groups::Group;

/// Returns the sweep without cells that repeat others. A sweep that was run as a whole has none; one of an older version, or
/// with cells of several plans, may have them.
pub(crate) fn merged(sweep: &Sweep, records: &[Record]) -> Sweep {
    let blocks = blocks_by_config(records);
    let found = find_twins(sweep.cells.iter().map(|cell| (&cell.settings, reading(cell, &blocks))));
    let axes = sweep.plan.extra_axes();
    let place = |at: usize| GridPlace::new(&sweep.cells[at].settings, &axes);
    let mut twins = sweep.twins.clone();
    for (at, same) in found.iter().enumerate() {
        let Some(same) = same else { continue };
        let twin = Twin { place: place(at), same_as: place(*same) };
        if twin.place != twin.same_as && !twins.contains(&twin) {
            twins.push(twin);
        }
    }
    let kept = sweep.cells.iter().zip(&found).filter(|(_, same)| same.is_none());
    Sweep { cells: kept.map(|(cell, _)| cell.clone()).collect(), twins, ..sweep.clone() }
}

/// The encoders' numbers of blocks by the hash of their config, as far as records have them.
fn blocks_by_config(records: &[Record]) -> BTreeMap<&str, usize> {
    let blocks = |record: &Record| {
        let groups = &record.result.as_ref()?.stages.last()?.accounts.groups;
        let count = groups.iter().filter(|row| row.group.starts_with("block ")).count();
        (count > 0).then_some(count)
    };
    records
        .iter()
        .filter_map(|record| Some((record.cell.inputs.get("config")?.sha256.as_str(), blocks(record)?)))
        .collect()
}

fn reading(cell: &Cell, blocks: &BTreeMap<&str, usize>) -> Option<Reading> {
    let blocks = *blocks.get(cell.inputs.get("config")?.sha256.as_str())?;
    let contents = cell.inputs.iter().map(|(role, input)| (role.clone(), input.sha256.clone())).collect();
    Some(Reading { contents, blocks })
}

/// The cells, and after them the cells again under other names of their policies, for what asks by name.
pub(crate) fn cells_by_name(cells: &[CellView], sweep: &Sweep) -> Vec<CellView> {
    let mut all = cells.to_vec();
    for Twin { place, same_as } in sweep.twins.iter().filter(|twin| is_of_policies(twin)) {
        for view in cells.iter().filter(|view| same_as.is_of(&view.cell.settings)) {
            let mut other = view.clone();
            other.cell.settings.policy = place.policy.clone();
            all.push(other);
        }
    }
    all
}

/// Sentences about names that mean the same, for readers who look for a name that has no row.
pub(crate) fn sentences(sweep: &Sweep) -> Vec<String> {
    let twins = &sweep.twins;
    let axes = sweep.plan.extra_axes();
    let policy = |twin: &Twin| [&twin.same_as, &twin.place].map(|place| place.policy.to_string());
    let lang = |twin: &Twin| [&twin.same_as, &twin.place].map(|place| place.lang.to_string());
    let kinds: [(&str, Vec<[String; 2]>); 2] = [
        ("freeze the same parameters", twins.iter().map(policy).collect()),
        ("are the same dataset, file by file", twins.iter().map(lang).collect()),
    ];
    let of_axis = |axis: &&str| {
        let names = twins.iter().map(|twin| [&twin.same_as, &twin.place].map(|place| value_at(place, axis)));
        ("have the same contents", names.collect())
    };
    let mut sentences = Vec::new();
    for (are, pairs) in kinds.into_iter().chain(axes.iter().map(of_axis)) {
        let pairs = distinct(pairs.into_iter().filter(|[same, name]| same != name));
        for same in distinct(pairs.iter().map(|[same, _]| same)) {
            let others = pairs.iter().filter(|[of, _]| of == same).map(|[_, name]| name);
            let names: Vec<String> =
                [same].into_iter().chain(others).map(|name| format!("`{name}`")).collect();
            sentences.push(format!("{} {are}: one row, counted once.", listed(&names)));
        }
    }
    sentences
}

/// Other names of a language.
pub(crate) fn other_langs<'a>(sweep: &'a Sweep, lang: &str) -> Vec<&'a str> {
    let own = sweep.twins.iter().filter(|twin| *twin.same_as.lang == *lang && *twin.place.lang != *lang);
    distinct(own.map(|twin| twin.place.lang.as_str()))
}

/// Notes the other names of each group's policy.
pub(crate) fn name_policies(groups: &mut [Group], sweep: &Sweep) {
    for Twin { place, same_as } in sweep.twins.iter().filter(|twin| is_of_policies(twin)) {
        let extras: Vec<String> =
            sweep.plan.extra_axes().iter().map(|axis| value_at(same_as, axis)).collect();
        let is_here = |group: &&mut Group| {
            *group.lang == *same_as.lang && group.policy == same_as.policy.as_str() && group.extras == extras
        };
        if let Some(group) = groups.iter_mut().find(is_here) {
            group.other_names.push(place.policy.to_string());
        }
    }
}

/// How many records belong to no cell of a sweep.
pub(crate) fn strays(sweep: &Sweep, records: &[Record]) -> usize {
    let known: HashSet<&str> = sweep.cells.iter().map(|cell| cell.id.as_str()).collect();
    records.iter().filter(|record| !known.contains(record.cell.id.as_str())).count()
}

/// Whether only policies differ.
fn is_of_policies(twin: &Twin) -> bool {
    let Twin { place, same_as } = twin;
    place.lang == same_as.lang && place.axes == same_as.axes && place.policy != same_as.policy
}

fn value_at(place: &GridPlace, axis: &str) -> String {
    place.axes.get(axis).map_or_else(|| "?".into(), text)
}

fn text(value: &toml::Value) -> String {
    serde_json::to_value(value).map_or_else(|_| "?".into(), |value| shown(&value))
}
