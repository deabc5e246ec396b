//! Small matrix products inside one attention head, where the set-up of a general GEMM would cost more
//! than the arithmetic. Every element is summed over k in ascending order.

use std::hint::black_box;
use std::mem::MaybeUninit;

use super::vector::{LANES, Lanes, Plain, Simd};

/// The left operand of a product \[m, k\].
#[derive(Clone, Copy)]
pub enum LeftRows<'a> {
    /// Rows so far apart.
    Rows(&'a [f32], usize),
    /// Columns so far apart: a transpose.
    Columns(&'a [f32], usize),
}

/// Rows of a right operand, and how far they are apart.
pub type RightRows<'a> = (&'a [f32], usize);

/// Rows of an output, and how far they are apart.
pub type Output<'a> = (&'a mut [MaybeUninit<f32>], usize);

/// An instruction set that multiplies matrices by a function of its own. With all shapes of tiles inside, each caller would take
/// minutes to compile.
pub trait Product: Simd {
    /// See [`product`].
    fn product(self, sizes: [usize; 3], a: LeftRows<'_>, b: RightRows<'_>, out: Output<'_>);
}

/// Writes `out[m, n] = a[m, k] b[k, n]`; rows of `b` and `out` are contiguous, `b_row` and `out_row` apart.
///
/// # Panics
/// If a size is 0, or a matrix ends before its last element.
#[inline(always)]
pub fn product<S: Product>(simd: S, sizes: [usize; 3], a: LeftRows<'_>, b: RightRows<'_>, out: Output<'_>) {
    simd.product(sizes, a, b, out);
}

impl<const FMA: bool> Product for Plain<FMA> {
    #[inline(never)]
    fn product(self, sizes: [usize; 3], a: LeftRows<'_>, b: RightRows<'_>, out: Output<'_>) {
        multiply(self, sizes, a, b, out);
    }
}

/// Implements the trait for a type that proves that the processor has these features.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled_for {
    ($features:literal, $set:ty) => {
        impl Product for $set {
            #[inline(always)]
            fn product(self, sizes: [usize; 3], a: LeftRows<'_>, b: RightRows<'_>, out: Output<'_>) {
                /// The product, compiled for these features.
                ///
                /// # Safety
                /// The processor must have them.
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn compiled(
                    simd: $set,
                    sizes: [usize; 3],
                    a: LeftRows<'_>,
                    b: RightRows<'_>,
                    out: Output<'_>,
                ) {
                    multiply(simd, sizes, a, b, out);
                }
                // SAFETY: the value proves that the processor has the features.
                unsafe { compiled(self, sizes, a, b, out) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled_for!("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", super::vector::Avx512);
#[cfg(target_arch = "x86_64")]
compiled_for!("avx2,fma", super::vector::Avx2);

#[inline(always)]
fn multiply<S: Simd>(
    simd: S,
    [m, n, k]: [usize; 3],
    a: LeftRows<'_>,
    (b, b_row): RightRows<'_>,
    (out, out_row): Output<'_>,
) {
    let (data, [across, along]) = match a {
        LeftRows::Rows(data, apart) => (data, [apart, 1]),
        LeftRows::Columns(data, apart) => (data, [1, apart]),
    };
    assert!((m - 1) * across + (k - 1) * along < data.len(), "the left operand of a product [{m}, {k}]");
    assert!((k - 1) * b_row + n <= b.len(), "the right operand of a product [{k}, {n}]");
    assert!((m - 1) * out_row + n <= out.len(), "the output of a product [{m}, {n}]");
    let [rows, vectors] = S::TILE;
    // Tiles of almost the same height, since few rows are too few sums.
    let tall = m.div_ceil(m.div_ceil(rows));
    let whole = n - n % LANES;
    let mut j = 0;
    while j < whole {
        let wide = if vectors > 1 && j + 2 * LANES <= whole { 2 } else { 1 };
        for i in (0..m).step_by(tall) {
            let tile = ProductTile {
                a: data.as_ptr().wrapping_add(i * across),
                across,
                along,
                b: b.as_ptr().wrapping_add(j),
                b_row,
                out: out.as_mut_ptr().wrapping_add(i * out_row + j).cast(),
                out_row,
            };
            // SAFETY: rows below m and columns below n are inside the three matrices, as was asserted.
            unsafe {
                match (a, wide) {
                    (LeftRows::Rows(..), 1) => tile.rows::<S, false, 1>(simd, tall.min(m - i), k),
                    (LeftRows::Rows(..), _) => tile.rows::<S, false, 2>(simd, tall.min(m - i), k),
                    (LeftRows::Columns(..), 1) => tile.rows::<S, true, 1>(simd, tall.min(m - i), k),
                    (LeftRows::Columns(..), _) => tile.rows::<S, true, 2>(simd, tall.min(m - i), k),
                }
            }
        }
        j += wide * LANES;
    }
    for i in 0..m {
        for j in whole..n {
            let mut sum = 0f32;
            for p in 0..k {
                sum = simd.fma(data[i * across + p * along], b[p * b_row + j], sum);
            }
            out[i * out_row + j].write(sum);
        }
    }
}

/// Some rows and vectors of columns of a product, by the places of their first elements.
struct ProductTile {
    a: *const f32,
    across: usize,
    along: usize,
    b: *const f32,
    b_row: usize,
    out: *mut f32,
    out_row: usize,
}

impl ProductTile {
    /// Computes `rows` rows, at most eight, of C vectors. `TRANSPOSED` says that rows of `a` are neighbours.
    ///
    /// # Safety
    /// These rows and k columns of `a`, k rows of `b` and the rows of `out` must be valid, with no other access to `out`.
    #[inline(always)]
    unsafe fn rows<S: Simd, const TRANSPOSED: bool, const C: usize>(self, simd: S, rows: usize, k: usize) {
        // SAFETY: the caller guarantees the elements.
        unsafe {
            match rows {
                1 => self.compute::<S, TRANSPOSED, 1, C>(simd, k),
                2 => self.compute::<S, TRANSPOSED, 2, C>(simd, k),
                3 => self.compute::<S, TRANSPOSED, 3, C>(simd, k),
                4 => self.compute::<S, TRANSPOSED, 4, C>(simd, k),
                5 => self.compute::<S, TRANSPOSED, 5, C>(simd, k),
                6 => self.compute::<S, TRANSPOSED, 6, C>(simd, k),
                7 => self.compute::<S, TRANSPOSED, 7, C>(simd, k),
                _ => self.compute::<S, TRANSPOSED, 8, C>(simd, k),
            }
        }
    }

    /// Computes R rows of C vectors.
    ///
    /// # Safety
    /// As for [`rows`](Self::rows).
    #[inline(always)]
    unsafe fn compute<S: Simd, const TRANSPOSED: bool, const R: usize, const C: usize>(
        self,
        simd: S,
        k: usize,
    ) {
        let mut sums = [[simd.splat(0.0); C]; R];
        // The compiler would compute the place of each row from the one before.
        let places: [usize; R] = if TRANSPOSED {
            std::array::from_fn(|r| r)
        } else {
            black_box(std::array::from_fn(|r| r * self.across))
        };
        let (mut a, mut b) = (self.a, self.b);
        for _ in 0..k {
            let mut right = [simd.splat(0.0); C];
            for (c, right) in right.iter_mut().enumerate() {
                // SAFETY: the caller guarantees the elements.
                *right = simd.load(unsafe { *b.wrapping_add(c * LANES).cast() });
            }
            for (sums, place) in sums.iter_mut().zip(places) {
                // SAFETY: as above.
                let left = simd.splat(unsafe { *a.wrapping_add(place) });
                for (sum, right) in sums.iter_mut().zip(right) {
                    *sum = left.mul_add(right, *sum);
                }
            }
            a = a.wrapping_add(if TRANSPOSED { self.along } else { 1 });
            b = b.wrapping_add(self.b_row);
        }
        for (r, sums) in sums.iter().enumerate() {
            for (c, sum) in sums.iter().enumerate() {
                // SAFETY: as above.
                unsafe { *self.out.wrapping_add(r * self.out_row + c * LANES).cast() = sum.to_array() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::fresh::as_room;

    #[test]
    fn every_element_is_its_sum_in_ascending_order() {
        for [m, n, k] in [[1, 1, 1], [7, 32, 5], [6, 16, 3], [13, 19, 8], [25, 48, 2]] {
            let value = |seed: usize| ((seed * 37 + 11) % 101) as f32 / 7.0 - 6.0;
            let (across, b_row, out_row) = (m + 2, n + 3, n + 1);
            let a: Vec<f32> = (0..k * across).map(value).collect();
            let b: Vec<f32> = (0..k * b_row).map(|at| value(at + 5)).collect();
            // The left operand is a transpose.
            let (values, a) = (&a, LeftRows::Columns(&a, across));
            let mut out = vec![f32::NAN; m * out_row];
            // SAFETY: a product writes numbers.
            product(
                crate::cpu::vector::Plain::<false>,
                [m, n, k],
                a,
                (&b, b_row),
                (unsafe { as_room(&mut out) }, out_row),
            );
            for (at, found) in out.iter().enumerate() {
                let (i, j) = (at / out_row, at % out_row);
                let sum = (0..k)
                    .fold(0.0, |sum, p| values[i + p * across].mul_add(b[p * b_row + j.min(n - 1)], sum));
                let expected = if j < n { sum } else { f32::NAN };
                assert_eq!(found.to_bits(), expected.to_bits(), "[{i}, {j}] of [{m}, {n}, {k}]");
            }
        }
    }
}
