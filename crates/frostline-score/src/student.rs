//! The mean of a few values with Student's 95 % interval, such as differences between two systems seed by seed.
//!
//! One value has no interval: one seed contains no information about another.
//!
//! # Source
//! Student, *The probable error of a mean* (1908); the distribution for whole degrees of freedom as
//! finite sums: Abramowitz and Stegun, *Handbook of Mathematical Functions* (1964), 26.7.3 and 26.7.4.

use serde::{Deserialize, Serialize};

use crate::interval::{checked_confidence, two_sided_z};
use crate::mean_std;

/// The mean of some values, and the range of the mean for other values of the same kind.
///
/// ```
/// use frostline_score::student::MeanInterval;
///
/// // Hours of sleep gained by ten patients, from Student's own paper.
/// let gains = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
/// let gained = MeanInterval::of(&gains).expect("ten values");
/// let [low, high] = gained.interval.expect("more than one value");
/// assert!((low - 0.70).abs() < 0.01 && (high - 2.46).abs() < 0.01);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanInterval {
    /// How many values; at least 1.
    pub n: usize,
    /// The mean of the values.
    pub mean: f64,
    /// The ends of a 95 % interval, Student's from [`MeanInterval::of`]; absent for one value.
    pub interval: Option<[f64; 2]>,
}

impl MeanInterval {
    /// Returns the mean and its interval; `None` if there are no values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let (mean, std) = mean_std(values);
        let n = values.len();
        let interval = (n > 1 && std.is_finite()).then(|| {
            let half = quantile_975(n - 1) * std / (n as f64).sqrt();
            [mean - half, mean + half]
        });
        Some(Self { n, mean, interval })
    }

    /// Mean and interval times a factor above 0.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let interval = self.interval.map(|ends| ends.map(|end| end * factor));
        Self { n: self.n, mean: self.mean * factor, interval }
    }
}

/// Returns the 97.5 % quantile of Student's distribution with this many degrees of freedom.
///
/// # Panics
/// If `freedom` is 0.
#[must_use]
pub fn quantile_975(freedom: usize) -> f64 {
    two_sided(0.95, freedom)
}

/// Returns the t for which values between -t and t have the probability `confidence`, with this many degrees of
/// freedom.
///
/// # Panics
/// If `freedom` is 0, or `confidence` is not between 0 and 1.
#[must_use]
pub fn two_sided(confidence: f64, freedom: usize) -> f64 {
    assert!(freedom > 0, "Student's distribution needs at least one degree of freedom");
    if freedom > MOST_SUMMED {
        return expand_quantile(two_sided_z(confidence), freedom as f64);
    }
    let outside = 1.0 - checked_confidence(confidence);
    // Bisection down to neighbouring numbers, from an interval that contains the value.
    let (mut low, mut high) = (0.0, 2.0);
    while outside_of(high, freedom) > outside && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if outside_of(middle, freedom) > outside {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Above this, the quantile is an expansion around the normal one, with an error below 1e-6.
const MOST_SUMMED: usize = 200;

/// Abramowitz and Stegun, 26.7.5.
fn expand_quantile(z: f64, freedom: f64) -> f64 {
    let square = z * z;
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z + (first + (second + third / freedom) / freedom) / freedom
}

/// Returns the probability of values below -t or above t.
fn outside_of(t: f64, freedom: usize) -> f64 {
    1.0 - probability_within(t, freedom)
}

/// Returns the probability of values between -t and t.
fn probability_within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    // Odd: cos + 2/3 cos³ + (2·4)/(3·5) cos⁵ ...; even: 1 + 1/2 cos² + (1·3)/(2·4) cos⁴ ...
    let odd = freedom % 2 == 1;
    let (mut term, mut sum, mut k) = if odd { (cos, 0.0, 2) } else { (1.0, 0.0, 1) };
    let terms = if odd { (freedom - 1) / 2 } else { freedom / 2 };
    for _ in 0..terms {
        sum += term;
        term *= cos * cos * k as f64 / (k + 1) as f64;
        k += 2;
    }
    if odd { (angle + sin * sum) * std::f64::consts::FRAC_2_PI } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1, 12.7062),
            (2, 4.302_65),
            (3, 3.182_45),
            (4, 2.776_45),
            (5, 2.570_58),
            (9, 2.262_16),
            (10, 2.228_14),
            (30, 2.042_27),
            (100, 1.983_97),
        ];
        for (freedom, expected) in table {
            let found = quantile_975(freedom);
            assert!((found - expected).abs() < 1e-4, "{freedom}: {found}");
        }
    }

    #[test]
    fn other_probabilities_and_many_degrees_of_freedom() {
        // scipy.stats.t.ppf(1 - (1 - c) / 2, df)
        let table = [
            (0.9, 1, 6.313_751_514_675_04),
            (0.9, 4, 2.131_846_786_326_65),
            (0.995, 2, 14.089_047_275_555_3),
            (0.95, 200, 1.971_896_223_633_91),
            (0.95, 201, 1.971_836_506_779_86),
            (0.999, 1999, 3.295_400_576_927_41),
            (0.2, 9, 0.260_955_336_473_91),
        ];
        for (confidence, freedom, expected) in table {
            let found = two_sided(confidence, freedom);
            assert!((found - expected).abs() < 1e-6, "{confidence} {freedom}: {found}");
        }
    }

    #[test]
    fn one_seed_has_no_interval_and_equal_ones_have_no_width() {
        assert_eq!(MeanInterval::of(&[]), None);
        assert_eq!(MeanInterval::of(&[0.5]), Some(MeanInterval { n: 1, mean: 0.5, interval: None }));
        let same = MeanInterval::of(&[0.1, 0.1, 0.1]).expect("three values");
        assert_eq!(same.interval, Some([0.1, 0.1]));
        // Sleep gained in ten patients (Student, 1908): 1.58 ± 0.8801.
        let gains = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let gained = MeanInterval::of(&gains).expect("ten values");
        let [low, high] = gained.interval.expect("an interval");
        assert!((gained.mean - 1.58).abs() < 1e-12);
        assert!((low - 0.700_11).abs() < 1e-4 && (high - 2.459_89).abs() < 1e-4, "{low} {high}");
        assert_eq!(gained.times(100.0).interval, Some([low * 100.0, high * 100.0]));
    }
}
