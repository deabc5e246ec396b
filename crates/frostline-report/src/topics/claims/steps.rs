//! Training times by steps that policies took in turns. Rounds take the place of seeds: in each, both policies take a
//! step on the same batch, so that what else the machine does falls on both; if that was much, processor time is
//! compared.

use frostline_score::{Estimate, MeanInterval, median};

use crate::study::turns::{RoundRatios, StepCost, widen_interval};
use crate::study::{CellView, Study, distinct};
use crate::topics::claims::rows::{Over, PairedComparison};
use crate::topics::claims::step_twins::{MeasuredTwins, measure_twins, pooled_rows};
use crate::topics::claims::verdict::{DifferenceQuestion, WantedDifference};

/// The steps of A over the steps of B.
struct Ratio {
    ratios: RoundRatios,
    /// See [`StepCost::doubt_over`].
    doubt: f64,
}

type MeasuredRatio<'a> = MeasuredTwins<'a, Ratio>;

/// A row per comparison, and one for all if their mean decides. Nothing unless the steps of every comparison were timed.
pub(super) fn step_rows(
    study: &Study,
    cells: &[&CellView],
    pairs: &[(&str, &str)],
    DifferenceQuestion { wanted, comparisons }: DifferenceQuestion,
) -> Option<(Vec<PairedComparison>, Option<PairedComparison>)> {
    let ratio = |[a, b]: [&StepCost; 2]| Some(Ratio { ratios: a.over(b)?, doubt: a.doubt_over(b) });
    let found = measure_twins(study, cells, pairs, ratio)?;
    Some(pooled_rows(&found, comparisons, have_a_mean, |ratios, cells, names| {
        ratio_row(ratios, cells, names, wanted)
    }))
}

/// Whether ratios are of the same hardware, and all of time or all of processor time.
fn have_a_mean(ratios: &[&MeasuredRatio<'_>]) -> bool {
    let kind = |one: &MeasuredRatio<'_>| {
        let [a, _] = one.twins.costs;
        (a.hardware.clone(), a.cpu_ms.is_some())
    };
    ratios.iter().all(|one| kind(one) == kind(ratios[0]))
}

/// The mean of ratios. Ratios of one measurement have the same rounds and are averaged within each; of measurements that
/// were made apart the squares of the intervals' halves add up.
fn ratio_row(
    ratios: &[&MeasuredRatio<'_>],
    cells: String,
    names: Option<[String; 2]>,
    wanted: WantedDifference,
) -> PairedComparison {
    let n = ratios.len() as f64;
    let mean = |of: &dyn Fn(&MeasuredRatio<'_>) -> f64| ratios.iter().map(|one| of(one)).sum::<f64>() / n;
    let measured: Vec<(f64, usize, Estimate)> = distinct(ratios.iter().map(|one| one.found.ratios.measured))
        .into_iter()
        .map(|measured| {
            let same: Vec<&[f64]> = ratios
                .iter()
                .filter(|one| one.found.ratios.measured == measured)
                .map(|one| one.found.ratios.by_round.as_slice())
                .collect();
            let rounds = same.iter().map(|one| one.len()).min().unwrap_or(0);
            let of_round = |round: usize| same.iter().map(|one| one[round]).sum::<f64>() / same.len() as f64;
            let by_round: Vec<f64> = (0..rounds).map(of_round).collect();
            (same.len() as f64 / n, rounds, median(&by_round, 0.95))
        })
        .collect();
    let half = |of: &dyn Fn(&Estimate) -> f64| {
        measured.iter().map(|(share, _, ratio)| (share * of(ratio)).powi(2)).sum::<f64>().sqrt()
    };
    let value = measured.iter().map(|(share, _, ratio)| share * ratio.value).sum::<f64>();
    let low = value - half(&|ratio| ratio.value - ratio.low);
    let high = value + half(&|ratio| ratio.high - ratio.value);
    let Estimate { low, high, .. } =
        widen_interval(Estimate { value, low, high }, mean(&|one| one.found.doubt));
    let interval = Some([low, high]).filter(|ends| ends.iter().all(|end| end.is_finite()));
    let interval = interval.map(|ends| ends.map(|end| 100.0 * (end - 1.0)));
    PairedComparison {
        cells,
        names,
        means: [0, 1].map(|side| mean(&|one| one.twins.costs[side].compared_ms())),
        seeds: Vec::new(),
        differences: Vec::new(),
        mean: MeanInterval {
            n: measured.iter().map(|(_, rounds, _)| rounds).sum(),
            mean: 100.0 * (value - 1.0),
            interval,
        },
        over: Over::Rounds,
        verdict: wanted.verdict(interval),
        room: interval.map(|interval| wanted.room(interval)),
    }
}
