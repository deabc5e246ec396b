//! Peaks of memory of two policies' steps, from the processes that took steps of one policy alone: of the GPU if steps
//! are computed on one, else of the process. There is one measurement per policy, whatever the seeds.

use frostline_score::MeanInterval;

use crate::study::turns::StepCost;
use crate::study::{CellView, Study};
use crate::topics::claims::rows::{Over, PairedComparison};
use crate::topics::claims::step_twins::{measure_twins, pooled_rows};
use crate::topics::claims::verdict::{DifferenceQuestion, WantedDifference};

/// How far a process's peak may be from the peak of another run, as a part of it. A GPU's allocator counts the same bytes in every
/// run.
///
/// # Source
/// Three runs each of four policies with all-MiniLM-L6-v2 were within 2.1 % of their mean (docs/claims.md).
const DOUBT: f64 = 0.03;

/// The peaks of A and B.
struct Peaks {
    mib: [f64; 2],
    on_gpu: bool,
}

impl Peaks {
    /// Peaks of the same hardware.
    fn of([a, b]: [&StepCost; 2]) -> Option<Self> {
        let mib = [a.peak_mib?, b.peak_mib?];
        (a.hardware == b.hardware).then_some(Self { mib, on_gpu: a.on_gpu })
    }

    /// A minus B in percent of B, with the ends of an interval.
    fn difference(&self) -> (f64, [f64; 2]) {
        let ratio = self.mib[0] / self.mib[1];
        let doubt = if self.on_gpu { 1.0 } else { (1.0 + DOUBT) / (1.0 - DOUBT) };
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        (percent(ratio), [percent(ratio / doubt), percent(ratio * doubt)])
    }
}

/// Why peaks are not compared.
pub(super) const UNMEASURED: &str = "the memory of these policies' steps was not measured. It is measured with the steps in \
    turns (the same sweep command without `--no-timing`), of a GPU by its allocator; files of before that hold the memory of the \
    process, which is not the GPU's";

/// A row per comparison, and one for all if their mean decides. Nothing unless every comparison was measured.
pub(super) fn memory_rows(
    study: &Study,
    cells: &[&CellView],
    pairs: &[(&str, &str)],
    DifferenceQuestion { wanted, comparisons }: DifferenceQuestion,
) -> Option<(Vec<PairedComparison>, Option<PairedComparison>)> {
    let found = measure_twins(study, cells, pairs, Peaks::of)?;
    Some(pooled_rows(
        &found,
        comparisons,
        |_| true,
        |measured, cells, names| {
            mean_row(&measured.iter().map(|one| &one.found).collect::<Vec<_>>(), cells, names, wanted)
        },
    ))
}

/// The mean of comparisons; their ends are averaged too, since what a process takes more is no chance of its own.
fn mean_row(
    peaks: &[&Peaks],
    cells: String,
    names: Option<[String; 2]>,
    wanted: WantedDifference,
) -> PairedComparison {
    let mean = |of: &dyn Fn(&Peaks) -> f64| peaks.iter().map(|one| of(one)).sum::<f64>() / peaks.len() as f64;
    let interval = [0, 1].map(|end| mean(&|one| one.difference().1[end]));
    PairedComparison {
        cells,
        names,
        means: [0, 1].map(|side| mean(&|one| one.mib[side])),
        seeds: Vec::new(),
        differences: Vec::new(),
        mean: MeanInterval {
            n: peaks.len(),
            mean: mean(&|one| one.difference().0),
            interval: Some(interval),
        },
        over: Over::Measurement,
        verdict: wanted.verdict(Some(interval)),
        room: Some(wanted.room(interval)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::claims::verdict::ClaimVerdict;

    fn judged(mib: [f64; 2], on_gpu: bool, wanted: WantedDifference) -> (f64, ClaimVerdict) {
        let row = mean_row(&[&Peaks { mib, on_gpu }], "en".into(), None, wanted);
        ((row.mean.mean * 1e9).round() / 1e9, row.verdict)
    }

    #[test]
    fn a_process_may_take_a_little_more_and_a_gpu_may_not() {
        let less = WantedDifference::Below(0.0);
        assert_eq!(judged([98.0, 100.0], false, less), (-2.0, ClaimVerdict::NotDecided));
        assert_eq!(judged([98.0, 100.0], true, less), (-2.0, ClaimVerdict::Supported));
        assert_eq!(judged([102.0, 100.0], true, less).1, ClaimVerdict::Contradicted);
        assert_eq!(judged([50.0, 100.0], false, WantedDifference::Below(40.0)).1, ClaimVerdict::Supported);
        // Half, as in a paper; the deviation of a process leaves it open.
        assert_eq!(judged([50.0, 100.0], false, WantedDifference::Below(50.0)).1, ClaimVerdict::NotDecided);
    }
}
