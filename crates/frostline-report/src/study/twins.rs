//! Cells that are the same experiment under two names. One of them is kept for all, so that nothing is counted twice; the other
//! names are shown with it.

use std::collections::{BTreeMap, HashSet};

use frostline_record::{Cell, GridPlace, Reading, Record, Sweep, Twin, find_twins};

use crate::number::listed;
use crate::study::cells::{CellView, distinct, show_value};
use crate::study::groups::CellGroup;

/// Returns the sweep without cells that repeat others. A sweep that was run as a whole has none; one of an older version, or
/// with cells of several plans, may have them.
pub(crate) fn merge_twins(sweep: &Sweep, records: &[Record]) -> Sweep {
    let blocks = blocks_by_config(records);
    let found = find_twins(sweep.cells.iter().map(|cell| (&cell.settings, cell_reading(cell, &blocks))));
    let axes = sweep.plan.extra_axes();
    let place = |at: usize| GridPlace::new(&sweep.cells[at].settings, &axes);
    let done: HashSet<&str> =
        records.iter().filter(|record| record.result.is_some()).map(|record| &*record.cell.id).collect();
    let is_done = |at: usize| done.contains(sweep.cells[at].id.as_str());
    // By their places: whether each cell of the first has a result if one of the other has, so that none is lost.
    let mut pairs: Vec<(Twin, bool)> = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_cells: Vec<Option<usize>> = Vec::new();
    for (at, same) in found.iter().enumerate() {
        let number = same.map(|same| {
            let twin = Twin { place: place(at), same_as: place(same) };
            let number = *numbers.entry(format!("{twin:?}")).or_insert(pairs.len());
            if number == pairs.len() {
                pairs.push((twin, true));
            }
            pairs[number].1 &= is_done(same) || !is_done(at);
            number
        });
        of_cells.push(number);
    }
    let is_merged = |number: Option<usize>| number.is_some_and(|number| pairs[number].1);
    let kept = sweep.cells.iter().zip(&of_cells).filter(|(_, number)| !is_merged(**number));
    let cells = kept.map(|(cell, _)| cell.clone()).collect();
    let found = pairs.iter().filter(|(twin, whole)| *whole && twin.place != twin.same_as);
    let twins = sweep.twins.iter().chain(found.map(|(twin, _)| twin)).cloned();
    Sweep { cells, twins: twins.collect(), ..sweep.clone() }
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

fn cell_reading(cell: &Cell, blocks: &BTreeMap<&str, usize>) -> Option<Reading> {
    let blocks = *blocks.get(cell.inputs.get("config")?.sha256.as_str())?;
    let contents = cell.inputs.iter().map(|(role, input)| (role.clone(), input.sha256.clone())).collect();
    Some(Reading { contents, blocks: blocks.into() })
}

/// Names of a plan that no cell has, since other names are kept in their place.
pub(crate) struct OtherNames<'a> {
    /// Names of policies that no cell has, each with the one that has their results.
    policies: BTreeMap<&'a str, &'a str>,
    langs: BTreeMap<&'a str, &'a str>,
    /// Values of further axes, by path.
    axes: BTreeMap<&'a str, Vec<(&'a toml::Value, &'a toml::Value)>>,
    /// Names of policies that have cells of their own elsewhere, as with a deeper encoder.
    partial: Vec<&'a Twin>,
}

impl<'a> OtherNames<'a> {
    pub fn of(sweep: &'a Sweep) -> Self {
        let own: HashSet<&str> = sweep.cells.iter().map(|cell| cell.settings.policy.as_str()).collect();
        let mut names = Self {
            policies: BTreeMap::new(),
            langs: BTreeMap::new(),
            axes: BTreeMap::new(),
            partial: Vec::new(),
        };
        for twin in &sweep.twins {
            let Twin { place, same_as } = twin;
            if place.policy != same_as.policy && !own.contains(place.policy.as_str()) {
                names.policies.insert(place.policy.as_str(), same_as.policy.as_str());
            } else if is_of_policies(twin) {
                names.partial.push(twin);
            }
            if place.lang != same_as.lang {
                names.langs.insert(&place.lang, &same_as.lang);
            }
            for (axis, value) in &place.axes {
                if let Some(same) = same_as.axes.get(axis).filter(|same| *same != value) {
                    names.axes.entry(axis).or_default().push((value, same));
                }
            }
        }
        names
    }

    /// The name of the policy that has this one's results.
    pub fn policy<'b>(&'b self, name: &'b str) -> &'b str {
        self.policies.get(name).copied().unwrap_or(name)
    }

