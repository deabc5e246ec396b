//! Products of matrices and exponentials in f64, with the same bits on every processor.

use crate::dispatch::dispatched;

/// Columns of a tile. Columns beyond a multiple of this take several times as long.
pub const COLUMNS: usize = 8;
/// Rows of a tile.
const TALL: usize = 4;

/// Adds `a b` to `out`. Each element adds its products in ascending order of k, each rounded on its own.
///
/// # Shapes
/// a \[m, k\], b \[k, n\], out \[m, n\], all row-major
///
/// # Panics
/// If a length does not match m, n and k.
pub fn add_product([m, n, k]: [usize; 3], a: &[f64], b: &[f64], out: &mut [f64]) {
    assert_eq!([a.len(), b.len(), out.len()], [m * k, k * n, m * n], "a product [{m}, {k}] x [{k}, {n}]");
    add(m, n, k, a, b, out);
}

dispatched! {
    /// See [`add_product`].
    pub fn add(m: usize, n: usize, k: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
        let whole = n - n % COLUMNS;
        for j in (0..whole).step_by(COLUMNS) {
            for i in (0..m).step_by(TALL) {
                match m - i {
                    1 => tile::<1>(i, j, n, k, a, b, out),
                    2 => tile::<2>(i, j, n, k, a, b, out),
                    3 => tile::<3>(i, j, n, k, a, b, out),
                    _ => tile::<TALL>(i, j, n, k, a, b, out),
                }
            }
        }
        for i in 0..m {
            for j in whole..n {
                for p in 0..k {
                    out[i * n + j] += a[i * k + p] * b[p * n + j];
                }
            }
        }
    }
}

/// T rows from i on and [`COLUMNS`] columns from j on.
#[inline(always)]
fn tile<const T: usize>(i: usize, j: usize, n: usize, k: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
    let mut sums = [[0f64; COLUMNS]; T];
    for (t, sums) in sums.iter_mut().enumerate() {
        sums.copy_from_slice(&out[(i + t) * n + j..][..COLUMNS]);
    }
    let rows: [&[f64]; T] = std::array::from_fn(|t| &a[(i + t) * k..][..k]);
    for (p, b) in b.chunks_exact(n).enumerate().take(k) {
        let b: &[f64; COLUMNS] = b[j..].first_chunk().expect("a tile of columns");
        for (sums, row) in sums.iter_mut().zip(rows) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += row[p] * b;
            }
        }
    }
    for (t, sums) in sums.iter().enumerate() {
        out[(i + t) * n + j..][..COLUMNS].copy_from_slice(sums);
    }
}

dispatched! {
    /// Replaces numbers by their exponentials, with a relative error below 4·10⁻¹⁶. Those of numbers below -708 are 0; those
    /// of numbers above 709 are e⁷⁰⁹.
    ///
    /// # Source
    /// Cody and Waite's reduction to r in \[-ln 2 / 2, ln 2 / 2\] and Taylor's series there, whose first missing term is
    /// below 10⁻¹⁷.
    pub fn exp(values: &mut [f64]) {
        for value in values {
            let x = value.clamp(-709.0, 709.0);
            // The nearest integer appears in the lowest bits of this sum.
            let shifted = x * std::f64::consts::LOG2_E + SHIFT;
            let n = shifted - SHIFT;
            // 21 trailing zeros make n times the high part exact.
            let r = (x - n * f64::from_bits(0x3fe6_2e42_fee0_0000)) - n * f64::from_bits(0x3dea_39ef_3579_3c76);
            let mut sum = TAYLOR[0];
            for term in &TAYLOR[1..] {
                sum = sum * r + term;
            }
            let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3ff0_0000_0000_0000));
            *value = if *value < -708.0 { 0.0 } else { sum * scale };
        }
    }
}

/// 1.5 · 2⁵²: what is added to it is rounded to an integer.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// 1/13! to 1/0!
const TAYLOR: [f64; 14] = {
    let mut terms = [1.0; 14];
    let mut at = 13;
    while at > 0 {
        at -= 1;
        terms[at] = terms[at + 1] / (13 - at) as f64;
    }
    terms
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_sums_in_ascending_order() {
        for [m, n, k] in [[1, 1, 1], [3, 8, 5], [4, 17, 9], [9, 40, 33], [5, 7, 2]] {
            let value = |at: usize| ((at * 7919 + 13) % 1009) as f64 / 1009.0 - 0.4;
            let a: Vec<f64> = (0..m * k).map(value).collect();
            let b: Vec<f64> = (0..k * n).map(|at| value(at + 5)).collect();
            let before: Vec<f64> = (0..m * n).map(|at| value(at + 11)).collect();
            let mut out = before.clone();
            add_product([m, n, k], &a, &b, &mut out);
            for (at, found) in out.iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let expected = (0..k).fold(before[at], |sum, p| sum + a[i * k + p] * b[p * n + j]);
                assert_eq!(*found, expected, "[{m}, {n}, {k}] at {i}, {j}");
            }
        }
    }

    #[test]
    fn exponentials_are_right_to_the_last_bits() {
        let x: Vec<f64> = (0..400_000).map(|at| 708.9 - 3.54e-3 * at as f64).chain([0.0, -0.0]).collect();
        let mut found = x.clone();
        exp(&mut found);
        for (x, found) in x.iter().zip(found) {
            let expected = libm::exp(*x);
            assert!((found - expected).abs() <= 4e-16 * expected, "{x}: {found:e} {expected:e}");
        }
        let mut ends = [-708.5, -1e300, f64::NEG_INFINITY, 709.0, 1e300];
        exp(&mut ends);
        assert_eq!(ends[..3], [0.0; 3]);
        assert!(ends[3] > 8.2e307 && ends[3].is_finite() && ends[4] == ends[3], "{ends:?}");
    }

    #[test]
    #[should_panic(expected = "a product [2, 3] x [3, 2]")]
    fn sizes_that_do_not_match_are_named() {
        add_product([2, 2, 3], &[0.0; 6], &[0.0; 5], &mut [0.0; 4]);
    }
}
