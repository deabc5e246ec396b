//! Confidence intervals of a proportion: Wilson's interval and the bootstrap.
//!
//! Wilson's interval assumes independent words. The bootstrap resamples whole sentences and needs no
//! such assumption, so prefer it for tagging. Its seed is a setting.
//!
//! # Source
//! Wilson, *Probable inference* (1927); Efron and Tibshirani, *An Introduction to the Bootstrap*
//! (1993), chapters 13 and 14.

use frostline_random::Stream;
use serde::{Deserialize, Serialize};

use crate::distribution::{normal_cdf, normal_quantile};

/// A value with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value on the data itself.
    pub value: f64,
    /// Lower limit of the interval.
    pub low: f64,
    /// Upper limit of the interval.
    pub high: f64,
}

/// A part and its whole in one item, such as the correct words and all words of one sentence.
///
/// The measured statistic is the ratio of the sums: accuracy with correct over all words, F1 with
/// twice the correct over gold plus predicted.
///
/// ```
/// use frostline_score::{Resampling, Share, bootstrap_share};
///
/// // Three sentences: 9 of 10 words are right, then 4 of 4, then 5 of 6.
/// let sentences = [(9, 10), (4, 4), (5, 6)].map(|(part, whole)| Share { part, whole });
/// // Long sentences count more: 18 of 20 words, and not the mean of three accuracies.
/// assert_eq!(Share::of(&sentences), 0.9);
/// let accuracy = bootstrap_share(&sentences, &Resampling::default());
/// assert!(accuracy.low < 0.9 && 0.9 < accuracy.high);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Share {
    /// The part.
    pub part: u64,
    /// The whole.
    pub whole: u64,
}

impl Share {
    /// Returns the sum of the parts over the sum of the wholes; NaN if the latter is 0.
    #[must_use]
    pub fn of(shares: &[Self]) -> f64 {
        let part: u64 = shares.iter().map(|s| s.part).sum();
        let whole: u64 = shares.iter().map(|s| s.whole).sum();
        part as f64 / whole as f64
    }

    pub(crate) fn share_of_picked(shares: &[Self], items: &[usize]) -> f64 {
        let part: u64 = items.iter().map(|&i| shares[i].part).sum();
        let whole: u64 = items.iter().map(|&i| shares[i].whole).sum();
        part as f64 / whole as f64
    }
}

/// How to resample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resampling {
    /// How many samples to draw.
    pub resamples: u32,
    /// Coverage of the interval, above 0 and below 1.
    pub confidence: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Resampling {
    /// 10,000 samples, 95 %, seed 0.
    fn default() -> Self {
        Self { resamples: 10_000, confidence: 0.95, seed: 0 }
    }
}

/// How to read the limits off the resampled values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limits {
    /// Quantiles of the resampled values.
    #[default]
    Percentile,
    /// Quantiles corrected for bias and skew (BCa); costs one more evaluation per item.
    BiasCorrected,
}

/// Wilson's score interval for `part` of `whole`.
///
/// If `whole` is 0, the limits are 0 and 1 and the value is NaN.
///
/// # Panics
/// If `part > whole`, or `confidence` is not between 0 and 1.
#[must_use]
pub fn wilson(part: u64, whole: u64, confidence: f64) -> Estimate {
    assert!(part <= whole, "{part} of {whole} is not a proportion");
    let z = two_sided_z(confidence);
    let n = whole as f64;
    let value = part as f64 / n;
    if whole == 0 {
        let (low, high) = (0.0, 1.0);
        return Estimate { value, low, high };
    }
    let scale = 1.0 + z * z / n;
    let centre = value + z * z / (2.0 * n);
    let reach = z * (value * (1.0 - value) / n + z * z / (4.0 * n * n)).sqrt();
    // At the ends the formula gives 0 and 1 except for rounding.
    let low = if part == 0 { 0.0 } else { (centre - reach) / scale };
    let high = if part == whole { 1.0 } else { (centre + reach) / scale };
    Estimate { value, low, high }
}

/// Bootstrap interval of [`Share::of`], resampling whole items such as sentences.
///
/// Without items, all three numbers are NaN.
///
/// # Panics
/// See [`bootstrap`].
#[must_use]
pub fn bootstrap_share(shares: &[Share], resampling: &Resampling) -> Estimate {
    let statistic = |items: &[usize]| Share::share_of_picked(shares, items);
    bootstrap(shares.len(), statistic, Limits::Percentile, resampling)
}

/// Bootstrap interval of any statistic of `n` items.
///
/// The statistic receives indices of items, with repetitions. Resamples in which it is NaN are
/// ignored.
///
/// # Panics
/// If `resampling` has no resamples, or `confidence` is not between 0 and 1.
pub fn bootstrap(
    n: usize,
    statistic: impl Fn(&[usize]) -> f64,
    limits: Limits,
    resampling: &Resampling,
) -> Estimate {
    let outside = 0.5 * (1.0 - checked_confidence(resampling.confidence));
    let all: Vec<usize> = (0..n).collect();
    let value = statistic(&all);
    let mut drawn: Vec<f64> = Vec::with_capacity(resampling.resamples as usize);
    for_each_resample(n, resampling, |items| drawn.push(statistic(items)));
    drawn.retain(|v| !v.is_nan());
    drawn.sort_unstable_by(f64::total_cmp);
    let (low, high) = match limits {
        Limits::Percentile => (outside, 1.0 - outside),
        Limits::BiasCorrected => bias_corrected(&all, &statistic, value, &drawn, outside),
    };
    Estimate { value, low: quantile(&drawn, low), high: quantile(&drawn, high) }
}

