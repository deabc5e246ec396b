//! The first columns of tables, which identify a row.

use crate::study::cells::NOTHING;
use crate::study::words::extras_name;
use crate::study::{CellGroup, CellView, Placed, Study};
use crate::table::{Quantity, TableColumns, TableValue};

/// The policy and the values of the further axes, from a row's own.
pub(crate) fn policy_columns<'a, R: 'a>(
    study: &Study,
    policy: impl Fn(&R) -> String + 'a,
    extras: impl Fn(&R) -> &[String] + Clone + 'a,
) -> TableColumns<'a, R> {
    let columns = TableColumns::default().column("Frozen", Quantity::Text, policy);
    columns.and(axis_columns(study, extras))
}

/// The same of rows that are about one policy.
pub(crate) fn of_rows<'a, R: Placed + 'a>(study: &Study) -> TableColumns<'a, R> {
    policy_columns(study, |row: &R| row.place().policy.to_string(), |row: &R| row.place().extras)
}

/// The values of the further axes, a column each.
pub(crate) fn axis_columns<'a, R: 'a>(
    study: &Study,
    extras: impl Fn(&R) -> &[String] + Clone + 'a,
) -> TableColumns<'a, R> {
    let names = study.axes().into_iter().map(String::from).enumerate();
    TableColumns::default().each(
        names,
        |(_, axis)| format!("`{axis}`"),
        Quantity::Text,
        move |row, (at, _)| extras(row).get(*at).cloned(),
    )
}

/// The same of a group.
pub(crate) fn of_group<'a>(study: &Study) -> TableColumns<'a, &'a CellGroup> {
    policy_columns(study, |group: &&CellGroup| group.names(), |group: &&CellGroup| &group.extras)
}

/// A policy and the values of further axes as one name, for LaTeX: `first-4/2e-5`.
pub(crate) fn path(policy: &str, extras: &[String]) -> String {
    [policy].into_iter().chain(extras.iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// A group's policy and further axes in a sentence.
pub(crate) fn name(group: &CellGroup) -> String {
    [group.policy.clone()].into_iter().chain(group.extras.iter().cloned()).collect::<Vec<_>>().join(", ")
}

/// A policy with the further axes in a heading: `first-4, optimizer.lr = 2e-5`.
pub(crate) fn title(study: &Study, first: String, extras: &[String]) -> String {
    let extras = extras_name(study, extras);
    if extras.is_empty() { first } else { format!("{first}, {extras}") }
}

/// The first columns of a file with rows of cells.
pub(crate) fn of_cell<'a, R: 'a>(
    study: &Study,
    cell: impl Fn(&R) -> &CellView + Clone + 'a,
) -> TableColumns<'a, R> {
    let get = |of: fn(&CellView) -> TableValue| {
        let cell = cell.clone();
        move |row: &R| of(cell(row))
    };
    let synthetic = study.synthetic();
    let columns = TableColumns::default()
        .column("synthetic", Quantity::Text, move |_| synthetic)
        .column("cell", Quantity::Text, get(|view| view.cell.id.as_str().into()))
        .column("status", Quantity::Text, get(|view| view.state.name().into()))
        .column("lang", Quantity::Text, get(|view| view.cell.settings.lang.as_str().into()))
        .column("policy", Quantity::Text, get(|view| view.cell.settings.policy.as_str().into()))
        .column("seed", Quantity::Count, get(|view| view.cell.settings.seed.into()));
    columns.and(raw_axes(study, move |row| &cell(row).extras))
}

/// The values of the further axes for programs: an empty text is empty.
pub(crate) fn raw_axes<'a, R: 'a>(
    study: &Study,
    extras: impl Fn(&R) -> &[String] + Clone + 'a,
) -> TableColumns<'a, R> {
    let names = study.axes().into_iter().map(String::from).enumerate();
    TableColumns::default().each(
        names,
        |(_, axis)| axis.clone(),
        Quantity::Text,
        move |row, (at, _)| extras(row).get(*at).filter(|value| *value != NOTHING).cloned(),
    )
}
