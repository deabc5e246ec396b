//! Quantiles for comparisons of several systems with one baseline, so that all intervals of a table hold together.
//!
//! Every comparison contains the baseline's own noise. If the baseline scatters as much as each system, any two comparisons
//! have a correlation of one half. [`Dunnett`] computes the distribution of the largest of their absolute t-values.
//!
//! # Source
//! Dunnett, *A Multiple Comparison Procedure for Comparing Several Treatments with a Control* (1955). The double integral
//! is computed by the trapezoidal rule on the logarithm of the common standard deviation, which converges exponentially.

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;
use std::sync::{Arc, Mutex, PoisonError};

use crate::distribution::root_of_decreasing;
use crate::interval::checked_confidence;

/// Step of the grid on which the inner integral is kept, in the logarithm of a t-value.
const STEP: f64 = 0.02;

/// Logarithms of t-values at the ends of the grid. Below, the largest of any number of values exceeds it (nearly) always;
/// above, (nearly) never.
const ENDS: [f64; 2] = [-12.0, 2.2];

/// More degrees of freedom are treated as so many, which makes a quantile larger by at most 0.2 %.
const MOST_FREEDOM: f64 = 1_000.0;

/// The distribution of the largest absolute t-value of several comparisons with one baseline.
///
/// ```
/// use frostline_score::dunnett::Dunnett;
///
/// // Dunnett's table (two-sided, 95 %): three systems and 10 degrees of freedom give 2.76.
/// let quantile = Dunnett::new(3).quantile(0.95, 10.0);
/// assert!((quantile - 2.76).abs() < 0.005);
/// ```
#[derive(Clone, Debug)]
pub struct Dunnett {
    rows: usize,
    /// On the grid, the probability that a value of so many normal ones is further from 0.
    tails: Vec<f64>,
}

impl Dunnett {
    /// Prepares the distribution for so many comparisons.
    ///
    /// # Panics
    /// If `rows` is 0.
    #[must_use]
    pub fn new(rows: usize) -> Self {
        assert!(rows > 0, "a table needs at least one comparison");
        let points = ((ENDS[1] - ENDS[0]) / STEP) as usize + 1;
        let tails = (0..points).map(|at| normal_tail((ENDS[0] + STEP * at as f64).exp(), rows)).collect();
        Self { rows, tails }
    }

    /// Quantiles with this many degrees of freedom, computed once for each table and number.
    pub(crate) fn quantile_curve(&self, freedom: f64) -> Arc<QuantileCurve> {
        static COMPUTED: Mutex<BTreeMap<(usize, u64), Arc<QuantileCurve>>> = Mutex::new(BTreeMap::new());
        let freedom = freedom.min(MOST_FREEDOM);
        let key = (self.rows, freedom.to_bits());
        if let Some(known) = COMPUTED.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Arc::clone(known);
        }
        let curve = Arc::new(QuantileCurve::new(self, freedom));
        COMPUTED.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&curve));
        curve
    }

    /// Returns the distribution, prepared once for each number of comparisons.
    pub(crate) fn for_comparisons(rows: usize) -> Arc<Self> {
        static PREPARED: Mutex<BTreeMap<usize, Arc<Dunnett>>> = Mutex::new(BTreeMap::new());
        let mut prepared = PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(prepared.entry(rows).or_insert_with(|| Arc::new(Self::new(rows))))
    }

    /// Number of comparisons.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the probability that the largest absolute t-value exceeds `t`, with this many degrees of
    /// freedom, which need not be a whole number.
    ///
    /// # Panics
    /// If `t` is negative or `freedom` is not above 0.
    #[must_use]
    pub fn tail(&self, t: f64, freedom: f64) -> f64 {
        assert!(t >= 0.0, "a t-value of {t} is negative");
        assert!(freedom > 0.0, "{freedom} degrees of freedom");
        if t == 0.0 {
            return 1.0;
        }
        // u is the logarithm of the standard deviation, s² = χ² / freedom. Its density has its peak at u = 0.
        let freedom = freedom.min(MOST_FREEDOM);
        let half = 0.5 * freedom;
        let peak = 2.0 * (half * half.ln() - half - libm::lgamma(half)).exp();
        let density = |u: f64| peak * (freedom * (u - 0.5 * (2.0 * u).exp_m1())).exp();
        let stride = ((0.9 / (2.0 * freedom).sqrt()).min(0.1) / STEP).max(1.0) as i64;
        let first = ((t.ln() - ENDS[0]) / STEP).round() as i64;
        let mut sum = 0.0;
        for direction in [-1, 1] {
            let mut at = if direction < 0 { first } else { first + stride };
            loop {
                let weight = density(ENDS[0] + STEP * at as f64 - t.ln());
                let tail = self.tail_at(at);
                sum += weight * tail;
                if weight < 1e-14 * peak || (direction > 0 && tail == 0.0) {
                    break;
                }
                at += direction * stride;
            }
        }
        (sum * STEP * stride as f64).min(1.0)
    }

    /// Returns the value that the largest absolute t-value stays below with the probability `confidence`.
    ///
    /// # Panics
    /// If `confidence` is not between 0 and 1, or `freedom` is not above 0.
    #[must_use]
    pub fn quantile(&self, confidence: f64, freedom: f64) -> f64 {
        let outside = 1.0 - checked_confidence(confidence);
        let (mut low, mut high) = (0.0, 1.0_f64);
        while self.tail(high.exp(), freedom) > outside && high < 20.0 {
            (low, high) = (high, high + 1.0);
        }
        if low == 0.0 {
            low = -20.0;
        }
        // In logarithms, tails are nearly straight lines.
        root_of_decreasing(low, high, |t| (self.tail(t.exp(), freedom) / outside).ln()).exp()
    }

    fn tail_at(&self, at: i64) -> f64 {
        match usize::try_from(at) {
            Ok(at) => self.tails.get(at).copied().unwrap_or(0.0),
            Err(_) => 1.0,
        }
    }
}

