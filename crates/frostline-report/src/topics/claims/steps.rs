//! Training times by steps that policies took in turns. Rounds take the place of seeds: in each, both policies take a
//! step on the same batch, so that what else the machine does falls on both; where that was much, processor time is
//! compared.

use frostline_record::Comparisons;
use frostline_score::{Estimate, MeanInterval, median};

use crate::study::hardware::Hardware;
use crate::study::turns::{RoundRatios, StepCost, widened};
use crate::study::{CellView, Study, distinct};
use crate::topics::claims::rows::{Over, PairedComparison};
use crate::topics::claims::step_twins::{StepTwins, step_twins};
use crate::topics::claims::verdict::{Question, Wanted};

/// A's step over B's in one language and one value of each further axis.
struct Ratio {
    lang: String,
    cells: String,
    names: [String; 2],
    compared_ms: [f64; 2],
    by_cpu_time: bool,
    hardware: Hardware,
    ratios: RoundRatios,
    /// See [`StepCost::doubt_over`].
    doubt: f64,
}

/// One row per comparison. Where their mean decides, also one per language that has several, then one for all. Nothing unless
/// the steps of every comparison were timed.
pub(super) fn rows(
    study: &Study,
    cells: &[&CellView],
    pairs: &[(&str, &str)],
    Question { wanted, comparisons }: Question,
) -> Option<(Vec<PairedComparison>, Option<PairedComparison>)> {
    let found: Vec<Ratio> = ratios(study, cells, pairs)?;
    let all: Vec<&Ratio> = found.iter().collect();
    let langs = distinct(all.iter().map(|one| one.lang.as_str()));
    let pools = comparisons == Comparisons::Mean;
    let mut rows = Vec::new();
    for lang in &langs {
        let of_lang: Vec<&Ratio> = all.iter().filter(|one| one.lang == *lang).copied().collect();
        rows.extend(
            of_lang.iter().map(|one| row(&[one], one.cells.clone(), Some(one.names.clone()), wanted)),
        );
        if pools && of_lang.len() > 1 && langs.len() > 1 && have_a_mean(&of_lang) {
            rows.push(row(&of_lang, (*lang).into(), None, wanted));
        }
    }
    let pooled = pools && rows.len() > 1 && have_a_mean(&all);
    let together = pooled.then(|| row(&all, langs.join(" and "), None, wanted));
    (!rows.is_empty()).then_some((rows, together))
}

/// Ratios of different hardware have no mean, nor have those of time and of processor time.
fn have_a_mean(ratios: &[&Ratio]) -> bool {
    let kind = |one: &Ratio| (one.hardware.clone(), one.by_cpu_time);
    ratios.iter().all(|one| kind(one) == kind(ratios[0]))
}

/// Those of all twins; nothing if one is missing.
fn ratios(study: &Study, cells: &[&CellView], pairs: &[(&str, &str)]) -> Option<Vec<Ratio>> {
    let of_twins = |StepTwins { lang, cells, names, costs }: StepTwins<'_>| {
        let [a, b] = costs;
        Some(Ratio {
            lang,
            cells,
            names,
            compared_ms: costs.map(StepCost::compared_ms),
            by_cpu_time: a.cpu_ms.is_some(),
            hardware: a.hardware.clone(),
            ratios: a.over(b)?,
            doubt: a.doubt_over(b),
        })
    };
    step_twins(study, cells, pairs)?.into_iter().map(of_twins).collect()
}

/// The mean of ratios. Those of one measurement are of the same rounds, so they are averaged within each; of measurements that
/// were made apart the squares of the intervals' halves add up.
fn row(ratios: &[&Ratio], cells: String, names: Option<[String; 2]>, wanted: Wanted) -> PairedComparison {
    let n = ratios.len() as f64;
    let mean = |of: &dyn Fn(&Ratio) -> f64| ratios.iter().map(|one| of(one)).sum::<f64>() / n;
    let measured: Vec<(f64, usize, Estimate)> = distinct(ratios.iter().map(|one| one.ratios.measured))
        .into_iter()
        .map(|measured| {
            let same: Vec<&[f64]> = ratios
                .iter()
                .filter(|one| one.ratios.measured == measured)
                .map(|one| one.ratios.by_round.as_slice())
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
    let Estimate { low, high, .. } = widened(Estimate { value, low, high }, mean(&|one| one.doubt));
    let interval = Some([low, high]).filter(|ends| ends.iter().all(|end| end.is_finite()));
    let interval = interval.map(|ends| ends.map(|end| 100.0 * (end - 1.0)));
    PairedComparison {
        cells,
        names,
        means: [0, 1].map(|side| mean(&|one| one.compared_ms[side])),
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
