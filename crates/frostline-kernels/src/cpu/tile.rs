//! Small matrix products inside one attention head, where the set-up of a general GEMM would cost more
//! than the arithmetic. Every element is summed over k in ascending order.

use super::simd::fma;

/// Columns of a tile: one AVX-512 register.
const WIDE: usize = 16;
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

/// `out[m, n] = a[m, k] b[k, n]`; rows of `b` and `out` are contiguous, `b_row` and `out_row` apart.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn product<const FMA: bool>(
    [m, n, k]: [usize; 3],
    a: StridedMatrix<'_>,
    b: &[f32],
    b_row: usize,
    out: &mut [f32],
    out_row: usize,
) {
    let mut j = 0;
    while j + WIDE <= n {
        let mut i = 0;
        while i < m {
            let (a, out) = (StridedMatrix { data: &a.data[i * a.row..], ..a }, &mut out[i * out_row + j..]);
            match m - i {
                1 => tile::<FMA, 1>(k, a, &b[j..], b_row, out, out_row),
                2 => tile::<FMA, 2>(k, a, &b[j..], b_row, out, out_row),
                3 => tile::<FMA, 3>(k, a, &b[j..], b_row, out, out_row),
                4 => tile::<FMA, 4>(k, a, &b[j..], b_row, out, out_row),
                5 => tile::<FMA, 5>(k, a, &b[j..], b_row, out, out_row),
                _ => tile::<FMA, TALL>(k, a, &b[j..], b_row, out, out_row),
            }
            i += TALL;
        }
        j += WIDE;
    }
    for i in 0..m {
        for j in j..n {
            let mut acc = 0f32;
            for p in 0..k {
                acc = fma::<FMA>(a.data[i * a.row + p * a.col], b[p * b_row + j], acc);
            }
            out[i * out_row + j] = acc;
        }
    }
}

/// The first T rows and [`WIDE`] columns of a product.
#[inline(always)]
fn tile<const FMA: bool, const T: usize>(
    k: usize,
    a: StridedMatrix<'_>,
    b: &[f32],
    b_row: usize,
    out: &mut [f32],
    out_row: usize,
) {
    let mut acc = [[0f32; WIDE]; T];
    for p in 0..k {
        let b = &b[p * b_row..][..WIDE];
        for (t, acc) in acc.iter_mut().enumerate() {
            let x = a.data[t * a.row + p * a.col];
            for (acc, &b) in acc.iter_mut().zip(b) {
                *acc = fma::<FMA>(x, b, *acc);
            }
        }
    }
    for (t, acc) in acc.iter().enumerate() {
        out[t * out_row..][..WIDE].copy_from_slice(acc);
    }
}
