//! Two systems on the same items: is the difference significant?
//!
//! McNemar's test on words, and the paired bootstrap and permutation tests on sentences. Words of a
//! sentence are not independent, so McNemar's test is too optimistic on words.
//!
//! # Source
//! McNemar (1947), Edwards (1948); Noreen, *Computer-Intensive Methods* (1989); Berg-Kirkpatrick,
//! Burkett and Klein, *An Empirical Investigation of Statistical Significance in NLP* (2012);
//! Phipson and Smyth, *Permutation P-values Should Never Be Zero* (2010).

use frostline_random::Stream;
use serde::{Deserialize, Serialize};

use crate::distribution::{chi_squared_1_tail, fair_coin};
use crate::error::ScoreError;
use crate::interval::{Estimate, Resampling, Share, checked_confidence, for_each_resample, quantile};

/// McNemar's test on items that exactly one of two systems has correct.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct McNemar {
    /// Items that only A has correct.
    pub only_a: u64,
    /// Items that only B has correct.
    pub only_b: u64,
    /// Two-sided exact (binomial) p-value.
    pub exact_p: f64,
    /// The exact p-value minus half the probability of the observed counts: less conservative.
    pub mid_p: f64,
    /// `(|only_a - only_b| - 1)² / (only_a + only_b)`; 0 if the systems never differ.
    pub corrected_statistic: f64,
    /// The p-value, chi-squared with one degree of freedom.
    pub corrected_p: f64,
}

impl McNemar {
    /// The test for these two counts.
    ///
    /// The continuity correction follows statsmodels, and also applies if both counts are equal.
    #[must_use]
    pub fn from_counts(only_a: u64, only_b: u64) -> Self {
        let n = only_a + only_b;
        let (at, tail) = fair_coin(only_a.min(only_b), n);
        let exact_p = (2.0 * tail).min(1.0);
        // With equal counts both tails share their boundary, which counts once.
        let mid_p = if only_a == only_b { 1.0 - 0.5 * at } else { 2.0 * tail - at };
        let corrected_statistic =
            if n == 0 { 0.0 } else { (only_a.abs_diff(only_b) as f64 - 1.0).powi(2) / n as f64 };
        Self {
            only_a,
            only_b,
            exact_p,
            mid_p: if n == 0 { 1.0 } else { mid_p },
            corrected_statistic,
            corrected_p: chi_squared_1_tail(corrected_statistic),
        }
    }

    /// The test for pairs (A is correct, B is correct), one per item.
    #[must_use]
    pub fn from_pairs(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let (mut only_a, mut only_b) = (0, 0);
        for (a, b) in pairs {
            only_a += u64::from(a && !b);
            only_b += u64::from(b && !a);
        }
        Self::from_counts(only_a, only_b)
    }
}

/// Two systems compared by resampling items.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedBootstrap {
    /// Score of A.
    pub a: f64,
    /// Score of B.
    pub b: f64,
    /// A minus B, with its percentile interval.
    pub difference: Estimate,
    /// Proportion of resamples in which A scores higher; ties count half.
    pub a_ahead: f64,
    /// Two-sided p-value of "no difference": how often a resampled difference is as far from the
    /// observed difference as that is from 0.
    pub p_value: f64,
}

/// Compares two systems by their shares on the same items (sentences).
///
/// # Errors
/// If the samples are empty or differ in length.
///
/// # Panics
/// If `resampling` has no resamples, or `confidence` is not between 0 and 1.
pub fn paired_bootstrap(
    a: &[Share],
    b: &[Share],
    resampling: &Resampling,
) -> Result<PairedBootstrap, ScoreError> {
    check_pairs(a, b)?;
    let outside = 0.5 * (1.0 - checked_confidence(resampling.confidence));
    let (score_a, score_b) = (Share::of(a), Share::of(b));
    let value = score_a - score_b;
    let mut drawn: Vec<f64> = Vec::with_capacity(resampling.resamples as usize);
    for_each_resample(a.len(), resampling, |items| {
        drawn.push(Share::share_of_picked(a, items) - Share::share_of_picked(b, items));
    });
    drawn.retain(|v| !v.is_nan());
    let far = at_least(value.abs());
    let as_far = drawn.iter().filter(|&&d| (d - value).abs() >= far).count();
    let ahead: f64 = drawn.iter().map(|&d| if d == 0.0 { 0.5 } else { f64::from(u8::from(d > 0.0)) }).sum();
    let samples = drawn.len() as f64;
    drawn.sort_unstable_by(f64::total_cmp);
    Ok(PairedBootstrap {
        a: score_a,
        b: score_b,
        difference: Estimate { value, low: quantile(&drawn, outside), high: quantile(&drawn, 1.0 - outside) },
        a_ahead: ahead / samples,
        p_value: (as_far as f64 + 1.0) / (samples + 1.0),
    })
}

