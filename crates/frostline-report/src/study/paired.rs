//! What is only known beside the cell in which everything learns: gains, savings and speed-ups, each beside the
//! cell of the same seed, language and further axes.

use crate::study::cells::{BASELINE, CellView, Done};

/// What members give beside the baseline of their seed, where there is one.
#[derive(Default)]
pub(crate) struct Paired {
    /// Dev accuracy over all words minus the baseline's.
    pub gains: Vec<f64>,
    /// Share of the baseline's training time that is saved.
    pub savings: Vec<f64>,
    /// The baseline's median step time over the member's.
    pub speedups: Vec<f64>,
}

impl Paired {
    /// Looks for each member's baseline among all cells.
    pub fn of(members: &[&CellView], all: &[CellView]) -> Self {
        let mut paired = Self::default();
        for view in members {
            let (Some(mine), Some(base)) = (view.done(), baseline_of(view, all)) else {
                continue;
            };
            if let (Some(mine), Some(base)) = (mine.score("dev"), base.score("dev")) {
                paired.gains.push(mine.accuracy() - base.accuracy());
            }
            if let (Some(mine), Some(base)) = (&mine.timing, &base.timing)
                && base.train_ms > 0.0
            {
                paired.savings.push(1.0 - mine.train_ms / base.train_ms);
            }
            paired.speedups.extend(measured_speedup(view, all));
        }
        paired
    }
}

/// The finished cell that differs only in freezing nothing.
fn baseline_of<'a>(view: &CellView, all: &'a [CellView]) -> Option<&'a Done> {
    all.iter()
        .filter(|other| other.cell.settings.policy == BASELINE && other.is_twin_of(view))
        .find_map(CellView::done)
}

/// How many times as fast a cell's median step was as that of its baseline. A cell of so few steps
/// that none is past the warm-up has a median of zero and so no speed-up.
pub(crate) fn measured_speedup(view: &CellView, all: &[CellView]) -> Option<f64> {
    let step_ms = |done: &Done| done.timing.as_ref().map(|timing| timing.step_ms_median);
    let (mine, base) = (step_ms(view.done()?)?, step_ms(baseline_of(view, all)?)?);
    (mine > 0.0 && base > 0.0).then(|| base / mine)
}
