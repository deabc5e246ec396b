//! The distribution functions that the intervals and tests need: normal, chi-squared with one degree
//! of freedom, and binomial with probability one half.

use std::f64::consts::{LN_2, SQRT_2, TAU};

/// `P(Z <= x)` of a standard normal `Z`.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// Returns the `x` with `P(Z <= x) = p`; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        // `1 - p` is exact here, and the lower tail keeps its precision.
        return -normal_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    // Bisection down to adjacent floating-point numbers: about 60 rounds, as exact as `normal_cdf`.
    let (mut low, mut high) = (-40.0, 0.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if normal_cdf(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Returns the root of a decreasing function between `low` and `high`, at whose ends it has different signs (or
/// is 0).
///
/// # Source
/// Dowell and Jarratt, *A Modified Regula Falsi Method for Computing the Root of an Equation* (1971).
pub fn root_of_decreasing(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut at_low, mut at_high) = (f(low), f(high));
    if at_low <= 0.0 {
        return low;
    }
    if at_high >= 0.0 {
        return high;
    }
    let mut last = 0;
    for _ in 0..200 {
        let middle = (low * at_high - high * at_low) / (at_high - at_low);
        let middle = if middle > low && middle < high { middle } else { 0.5 * (low + high) };
        let value = f(middle);
        if value == 0.0 || high - low <= 1e-11 * (1.0 + high.abs()) {
            return middle;
        }
        // An end that is kept twice counts half, so that both ends move.
        if value > 0.0 {
            (low, at_low) = (middle, value);
            if last == 1 {
                at_high *= 0.5
            }
            last = 1;
        } else {
            (high, at_high) = (middle, value);
            if last == -1 {
                at_low *= 0.5
            }
            last = -1;
        }
        if value.abs() < 1e-11 {
            return middle;
        }
    }
    0.5 * (low + high)
}

/// `P(X >= x)` of a chi-squared `X` with one degree of freedom.
pub fn chi_squared_1_tail(x: f64) -> f64 {
    libm::erfc((0.5 * x).sqrt())
}

/// `P(X = k)` and `P(X <= k)` for the number `X` of heads in `n` throws of a fair coin.
///
/// # Source
/// Loader, *Fast and Accurate Computation of Binomial Probabilities* (2000): factorials by
/// Stirling's formula and its error, so that the large terms cancel analytically.
pub fn fair_coin(k: u64, n: u64) -> (f64, f64) {
    let at = if k == 0 || k == n {
        (-(n as f64) * LN_2).exp()
    } else {
        let (heads, tails, all) = (k as f64, (n - k) as f64, n as f64);
        let lean = (heads - tails) / all;
        let distance = heads * lean.ln_1p() + tails * (-lean).ln_1p();
        let error = stirling_error(all) - stirling_error(heads) - stirling_error(tails);
        (error - distance).exp() * (all / (TAU * heads * tails)).sqrt()
    };
    if 2 * k > n {
        // The upper tail mirrors the lower one; the terms of the sum below must decrease.
        let upper = if k == n { 0.0 } else { fair_coin(n - k - 1, n).1 };
        return (at, 1.0 - upper);
    }
    let (mut term, mut sum, mut i) = (at, at, k);
    while i > 0 && term > sum * 1e-18 {
        term *= i as f64 / (n - i + 1) as f64;
        sum += term;
        i -= 1;
    }
    (at, sum.min(1.0))
}

/// `ln(k!) - (k + 1/2) ln(k) + k - ln(2π) / 2` for `k >= 1`.
fn stirling_error(k: f64) -> f64 {
    if k < 15.0 {
        return libm::lgamma(k + 1.0) - (k + 0.5) * k.ln() + k - 0.5 * TAU.ln();
    }
    let square = k * k;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_the_cdf() {
        for p in [1e-300, 1e-12, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999_999] {
            let back = normal_cdf(normal_quantile(p));
            assert!((back / p - 1.0).abs() < 1e-13, "{p} became {back}");
        }
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
    }

    #[test]
    fn roots_are_found_from_either_side() {
        for wanted in [0.001, 0.3, 2.0, 9.9] {
            let found = root_of_decreasing(0.0, 10.0, |x| (wanted - x) * (1.0 + x));
            assert!((found - wanted).abs() < 1e-9, "{found}, not {wanted}");
        }
        assert_eq!(root_of_decreasing(1.0, 2.0, |x| -x), 1.0);
        assert_eq!(root_of_decreasing(1.0, 2.0, |x| x), 2.0);
    }

    #[test]
    fn fair_coin_probabilities() {
        assert!((fair_coin(3, 10).1 - 176.0 / 1024.0).abs() < 1e-14);
        assert!((fair_coin(7, 10).1 - 968.0 / 1024.0).abs() < 1e-14);
        assert!((fair_coin(10, 10).1 - 1.0).abs() < 1e-14);
        assert!((fair_coin(0, 0).1 - 1.0).abs() < 1e-14);
        assert!((fair_coin(0, 3).0 - 0.125).abs() < 1e-14);
    }
}
