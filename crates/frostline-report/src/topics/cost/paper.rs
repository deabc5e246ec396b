//! What a step costs, predicted and measured in turns, for LaTeX.

use crate::keys;
use crate::study::turns::{StepCost, saving};
use crate::study::{BASELINE, Group, Study};
use crate::table::{Columns, PaperTable, Quantity, Value};

use super::turns::Predicted;

/// The table of all languages.
pub(super) fn table(study: &Study, predicted: &dyn Fn(&Group) -> Predicted) -> PaperTable {
    let cost = |group: &Group| study.step_cost(group);
    let other = |group: &Group| group.policy != BASELINE;
    let number = move |group: &Group, get: fn(&StepCost) -> Option<f64>| cost(group).and_then(get);
    // Where steps differ, or what learns changes on the way, no step stands for all.
    let even = |group: &Group| !group.is_staged();
    let columns = Columns::default()
        .column("Language", Quantity::Text, |group: &&Group| group.lang.clone())
        .and(keys::of_group(study))
        .optional("GFLOP per step", Quantity::Number(1, ""), move |group| {
            predicted(group).gflop.filter(|_| even(group))
        })
        .optional("Time saved, predicted", Quantity::Percent(1), move |group| predicted(group).saved)
        .optional("Predicted step memory", Quantity::Number(0, "MiB"), move |group| {
            predicted(group).memory_mib.filter(|_| even(group))
        })
        .optional("Memory saved, predicted", Quantity::Number(0, "MiB"), move |group| {
            predicted(group).saved_mib.filter(|_| other(group) && even(group))
        })
        .optional("Step in turns", Quantity::Measured("ms"), move |group| {
            cost(group).map(|cost| cost.step_ms)
        })
        .optional("Processor time", Quantity::Measured("ms"), move |group| number(group, |cost| cost.cpu_ms))
        .optional("Time saved", Quantity::Percent(1), move |group| match other(group) {
            true => saving(group, cost(group)),
            false => Value::Missing,
        })
        .optional("Peak memory", Quantity::Number(0, "MiB"), move |group| number(group, |cost| cost.peak_mib))
        .optional("Memory saved", Quantity::Number(0, "MiB"), move |group| {
            number(group, |cost| cost.saved_mib).filter(|_| other(group))
        })
        .optional("Rounds", Quantity::Count, move |group| cost(group).map(|cost| cost.rounds));
    let names = study.groups.iter().map(|group| [group.lang.clone(), name(group)]).collect();
    let caption = "What a training step costs: predicted from shapes, and measured in turns. Time saved is in percent of a step of none.";
    let caption = match study.step_costs.compare_cpu_time() {
        true => {
            format!(
                "{caption} If processor time is given, time saved is measured in it, since the machine was busy."
            )
        }
        false => caption.into(),
    };
    let table = PaperTable::new("costs", caption, columns.table(&study.groups));
    PaperTable { grouped: true, ..table.named(names, 2 + study.axes().len(), "") }
}

/// The policy, then the values of further axes.
fn name(group: &Group) -> String {
    let extras = group.extras.iter().map(String::as_str);
    [group.policy.as_str()].into_iter().chain(extras).collect::<Vec<_>>().join("/")
}
