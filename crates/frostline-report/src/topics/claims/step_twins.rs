//! The steps of two policies that a test compares, once for each language and value of the further axes: steps are measured once
//! for all seeds.

use frostline_record::Comparisons;

use crate::study::turns::StepCost;
use crate::study::{CellView, Study, distinct};
use crate::topics::claims::rows::{PairedComparison, place_without};

/// What steps of A and of B cost in one language and one value of each further axis.
pub(super) struct StepTwins<'a> {
    pub lang: String,
    pub cells: String,
    pub names: [String; 2],
    pub costs: [&'a StepCost; 2],
}

/// What was measured of twins.
pub(super) struct MeasuredTwins<'a, T> {
    pub twins: StepTwins<'a>,
    pub found: T,
}

/// Measures all twins; nothing if the steps of one were not measured, or there are none.
pub(super) fn measure_twins<'a, T>(
    study: &'a Study,
    cells: &[&CellView],
    pairs: &[(&str, &str)],
    measure: impl Fn([&StepCost; 2]) -> Option<T>,
) -> Option<Vec<MeasuredTwins<'a, T>>> {
    let found = step_twins(study, cells, pairs)?.into_iter();
    let found: Option<Vec<MeasuredTwins<'a, T>>> =
        found.map(|twins| Some(MeasuredTwins { found: measure(twins.costs)?, twins })).collect();
    found.filter(|found| !found.is_empty())
}

/// One row per comparison. If their mean decides, also one per language that has several, then one for all, each unless its
/// comparisons cannot be averaged. `row` makes a row of its comparisons, cells and names.
pub(super) fn pooled_rows<'a, T>(
    found: &[MeasuredTwins<'a, T>],
    comparisons: Comparisons,
    have_a_mean: impl Fn(&[&MeasuredTwins<'a, T>]) -> bool,
    row: impl Fn(&[&MeasuredTwins<'a, T>], String, Option<[String; 2]>) -> PairedComparison,
) -> (Vec<PairedComparison>, Option<PairedComparison>) {
    let all: Vec<&MeasuredTwins<'a, T>> = found.iter().collect();
    let langs = distinct(all.iter().map(|one| one.twins.lang.as_str()));
    let pools = comparisons == Comparisons::Mean;
    let mut rows = Vec::new();
    for lang in &langs {
        let of_lang: Vec<_> = all.iter().copied().filter(|one| one.twins.lang == *lang).collect();
        rows.extend(
            of_lang.iter().map(|one| row(&[one], one.twins.cells.clone(), Some(one.twins.names.clone()))),
        );
        if pools && of_lang.len() > 1 && langs.len() > 1 && have_a_mean(&of_lang) {
            rows.push(row(&of_lang, (*lang).into(), None));
        }
    }
    let pooled = pools && rows.len() > 1 && have_a_mean(&all);
    let together = pooled.then(|| row(&all, langs.join(" and "), None));
    (rows, together)
}

/// Steps of all pairs of policies; nothing if the steps of one were not measured.
fn step_twins<'a>(
    study: &'a Study,
    cells: &[&CellView],
    pairs: &[(&str, &str)],
) -> Option<Vec<StepTwins<'a>>> {
    let mut found: Vec<StepTwins<'_>> = Vec::new();
    for &(a, b) in pairs {
        for view in cells.iter().filter(|view| view.cell.settings.policy == a) {
            let is_twin = |other: &&&CellView| other.cell.settings.policy == b && other.is_twin_of(view);
            let Some(twin) = cells.iter().find(is_twin) else { continue };
            let (cells, names) = (place_without(study, view, None), [a, b].map(String::from));
            if found.iter().any(|one| one.cells == cells && one.names == names) {
                continue;
            }
            let costs = [study.step_costs.find(view)?, study.step_costs.find(twin)?];
            found.push(StepTwins { lang: view.cell.settings.lang.to_string(), cells, names, costs });
        }
    }
    Some(found)
}
