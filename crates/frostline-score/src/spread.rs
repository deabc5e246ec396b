//! One figure over several runs: the mean with its standard deviation, and the variation of a share from
//! sampling alone.
//!
//! A spread that one run cannot give is absent, not zero.

use serde::{Deserialize, Serialize};

use crate::{mean_std, wilson};

/// Mean and sample standard deviation of one figure over runs that differ only in their seed.
///
/// ```
/// use frostline_score::MeanStd;
///
/// let percent = MeanStd::of(&[0.962, 0.964]).expect("two runs").times(100.0);
/// assert!((percent.mean - 96.3).abs() < 1e-9);
/// assert_eq!(MeanStd::of(&[0.962]).expect("one run").std, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanStd {
    /// How many runs gave a value; at least 1.
    pub n: usize,
    /// The mean of the values.
    pub mean: f64,
    /// The sample standard deviation; absent for one run.
    pub std: Option<f64>,
}

impl MeanStd {
    /// Returns the statistic of some values; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let (mean, std) = mean_std(values);
        Some(Self { n: values.len(), mean, std: std.is_finite().then_some(std) })
    }

    /// Returns the mean and standard deviation times a factor: fractions to percent, milliseconds to seconds.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { n: self.n, mean: self.mean * factor, std: self.std.map(|std| std * factor.abs()) }
    }
}

/// A 95 % Wilson score interval of a share, in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareInterval {
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl ShareInterval {
    /// Returns the interval of the share `p` seen in `units` words or sentences. The mean of several runs need
    /// not be a whole number of units; the nearest one is taken. `None` if there is no unit or `p` is no share.
    #[must_use]
    pub fn of(p: f64, units: u64) -> Option<Self> {
        if units == 0 || !(0.0..=1.0).contains(&p) {
            return None;
        }
        let right = (p * units as f64).round() as u64;
        let estimate = wilson(right, units, 0.95);
        Some(Self { low: estimate.low, high: estimate.high })
    }

    /// Half its width.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_has_no_spread() {
        assert_eq!(MeanStd::of(&[]), None);
        assert_eq!(MeanStd::of(&[0.5]).and_then(|stat| stat.std), None);
        let two = MeanStd::of(&[1.0, 3.0]).expect("two values");
        assert_eq!((two.mean, two.std), (2.0, Some(2.0_f64.sqrt())));
        assert_eq!(two.times(-100.0).std, Some(2.0_f64.sqrt() * 100.0));
    }

    #[test]
    fn wilson_matches_a_worked_example() {
        // 8 of 10, by the formula of Wilson (1927): 0.4902 to 0.9433.
        let interval = ShareInterval::of(0.8, 10).expect("ten trials");
        assert!((interval.low - 0.490_16).abs() < 1e-4, "{interval:?}");
        assert!((interval.high - 0.943_32).abs() < 1e-4, "{interval:?}");
        let certain = ShareInterval::of(1.0, 50).expect("fifty trials");
        assert_eq!(certain.high, 1.0);
        assert!(certain.low < 1.0, "no sample makes certain");
        assert_eq!(ShareInterval::of(0.5, 0), None);
    }
}