/// Two-sided p-value of "the two systems are exchangeable on every item": their results are swapped
/// at random, item by item (approximate randomisation).
///
/// # Errors
/// If the samples are empty or differ in length.
///
/// # Panics
/// If `resampling` has no resamples.
pub fn paired_permutation(a: &[Share], b: &[Share], resampling: &Resampling) -> Result<f64, ScoreError> {
    check_pairs(a, b)?;
    assert!(resampling.resamples > 0, "at least one resample is needed");
    let stream = Stream::new(resampling.seed, "permutation");
    let far = at_least((Share::of(a) - Share::of(b)).abs());
    let mut as_far = 0u32;
    for number in 0..resampling.resamples {
        let draws = stream.child(u64::from(number));
        let (mut left, mut right) = (Share::default(), Share::default());
        let mut bits = 0;
        for (item, (x, y)) in a.iter().zip(b).enumerate() {
            if item % 64 == 0 {
                bits = draws.bits(item as u64 / 64);
            }
            let (x, y) = if bits & 1 == 0 { (x, y) } else { (y, x) };
            bits >>= 1;
            left.part += x.part;
            left.whole += x.whole;
            right.part += y.part;
            right.whole += y.whole;
        }
        let difference = Share::of(&[left]) - Share::of(&[right]);
        as_far += u32::from(difference.abs() >= far);
    }
    Ok((f64::from(as_far) + 1.0) / (f64::from(resampling.resamples) + 1.0))
}

/// Returns a threshold that equal differences reach despite rounding.
fn at_least(distance: f64) -> f64 {
    distance - 1e-12
}

fn check_pairs(a: &[Share], b: &[Share]) -> Result<(), ScoreError> {
    if a.len() != b.len() {
        return Err(ScoreError::Unpaired { a: a.len(), b: b.len() });
    }
    if a.is_empty() {
        return Err(ScoreError::Empty { what: "the sample" });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares_of_words(parts: &[u64]) -> Vec<Share> {
        parts.iter().map(|&part| Share { part, whole: 10 }).collect()
    }

    #[test]
    fn equal_systems_do_not_differ() {
        let a = shares_of_words(&[3, 5, 9, 10, 7]);
        let setting = Resampling { resamples: 200, ..Resampling::default() };
        let same = paired_bootstrap(&a, &a, &setting).unwrap();
        assert_eq!((same.p_value, same.a_ahead, same.difference.value), (1.0, 0.5, 0.0));
        assert_eq!(paired_permutation(&a, &a, &setting).unwrap(), 1.0);
        let never = McNemar::from_counts(0, 0);
        assert_eq!((never.exact_p, never.mid_p, never.corrected_p), (1.0, 1.0, 1.0));
    }

    #[test]
    fn a_clear_difference_is_found_and_swapping_the_systems_mirrors_it() {
        let b: Vec<u64> = (0..100).map(|i| i % 8).collect();
        let a: Vec<u64> = b.iter().map(|v| v + 1 + v % 2).collect();
        let (a, b) = (shares_of_words(&a), shares_of_words(&b));
        let setting = Resampling { resamples: 999, ..Resampling::default() };
        let there = paired_bootstrap(&a, &b, &setting).unwrap();
        let back = paired_bootstrap(&b, &a, &setting).unwrap();
        assert_eq!((there.p_value, there.a_ahead), (0.001, 1.0));
        assert!((there.difference.low + back.difference.high).abs() < 1e-12);
        assert_eq!(paired_permutation(&a, &b, &setting).unwrap(), 0.001);
    }

    #[test]
    fn unpaired_data_are_an_error() {
        let setting = Resampling::default();
        let wrong = paired_bootstrap(&shares_of_words(&[1]), &shares_of_words(&[1, 2]), &setting);
        assert_eq!(wrong, Err(ScoreError::Unpaired { a: 1, b: 2 }));
        let none = paired_permutation(&[], &[], &setting);
        assert!(matches!(none, Err(ScoreError::Empty { .. })));
    }

    #[test]
    fn only_pairs_with_one_correct_system_are_counted() {
        let test =
            McNemar::from_pairs([(true, false), (true, true), (false, true), (true, false), (false, false)]);
        assert_eq!((test.only_a, test.only_b), (2, 1));
    }
}