    /// Settings that cells must have, with the names that cells have.
    pub fn in_filter(&self, only: &BTreeMap<String, toml::Value>) -> BTreeMap<String, toml::Value> {
        let renamed = |path: &str, value: &toml::Value| {
            let text = value.as_str().unwrap_or_default();
            let name = match path {
                "policy" => self.policies.get(text),
                "lang" => self.langs.get(text),
                _ => None,
            };
            let same = self.axes.get(path).and_then(|all| all.iter().find(|(other, _)| *other == value));
            name.map(|name| toml::Value::from(*name))
                .or(same.map(|(_, same)| (*same).clone()))
                .unwrap_or(value.clone())
        };
        let each = |(path, value): (&String, &toml::Value)| {
            let value = match value.as_array() {
                Some(all) => all.iter().map(|value| renamed(path, value)).collect::<Vec<_>>().into(),
                None => renamed(path, value),
            };
            (path.clone(), value)
        };
        only.iter().map(each).collect()
    }

    /// The cells again under names that are asked for and have cells of their own elsewhere. A policy that is asked for by both
    /// names is there once.
    pub fn cells_named(&self, asked: &[&str], cells: &[CellView]) -> Vec<CellView> {
        let wanted = |twin: &&&Twin| {
            asked.contains(&twin.place.policy.as_str()) && !asked.contains(&twin.same_as.policy.as_str())
        };
        let twins = self.partial.iter().filter(wanted);
        let of_twin = |twin: &&Twin| {
            let members = cells.iter().filter(|view| twin.same_as.is_of(&view.cell.settings)).cloned();
            let place = twin.place.policy.clone();
            let renamed = move |mut view: CellView| {
                view.cell.settings.policy = place.clone();
                view
            };
            members.map(renamed).collect::<Vec<_>>()
        };
        twins.flat_map(of_twin).collect()
    }
}

/// What names have in common, by what they name.
const POLICIES: &str = "freeze the same parameters";
const DATASETS: &str = "are the same dataset, file by file";
const OTHERS: &str = "have the same contents";

/// Sentences about names that mean the same, for readers who look for a name that has no row.
pub(crate) fn twin_sentences(sweep: &Sweep) -> Vec<String> {
    let axes = sweep.plan.extra_axes();
    let own: HashSet<&str> = sweep.cells.iter().map(|cell| cell.settings.policy.as_str()).collect();
    // What is the same, if that holds, and both names.
    let mut pairs: Vec<(&str, String, [String; 2])> = Vec::new();
    for Twin { place, same_as } in &sweep.twins {
        let both = |get: &dyn Fn(&GridPlace) -> String| [get(same_as), get(place)];
        // A name with cells of its own means something else there, as in a deeper encoder.
        let held = axes.iter().filter(|_| own.contains(place.policy.as_str()));
        let at =
            held.map(|axis| format!("`{axis}` = {}", value_at(same_as, axis))).collect::<Vec<_>>().join(", ");
        let at = if at.is_empty() { at } else { format!("With {at}, ") };
        pairs.push((POLICIES, at, both(&|place| place.policy.to_string())));
        pairs.push((DATASETS, String::new(), both(&|place| place.lang.to_string())));
        for axis in &axes {
            pairs.push((OTHERS, String::new(), both(&|place| value_at(place, axis))));
        }
    }
    let mut pairs = distinct(pairs.into_iter().filter(|(.., [same, name])| same != name));
    pairs.sort_by_key(|(are, ..)| [POLICIES, DATASETS, OTHERS].iter().position(|kind| kind == are));
    let subjects = distinct(pairs.iter().map(|(are, at, [same, _])| (are, at, same)));
    let sentence = |(are, at, same): (&&str, &String, &String)| {
        let others = pairs.iter().filter(|(of, place, [name, _])| (of, place, name) == (are, at, same));
        let names = [same].into_iter().chain(others.map(|(.., [_, name])| name));
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        format!("{at}{} {are}: one row, counted once.", listed(&names))
    };
    subjects.into_iter().map(sentence).collect()
}

/// Other names of a language.
pub(crate) fn other_langs<'a>(sweep: &'a Sweep, lang: &str) -> Vec<&'a str> {
    let own = sweep.twins.iter().filter(|twin| *twin.same_as.lang == *lang && *twin.place.lang != *lang);
    distinct(own.map(|twin| twin.place.lang.as_str()))
}

/// Notes the other names of each group's policy.
pub(crate) fn name_policies(groups: &mut [CellGroup], sweep: &Sweep) {
    for Twin { place, same_as } in sweep.twins.iter().filter(|twin| is_of_policies(twin)) {
        let extras: Vec<String> =
            sweep.plan.extra_axes().iter().map(|axis| value_at(same_as, axis)).collect();
        let is_here = |group: &&mut CellGroup| {
            *group.lang == *same_as.lang && group.policy == same_as.policy.as_str() && group.extras == extras
        };
        if let Some(group) = groups.iter_mut().find(is_here) {
            group.other_names.push(place.policy.to_string());
        }
    }
}

/// How many records belong to no cell of a sweep.
pub(crate) fn count_strays(sweep: &Sweep, records: &[Record]) -> usize {
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
    serde_json::to_value(value).map_or_else(|_| "?".into(), |value| show_value(&value))
}