/// Quantiles at fixed probabilities from 1 down to 0.000001. Between two of them, p-values are interpolated in the logarithm.
#[derive(Debug)]
pub(crate) struct QuantileCurve {
    quantiles: Vec<f64>,
}

impl QuantileCurve {
    /// Probabilities are 0.05 times powers of e to a quarter.
    const STEP: f64 = 0.25;

    /// Place of 0.05 among the probabilities; the first one is 1.06, for which the quantile is 0.
    const CENTRE: usize = 12;

    /// Number of probabilities.
    const POINTS: usize = 56;

    fn new(dunnett: &Dunnett, freedom: f64) -> Self {
        let quantile = |at: usize| match Self::outside_probability(at) {
            outside if outside >= 1.0 => 0.0,
            outside => dunnett.quantile(1.0 - outside, freedom),
        };
        Self { quantiles: (0..Self::POINTS).map(quantile).collect() }
    }

    fn outside_probability(at: usize) -> f64 {
        0.05 * (Self::STEP * (Self::CENTRE as f64 - at as f64)).exp()
    }

    /// Returns the quantile at 95 %.
    pub fn at_95(&self) -> f64 {
        self.quantiles[Self::CENTRE]
    }

    /// Returns the quantile that is exceeded with the probability `outside`, interpolated in the logarithm.
    pub fn exceeded_with(&self, outside: f64) -> f64 {
        let place =
            (Self::CENTRE as f64 - (outside / 0.05).ln() / Self::STEP).clamp(0.0, Self::POINTS as f64 - 1.0);
        let below = (place.floor() as usize).min(Self::POINTS - 2);
        let part = place - below as f64;
        self.quantiles[below] + part * (self.quantiles[below + 1] - self.quantiles[below])
    }

