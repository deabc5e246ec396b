//! The steps of two policies that a test compares, once for each language and value of the further axes: steps are measured once
//! for all seeds.

use crate::study::turns::StepCost;
use crate::study::{CellView, Study};
use crate::topics::claims::rows::place;

/// What steps of A and of B cost in one language and one value of each further axis.
pub(super) struct StepTwins<'a> {
    pub lang: String,
    pub cells: String,
    pub names: [String; 2],
    pub costs: [&'a StepCost; 2],
}

/// Those of all pairs of policies; nothing if the steps of one were not measured.
pub(super) fn step_twins<'a>(
    study: &'a Study,
    cells: &[&CellView],
    pairs: &[(&str, &str)],
) -> Option<Vec<StepTwins<'a>>> {
    let mut found: Vec<StepTwins<'_>> = Vec::new();
    for &(a, b) in pairs {
        for view in cells.iter().filter(|view| view.cell.settings.policy == a) {
            let is_twin = |other: &&&CellView| other.cell.settings.policy == b && other.is_twin_of(view);
            let Some(twin) = cells.iter().find(is_twin) else { continue };
            let (cells, names) = (place(study, view, None), [a, b].map(String::from));
            if found.iter().any(|one| one.cells == cells && one.names == names) {
                continue;
            }
            let costs = [study.step_costs.find(view)?, study.step_costs.find(twin)?];
            found.push(StepTwins { lang: view.cell.settings.lang.to_string(), cells, names, costs });
        }
    }
    Some(found)
}