/// Calls `visit` with the items of every resample: `n` of `0..n`, with repetitions.
pub(crate) fn for_each_resample(n: usize, resampling: &Resampling, mut visit: impl FnMut(&[usize])) {
    assert!(resampling.resamples > 0, "at least one resample is needed");
    if n == 0 {
        return;
    }
    let stream = Stream::new(resampling.seed, "bootstrap");
    let mut items = vec![0; n];
    for number in 0..resampling.resamples {
        let draws = stream.child(u64::from(number));
        for (counter, item) in items.iter_mut().enumerate() {
            *item = draws.below(counter as u64, n as u64) as usize;
        }
        visit(&items);
    }
}

/// Returns the quantiles to use, corrected by the median's bias and the jackknife's skew.
fn bias_corrected(
    all: &[usize],
    statistic: impl Fn(&[usize]) -> f64,
    value: f64,
    drawn: &[f64],
    outside: f64,
) -> (f64, f64) {
    // Half of the ties count as below, as in scipy.
    let below = drawn.partition_point(|&v| v < value);
    let not_above = drawn.partition_point(|&v| v <= value);
    let bias = normal_quantile((below + not_above) as f64 / (2 * drawn.len()) as f64);
    let left_out = |i: usize| {
        let mut rest = all.to_vec();
        rest.remove(i);
        statistic(&rest)
    };
    let without: Vec<f64> = all.iter().map(|&i| left_out(i)).collect();
    let mean = without.iter().sum::<f64>() / without.len() as f64;
    let squares: f64 = without.iter().map(|v| (mean - v).powi(2)).sum();
    let cubes: f64 = without.iter().map(|v| (mean - v).powi(3)).sum();
    let skew = if squares == 0.0 { 0.0 } else { cubes / (6.0 * squares.powf(1.5)) };
    let corrected = |p: f64| {
        let shifted = bias + normal_quantile(p);
        normal_cdf(bias + shifted / (1.0 - skew * shifted))
    };
    (corrected(outside), corrected(1.0 - outside))
}

/// Linear interpolation between sorted values, which is numpy's default.
pub(crate) fn quantile(sorted: &[f64], p: f64) -> f64 {
    if sorted.is_empty() || p.is_nan() {
        return f64::NAN;
    }
    let at = p * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let low = sorted[below];
    // Equal neighbours are not interpolated, since that would introduce a rounding error.
    if sorted[above] == low { low } else { low + (sorted[above] - low) * (at - below as f64) }
}

pub(crate) fn two_sided_z(confidence: f64) -> f64 {
    -normal_quantile(0.5 * (1.0 - checked_confidence(confidence)))
}

pub(crate) fn checked_confidence(confidence: f64) -> f64 {
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence of {confidence} is not between 0 and 1");
    confidence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_stays_inside_0_and_1_and_reaches_both() {
        for (part, whole) in [(0, 7), (1, 7), (7, 7), (1, 1), (999, 1000)] {
            let e = wilson(part, whole, 0.95);
            assert!(0.0 <= e.low && e.low <= e.value && e.value <= e.high && e.high <= 1.0);
        }
        assert_eq!(wilson(0, 7, 0.95).low, 0.0);
        assert_eq!(wilson(7, 7, 0.95).high, 1.0);
        let nothing = wilson(0, 0, 0.95);
        assert!(nothing.value.is_nan() && (nothing.low, nothing.high) == (0.0, 1.0));
    }

    #[test]
    fn a_bootstrap_is_reproducible_and_contains_its_value() {
        let shares: Vec<Share> = (0..50).map(|i| Share { part: i % 4, whole: 4 }).collect();
        let setting = Resampling { resamples: 500, ..Resampling::default() };
        let first = bootstrap_share(&shares, &setting);
        assert_eq!(first, bootstrap_share(&shares, &setting));
        assert!(first.low < first.value && first.value < first.high);
        assert_ne!(first, bootstrap_share(&shares, &Resampling { seed: 1, ..setting }));
        assert!(bootstrap_share(&[], &setting).low.is_nan());
    }

    #[test]
    fn a_higher_confidence_gives_a_wider_interval() {
        let shares: Vec<Share> = (0..40).map(|i| Share { part: i % 3, whole: 3 }).collect();
        let at = |confidence| bootstrap_share(&shares, &Resampling { confidence, ..Resampling::default() });
        assert!(at(0.99).low < at(0.8).low && at(0.8).high < at(0.99).high);
    }

    #[test]
    #[should_panic(expected = "confidence of 95")]
    fn a_confidence_in_percent_panics() {
        let _ = wilson(1, 2, 95.0);
    }
}
