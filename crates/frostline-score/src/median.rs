//! The median of some values with an interval that assumes nothing about their distribution, for measurements in which a
//! few are far off, such as times on a machine that does other work too.
//!
//! # Source
//! Thompson, *On Confidence Ranges for the Median and Other Expectation Distributions for Populations of Unknown
//! Distribution Form* (1936): the number of values below the median is binomial.

use crate::distribution::fair_coin;
use crate::{Estimate, interval};

/// Returns the median and an interval between two of the values that covers the true median with at least this
/// `confidence`. With too few values the interval is unbounded; the median of no values is NaN.
///
/// # Panics
/// If a value is NaN, or `confidence` is not between 0 and 1.
///
/// ```
/// let ratios = [0.71, 0.69, 0.70, 0.72, 0.70, 3.10, 0.68, 0.71];
/// let typical = frostline_score::median(&ratios, 0.95);
/// assert!((typical.value - 0.705).abs() < 1e-9 && typical.low == 0.68 && typical.high == 3.10);
/// ```
#[must_use]
pub fn median(values: &[f64], confidence: f64) -> Estimate {
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence lies between 0 and 1");
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("no value is NaN"));
    let n = sorted.len();
    let value = interval::quantile(&sorted, 0.5);
    // The number of values that may be omitted at each end follows from the chance that this few or fewer are
    // on one side of the median.
    let outside = |left_out: usize| 2.0 * fair_coin(left_out as u64, n as u64).1;
    let left_out = (0..n / 2).take_while(|&left_out| outside(left_out) <= 1.0 - confidence).last();
    match left_out {
        Some(k) => Estimate { value, low: sorted[k], high: sorted[n - 1 - k] },
        None => Estimate { value, low: f64::NEG_INFINITY, high: f64::INFINITY },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frostline_random::Stream;

    #[test]
    fn the_limits_are_those_of_the_tables() {
        // Sign-test intervals at 95 %: from the first to the last of 6 values, from the 2nd to the 9th of 10... as in
        // Conover, Practical Nonparametric Statistics, table A3.
        let ends = |n: usize| {
            let values: Vec<f64> = (1..=n).map(|value| value as f64).collect();
            let found = median(&values, 0.95);
            (found.low, found.high)
        };
        assert_eq!(ends(5), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(ends(6), (1.0, 6.0));
        assert_eq!(ends(10), (2.0, 9.0));
        assert_eq!(ends(20), (6.0, 15.0));
        assert_eq!(ends(100), (40.0, 61.0));
    }

    #[test]
    fn it_covers_what_it_says_whatever_the_distribution() {
        let stream = Stream::new(1, "median");
        for n in [8, 25, 60] {
            let covered = (0..2000_u64).filter(|&study| {
                // Heavy-tailed, with the median 1.
                let draw = |at: u64| 1.0 / (1.0 / stream.child(study).unit(at) - 1.0).max(1e-12);
                let values: Vec<f64> = (0..n).map(draw).collect();
                let found = median(&values, 0.95);
                found.low <= 1.0 && 1.0 <= found.high
            });
            let share = covered.count() as f64 / 2000.0;
            assert!((0.94..0.995).contains(&share), "{share} of {n}");
        }
    }

    #[test]
    fn few_values_have_no_limits() {
        assert!(median(&[], 0.95).value.is_nan());
        assert_eq!(median(&[2.0], 0.95).value, 2.0);
        assert_eq!(median(&[1.0, 3.0], 0.95).value, 2.0);
    }
}
