//! The table: a row per language, policy and further axes, a few columns per sweep.

use std::collections::BTreeMap;

use frostline_score::MeanStd;

use super::key::{RowKey, row_key};
use super::{Beside, NamedSweep, judged};
use crate::study::{CellView, distinct};
use crate::table::{Quantity, Table};

/// The axes of all sweeps besides language, policy and seed.
pub(super) fn shared_axes(sweeps: &[NamedSweep]) -> Vec<&str> {
    distinct(sweeps.iter().flat_map(|one| one.study.axes()))
}

/// What a sweep has for a row, by seed.
fn of_seeds(
    one: &NamedSweep,
    axes: &[&str],
    row: &RowKey,
    get: impl Fn(&CellView) -> Option<f64>,
) -> BTreeMap<u64, f64> {
    let members = one.study.cells.iter().filter(|view| row_key(one, view, axes) == *row);
    members.filter_map(|view| Some((view.cell.settings.seed, get(view)?))).collect()
}

fn mean(values: BTreeMap<u64, f64>) -> Option<MeanStd> {
    MeanStd::of(&values.into_values().collect::<Vec<_>>())
}

fn accuracy_on(split: &'static str) -> impl Fn(&CellView) -> Option<f64> {
    move |view| Some(view.done()?.score(split)?.accuracy())
}

fn train_s(view: &CellView) -> Option<f64> {
    Some(view.done()?.timing.as_ref()?.train_ms / 1e3)
}

/// The rows of all sweeps, by language.
pub(super) fn row_keys(sweeps: &[NamedSweep], axes: &[&str]) -> Vec<RowKey> {
    let keys =
        |one: &NamedSweep| one.study.cells.iter().map(|view| row_key(one, view, axes)).collect::<Vec<_>>();
    let mut rows = distinct(sweeps.iter().flat_map(keys));
    let langs = distinct(rows.iter().map(|row| row.lang.clone()));
    rows.sort_by_key(|row| langs.iter().position(|lang| *lang == row.lang));
    rows
}

/// A sweep's mean accuracy on dev of a row.
pub(super) fn dev_accuracy(one: &NamedSweep, axes: &[&str], row: &RowKey) -> Option<MeanStd> {
    mean(of_seeds(one, axes, row, accuracy_on("dev")))
}

/// The table of sweeps; `beside` has the comparison of each with the first.
pub(super) fn build_table(sweeps: &[NamedSweep], axes: &[&str], beside: &[Beside]) -> Table {
    let mut columns = RowKey::columns(axes, |row: &RowKey| row);
    for (at, one) in sweeps.iter().enumerate() {
        let spread = move |row: &RowKey, split| mean(of_seeds(one, axes, row, accuracy_on(split)));
        columns = columns
            .column(format!("{}: dev", one.name), Quantity::Percent(2), move |row| spread(row, "dev"))
            .ranked(2, format!("{}: test", one.name), Quantity::Percent(2), move |row| spread(row, "test"));
        if let Some(beside) = at.checked_sub(1).map(|before| &beside[before]) {
            let first = &sweeps[0];
            columns = columns.optional(
                format!("{} − {}", one.name, first.name),
                Quantity::Change(2),
                move |row: &RowKey| {
                    let ours = of_seeds(one, axes, row, accuracy_on("dev"));
                    let theirs = of_seeds(first, axes, row, accuracy_on("dev"));
                    let pairs =
                        ours.into_iter().filter_map(|(seed, ours)| Some((seed, ours - theirs.get(&seed)?)));
                    mean(pairs.collect()).filter(|_| beside.unlike.allows(&row.lang))
                },
            );
            columns =
                columns.optional(format!("{}: verdict", one.name), Quantity::Text, move |row: &RowKey| {
                    judged::dev_verdict(&beside.judged, row)
                });
        }
        columns = columns
            .ranked(3, format!("{}: training", one.name), Quantity::Fine("s"), move |row| {
                let alike = one.study.machines.len() < 2;
                mean(of_seeds(one, axes, row, train_s)).filter(|_| alike)
            })
            .ranked(4, format!("{}: seeds", one.name), Quantity::Count, move |row| {
                of_seeds(one, axes, row, accuracy_on("dev")).len()
            });
    }
    columns.table(row_keys(sweeps, axes))
}
