//! Almost stochastic order: a test whether one system is better than another across seeds.
//!
//! Stochastic order would require A's scores to be higher at every quantile. The violation ratio is the
//! part of the squared distance between the two quantile functions that contradicts this: 0 means full
//! order, 0.5 means no order in either direction.
//!
//! ```
//! use frostline_score::{Resampling, almost_stochastic_order};
//!
//! let thawed = [0.961, 0.963, 0.960, 0.962, 0.964];
//! let frozen = [0.951, 0.955, 0.953, 0.950, 0.961];
//! let order = almost_stochastic_order(&thawed, &frozen, &Resampling::default())?;
//! assert!(order.bound < 0.5); // thawed is almost stochastically larger
//! # Ok::<(), frostline_score::ScoreError>(())
//! ```
//!
//! # Source
//! Del Barrio, Cuesta-Albertos and Matrán, *An Optimal Transportation Approach for Assessing Almost
//! Stochastic Order* (2018); Dror, Shlomov and Reichart, *Deep Dominance* (2019); Ulmer, Hardmeier
//! and Frellsen, *deep-significance* (2022). The integrals are exact here, where deep-significance
//! sums over a grid.

use frostline_random::Stream;
use serde::{Deserialize, Serialize};

use crate::distribution::normal_quantile;
use crate::error::ScoreError;
use crate::interval::{Resampling, checked_confidence};

/// The result of testing "A is almost stochastically larger than B".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StochasticOrder {
    /// The violation ratio of the scores themselves.
    pub violation: f64,
    /// Standard deviation of the violation ratio over resamples, times `sqrt(nm / (n + m))`.
    pub sigma: f64,
    /// Upper confidence bound of the violation ratio (epsilon-min): below 0.5, A is better; the
    /// literature recommends a threshold of 0.2.
    pub bound: f64,
}

/// Tests whether the scores of A are almost stochastically larger than the scores of B.
///
/// For several comparisons raise the confidence, for example with [`bonferroni`].
///
/// # Errors
/// If a side has no score, or one that is not finite.
///
/// # Panics
/// If `resampling` has no resamples, or `confidence` is not between 0 and 1.
pub fn almost_stochastic_order(
    a: &[f64],
    b: &[f64],
    resampling: &Resampling,
) -> Result<StochasticOrder, ScoreError> {
    assert!(resampling.resamples > 0, "at least one resample is needed");
    let z = normal_quantile(checked_confidence(resampling.confidence));
    let (a, b) = (sorted_scores(a, "A")?, sorted_scores(b, "B")?);
    let violation = violation_of_sorted(&a, &b);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let scale = (n * m / (n + m)).sqrt();
    let stream = Stream::new(resampling.seed, "stochastic order");
    let drawn: Vec<f64> = (0..resampling.resamples)
        .map(|number| {
            let draws = stream.child(u64::from(number));
            let ours = resample_scores(&a, draws.child(0));
            violation_of_sorted(&ours, &resample_scores(&b, draws.child(1)))
        })
        .collect();
    let sigma = scale * population_deviation(&drawn);
    let bound = (violation + z * sigma / scale).clamp(0.0, 1.0);
    Ok(StochasticOrder { violation, sigma, bound })
}

/// Returns the part of the squared 2-Wasserstein distance that contradicts "A is larger than B"; 0.5 if both
/// have the same distribution.
///
/// # Errors
/// If a side has no score, or one that is not finite.
pub fn violation_ratio(a: &[f64], b: &[f64]) -> Result<f64, ScoreError> {
    Ok(violation_of_sorted(&sorted_scores(a, "A")?, &sorted_scores(b, "B")?))
}

/// Returns the confidence that each of `comparisons` tests needs so that all together have `confidence`.
///
/// # Panics
/// If `comparisons` is 0, or `confidence` is not between 0 and 1.
#[must_use]
pub fn bonferroni(confidence: f64, comparisons: usize) -> f64 {
    assert!(comparisons > 0, "at least one comparison is needed");
    1.0 - (1.0 - checked_confidence(confidence)) / comparisons as f64
}

fn violation_of_sorted(a: &[f64], b: &[f64]) -> f64 {
    // Both quantile functions are steps: A's end at i/n, B's at j/m, all multiples of 1/(nm).
    let (n, m) = (a.len(), b.len());
    let (mut i, mut j, mut at) = (0, 0, 0);
    let (mut all, mut against) = (0.0, 0.0);
    while i < n && j < m {
        let (end_a, end_b) = ((i + 1) * m, (j + 1) * n);
        let end = end_a.min(end_b);
        let area = (b[j] - a[i]).powi(2) * (end - at) as f64;
        all += area;
        if b[j] > a[i] {
            against += area;
        }
        i += usize::from(end == end_a);
        j += usize::from(end == end_b);
        at = end;
    }
    if all == 0.0 { 0.5 } else { against / all }
}

fn sorted_scores(scores: &[f64], what: &'static str) -> Result<Vec<f64>, ScoreError> {
    if scores.is_empty() {
        return Err(ScoreError::Empty { what });
    }
    if let Some(index) = scores.iter().position(|s| !s.is_finite()) {
        return Err(ScoreError::NotFinite { what, index, value: scores[index].to_string() });
    }
    let mut scores = scores.to_vec();
    scores.sort_unstable_by(f64::total_cmp);
    Ok(scores)
}

fn resample_scores(sorted: &[f64], draws: Stream) -> Vec<f64> {
    let n = sorted.len() as u64;
    let mut items: Vec<u64> = (0..n).map(|counter| draws.below(counter, n)).collect();
    items.sort_unstable();
    items.into_iter().map(|i| sorted[i as usize]).collect()
}

fn population_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_order_is_0_reversed_order_1_and_equality_a_half() {
        let (low, high) = ([1.0, 2.0, 3.0], [4.0, 5.0]);
        assert_eq!(violation_ratio(&high, &low).unwrap(), 0.0);
        assert_eq!(violation_ratio(&low, &high).unwrap(), 1.0);
        assert_eq!(violation_ratio(&low, &[3.0, 1.0, 2.0]).unwrap(), 0.5);
    }

    #[test]
    fn steps_of_different_width_are_integrated_exactly() {
        // A is 0 up to 1/2 and then 3; B is 1, 1, 2 by thirds.
        // Against: (0, 1/2) with 1²; for: (1/2, 2/3) with 2² and (2/3, 1) with 1².
        let ratio = violation_ratio(&[0.0, 3.0], &[1.0, 1.0, 2.0]).unwrap();
        assert!((ratio - 0.5 / (0.5 + 4.0 / 6.0 + 1.0 / 3.0)).abs() < 1e-15);
    }

    #[test]
    fn the_two_directions_add_up_to_1_and_bad_scores_are_errors() {
        let (a, b) = ([0.9, 0.7, 0.95, 0.8], [0.85, 0.75, 0.6]);
        let there = violation_ratio(&a, &b).unwrap();
        assert!((there + violation_ratio(&b, &a).unwrap() - 1.0).abs() < 1e-15);
        assert!(violation_ratio(&a, &[]).is_err());
        let error = violation_ratio(&[0.5, f64::NAN], &b).unwrap_err();
        assert!(error.to_string().contains("value 1 of A is NaN"), "{error}");
    }

    #[test]
    fn bonferroni_divides_the_error_probability() {
        assert!((bonferroni(0.95, 5) - 0.99).abs() < 1e-15);
        assert_eq!(bonferroni(0.95, 1), 0.95);
    }
}
