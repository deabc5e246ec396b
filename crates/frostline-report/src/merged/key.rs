//! Which row of a comparison a cell belongs to.

use std::collections::BTreeMap;

use super::NamedSweep;
use crate::keys;
use crate::study::CellView;
use crate::study::cells::{distinct, show_setting};
use crate::table::{Quantity, TableColumns};

/// What a row is about: language, policy, and the values of the axes that any of the sweeps has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowKey {
    pub lang: String,
    pub policy: String,
    pub values: Vec<String>,
}

impl RowKey {
    /// The columns that identify a row.
    pub fn columns<'a, R: 'a>(
        axes: &[&'a str],
        of: impl Fn(&R) -> &RowKey + Copy + 'a,
    ) -> TableColumns<'a, R> {
        TableColumns::default()
            .column("Language", Quantity::Text, move |row: &R| of(row).lang.clone())
            .column("Frozen", Quantity::Text, move |row: &R| of(row).policy.clone())
            .each(
                axes.iter().copied().enumerate(),
                |(_, axis)| format!("`{axis}`"),
                Quantity::Text,
                move |row: &R, (at, _)| of(row).values.get(*at).cloned(),
            )
    }

    /// The policy, then the values of further axes.
    pub fn name(&self) -> String {
        keys::path(&self.policy, &self.values)
    }
}

/// The names of a sweep's policies in the first sweep, as far as they differ: what has other names in either sweep may be called by
/// another one in each. Nothing is known of an encoder of another depth.
pub(super) fn policy_names_in(first: &NamedSweep, other: &NamedSweep) -> BTreeMap<String, String> {
    let configs = |one: &NamedSweep| -> Vec<Option<String>> {
        let hashes = one.study.cells.iter().map(|view| Some(view.cell.inputs.get("config")?.sha256.clone()));
        distinct(hashes)
    };
    if configs(first) != configs(other) {
        return BTreeMap::new();
    }
    let sets = |one: &NamedSweep| -> Vec<Vec<String>> {
        let groups = one.study.groups.iter().filter(|group| !group.other_names.is_empty());
        groups.map(|group| group.all_names().map(String::from).collect()).collect()
    };
    let sets: Vec<Vec<String>> = [sets(first), sets(other)].concat();
    let ours = first.study.policies();
    let of_first = |policy: &&str| {
        let known = sets.iter().filter(|set| set.iter().any(|name| name == policy)).flatten();
        let name = known.into_iter().find(|name| ours.contains(&name.as_str()))?;
        Some(((*policy).to_string(), name.clone()))
    };
    let theirs = other.study.policies();
    theirs.iter().filter(|policy| !ours.contains(policy)).filter_map(of_first).collect()
}

/// The row of a cell of a sweep.
pub(super) fn row_key(one: &NamedSweep, view: &CellView, axes: &[&str]) -> RowKey {
    let settings = &view.cell.settings;
    let policy = settings.policy.as_str();
    RowKey {
        lang: settings.lang.to_string(),
        policy: one.names.get(policy).map_or(policy, String::as_str).into(),
        values: axes.iter().map(|axis| show_setting(settings, axis)).collect(),
    }
}
