//! Small matrix products inside one attention head, where a general GEMM's set-up costs more than
//! its arithmetic. Every element is summed over k in ascending order.

use super::simd::fma;

/// Columns of a tile: one AVX-512 register.
const WIDE: usize = 16;
/// Rows of a tile.
const TALL: usize = 4;

/// A read-only matrix with free strides.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub col: usize,
}

/// `out[m, n] = a[m, k] b[k, n]`; rows of `b` and `out` are contiguous, `b_row` and `out_row` apart.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub fn product<const FMA: bool>(
    [m, n, k]: [usize; 3],
    a: View<'_>,
    b: &[f32],
    b_row: usize,
    out: &mut [f32],
    out_row: usize,
) {
    let mut j = 0;
    while j + WIDE <= n {
        let mut i = 0;
        while i + TALL <= m {
            let mut acc = [[0f32; WIDE]; TALL];
            for p in 0..k {
                let b = &b[p * b_row + j..][..WIDE];
                for (t, acc) in acc.iter_mut().enumerate() {
                    let x = a.data[(i + t) * a.row + p * a.col];
                    for (acc, &b) in acc.iter_mut().zip(b) {
                        *acc = fma::<FMA>(x, b, *acc);
                    }
                }
            }
            for (t, acc) in acc.iter().enumerate() {
                out[(i + t) * out_row + j..][..WIDE].copy_from_slice(acc);
            }
            i += TALL;
        }
        while i < m {
            let mut acc = [0f32; WIDE];
            for p in 0..k {
                let x = a.data[i * a.row + p * a.col];
                for (acc, &b) in acc.iter_mut().zip(&b[p * b_row + j..][..WIDE]) {
                    *acc = fma::<FMA>(x, b, *acc);
                }
            }
            out[i * out_row + j..][..WIDE].copy_from_slice(&acc);
            i += 1;
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
