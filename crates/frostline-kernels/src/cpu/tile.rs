//! Small matrix products inside one attention head, where the set-up of a general GEMM would cost more
//! than the arithmetic. Every element is summed over k in ascending order.

use std::mem::MaybeUninit;

use super::simd::{LANES, fma};

/// Rows of a tile: enough sums to hide the latency of a multiply-add, few enough for 16 registers
/// of half the width.
const TALL: usize = 6;

/// A read-only matrix with arbitrary strides.
#[derive(Clone, Copy)]
pub struct StridedMatrix<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub col: usize,
}

/// Writes `out[m, n] = a[m, k] b[k, n]`; rows of `b` and `out` are contiguous, `b_row` and `out_row` apart.
///
/// # Panics
/// If a size is 0, or a matrix ends before its last element.
#[inline(always)]
pub fn product<const FMA: bool>(
    [m, n, k]: [usize; 3],
    a: StridedMatrix<'_>,
    (b, b_row): (&[f32], usize),
    (out, out_row): (&mut [MaybeUninit<f32>], usize),
) {
    assert!((m - 1) * a.row + (k - 1) * a.col < a.data.len(), "the left operand of a product [{m}, {k}]");
    assert!((k - 1) * b_row + n <= b.len(), "the right operand of a product [{k}, {n}]");
    assert!((m - 1) * out_row + n <= out.len(), "the output of a product [{m}, {n}]");
    // Tiles of almost the same height, since few rows are too few sums.
    let tall = m.div_ceil(m.div_ceil(TALL));
    let whole = n - n % LANES;
    for j in (0..whole).step_by(LANES) {
        for i in (0..m).step_by(tall) {
            let tile = Tile {
                a: a.data.as_ptr().wrapping_add(i * a.row),
                row: a.row,
                col: a.col,
                b: b.as_ptr().wrapping_add(j),
                b_row,
                out: out.as_mut_ptr().wrapping_add(i * out_row + j).cast(),
                out_row,
            };
            // SAFETY: rows below m and columns below n are inside the three matrices, as was asserted.
            unsafe {
                match tall.min(m - i) {
                    1 => tile.compute::<FMA, 1>(k),
                    2 => tile.compute::<FMA, 2>(k),
                    3 => tile.compute::<FMA, 3>(k),
                    4 => tile.compute::<FMA, 4>(k),
                    5 => tile.compute::<FMA, 5>(k),
                    _ => tile.compute::<FMA, TALL>(k),
                }
            }
        }
    }
    for i in 0..m {
        for j in whole..n {
            let mut sum = 0f32;
            for p in 0..k {
                sum = fma::<FMA>(a.data[i * a.row + p * a.col], b[p * b_row + j], sum);
            }
            out[i * out_row + j].write(sum);
        }
    }
}

/// Some rows and [`LANES`] columns of a product, by the places of their first elements.
struct Tile {
    a: *const f32,
    row: usize,
    col: usize,
    b: *const f32,
    b_row: usize,
    out: *mut f32,
    out_row: usize,
}

impl Tile {
    /// Computes R rows.
    ///
    /// # Safety
    /// R rows and k columns of `a`, k rows of `b` and R rows of `out` must be valid, with no other access to `out`.
    #[inline(always)]
    unsafe fn compute<const FMA: bool, const R: usize>(self, k: usize) {
        let mut sums = [[0f32; LANES]; R];
        for p in 0..k {
            // SAFETY: the caller guarantees the elements.
            let b = unsafe { *self.b.add(p * self.b_row).cast::<[f32; LANES]>() };
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: as above.
                let a = unsafe { *self.a.add(r * self.row + p * self.col) };
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = fma::<FMA>(a, b, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            // SAFETY: as above.
            unsafe { *self.out.add(r * self.out_row).cast() = *sums };
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
            let a = StridedMatrix { data: &a, row: 1, col: across };
            let mut out = vec![f32::NAN; m * out_row];
            // SAFETY: a product writes numbers.
            product::<false>([m, n, k], a, (&b, b_row), (unsafe { as_room(&mut out) }, out_row));
            for (at, found) in out.iter().enumerate() {
                let (i, j) = (at / out_row, at % out_row);
                let sum = (0..k)
                    .fold(0.0, |sum, p| a.data[i + p * across].mul_add(b[p * b_row + j.min(n - 1)], sum));
                let expected = if j < n { sum } else { f32::NAN };
                assert_eq!(found.to_bits(), expected.to_bits(), "[{i}, {j}] of [{m}, {n}, {k}]");
            }
        }
    }
}
