//! What is only known beside the cell in which everything learns, of the same seed, language and further axes.

use crate::study::cells::{BASELINE, CellView, Done};
use crate::study::stages::value;

/// The score on dev minus the baseline's, of each member whose seed has a baseline.
pub(crate) fn gains(members: &[&CellView], all: &[CellView]) -> Vec<f64> {
    let score = |done: &Done| done.score("dev").map(value);
    let gain = |view: &&CellView| Some(score(view.done()?)? - score(baseline_of(view, all)?)?);
    members.iter().filter_map(gain).collect()
}

/// The finished cell that differs only in freezing nothing.
fn baseline_of<'a>(view: &CellView, all: &'a [CellView]) -> Option<&'a Done> {
    all.iter()
        .filter(|other| other.cell.settings.policy == BASELINE && other.is_twin_of(view))
        .find_map(CellView::done)
}
