//! Baselines of a study, see `untrained`.

use crate::study::cells::CellView;
use crate::study::groups::Group;
use crate::study::untrained;
use crate::study::whole::Study;

pub(crate) use crate::study::untrained::{ANY, BaselineScore, BaselineStats, spread};

/// The baselines of the headline of a language's cells, for all further axes together where they make no
/// difference.
pub(crate) fn of(study: &Study, lang: &str) -> Vec<BaselineStats> {
    of_task(study, lang, None)
}

/// Those of a task; of the headline where none is named.
pub(crate) fn of_task(study: &Study, lang: &str, task: Option<&str>) -> Vec<BaselineStats> {
    untrained::of_cells(&study.cells, lang, task)
}

/// The names and dev accuracies of the baselines of a figure's panel, given one of its groups.
pub(crate) fn references(study: &Study, group: &Group) -> Vec<(String, f64)> {
    let all = of(study, &group.lang).into_iter().filter(|one| one.is_at(&group.extras));
    all.filter_map(|one| Some((one.title().to_string(), one.dev.as_ref()?.score.mean))).collect()
}

/// All of a study.
pub(crate) fn all(study: &Study) -> Vec<BaselineStats> {
    study.langs().into_iter().flat_map(|lang| of(study, lang)).collect()
}

/// One cell for each language, seed and combination of further axes: any that is done and has baselines.
pub(crate) fn first_of_seeds(study: &Study) -> impl Iterator<Item = &CellView> {
    untrained::first_of_seeds(&study.cells)
}