    /// Returns the probability at which `width` of two curves' quantiles reaches `wanted`; the smallest one if
    /// it stays below. `width` must increase with both quantiles.
    pub fn p_value(a: &Self, b: &Self, wanted: f64, width: impl Fn([f64; 2]) -> f64) -> f64 {
        let width = |at: usize| width([a.quantiles[at], b.quantiles[at]]);
        let (mut below, mut above) = (0, Self::POINTS - 1);
        if wanted >= width(above) {
            return Self::outside_probability(above);
        }
        while above - below > 1 {
            let middle = (below + above) / 2;
            if width(middle) <= wanted { below = middle } else { above = middle }
        }
        let (low, high) = (width(below), width(above));
        let part = if high > low { ((wanted - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        (Self::outside_probability(below) * (-Self::STEP * part).exp()).min(1.0)
    }
}

/// Returns the probability that at least one of so many normal values, any two of which have a correlation of
/// one half, is further from 0 than `x`: each is the sum of a common part and its own, of the same variance.
fn normal_tail(x: f64, rows: usize) -> f64 {
    if rows == 1 {
        return libm::erfc(x / SQRT_2);
    }
    const NODE: f64 = 0.35;
    let mut outside = 0.0;
    for node in -19..=19 {
        let common = NODE * f64::from(node);
        let weight = NODE * (-0.5 * common * common).exp() / std::f64::consts::TAU.sqrt();
        // The own part is √½ times a normal value, so that z = √2 x ∓ common.
        let missed = 0.5 * (libm::erfc(x - common / SQRT_2) + libm::erfc(x + common / SQRT_2));
        outside -= weight * libm::expm1(rows as f64 * libm::log1p(-missed.min(1.0)));
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student::two_sided;

    #[test]
    fn one_comparison_is_students_test() {
        let one = Dunnett::new(1);
        for freedom in [1, 2, 5, 30, 200] {
            for confidence in [0.5, 0.9, 0.95, 0.999] {
                let (found, expected) =
                    (one.quantile(confidence, freedom as f64), two_sided(confidence, freedom));
                assert!(
                    (found / expected - 1.0).abs() < 2e-6,
                    "{freedom} {confidence}: {found}, not {expected}"
                );
            }
        }
        let normal = one.quantile(0.95, 1e6);
        assert!((normal / 1.959_964 - 1.0).abs() < 2e-3);
    }

    #[test]
    fn quantiles_are_those_of_published_tables() {
        // Dunnett's tables II (1955 and 1964), two-sided, 95 %; the third digit by scipy's multivariate_t with correlations of 0.5.
        let table = [
            (2, 5, 3.030),
            (4, 5, 3.476),
            (2, 10, 2.568),
            (4, 10, 2.891),
            (8, 10, 3.194),
            (3, 20, 2.541),
            (9, 20, 2.947),
        ];
        for (rows, freedom, expected) in table {
            let found = Dunnett::new(rows).quantile(0.95, f64::from(freedom));
            assert!((found - expected).abs() < 0.005, "{rows} {freedom}: {found}, not {expected}");
        }
    }

    #[test]
    fn a_curve_is_the_quantiles() {
        let (four, freedom) = (Dunnett::new(4), 2.6);
        let curve = four.quantile_curve(freedom);
        assert_eq!(curve.exceeded_with(0.05), curve.at_95());
        for outside in [0.04, 0.023, 0.0148, 0.001] {
            let (found, exact) = (curve.exceeded_with(outside), four.quantile(1.0 - outside, freedom));
            assert!((found / exact - 1.0).abs() < 0.003, "{outside}: {found}, not {exact}");
        }
        assert!(
            curve.exceeded_with(1e-9) == *curve.quantiles.last().expect("points")
                && curve.exceeded_with(1.0) < 0.1
        );
    }

    /// `scipy.stats.dunnett` on four groups of eight values gives these statistics, p-values and half widths.
    #[test]
    fn p_values_and_intervals_are_scipys() {
        let three = Dunnett::new(3);
        for (t, expected) in [(1.465_765, 0.341_2), (2.227_201, 0.086_06), (4.054_648, 0.001_042)] {
            let found = three.tail(t, 28.0);
            assert!((found - expected).abs() < 5e-5, "{t}: {found}, not {expected}");
        }
        assert!((three.quantile(0.95, 28.0) - 2.483_1).abs() < 5e-4);
    }

    #[test]
    fn more_comparisons_and_fewer_degrees_of_freedom_ask_for_more() {
        let quantile = |rows, freedom| Dunnett::new(rows).quantile(0.95, freedom);
        assert!(quantile(8, 4.0) > quantile(4, 4.0) && quantile(4, 4.0) > quantile(1, 4.0));
        assert!(quantile(4, 1.6) > quantile(4, 1.7) && quantile(4, 1.7) > quantile(4, 50.0));
        let four = Dunnett::new(4);
        assert_eq!((four.tail(0.0, 3.0), four.rows()), (1.0, 4));
        for confidence in [0.1, 0.5, 0.95, 0.9999] {
            assert!((four.tail(four.quantile(confidence, 2.4), 2.4) + confidence - 1.0).abs() < 1e-8);
        }
    }
}
