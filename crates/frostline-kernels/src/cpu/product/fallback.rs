//! Products through the `gemm` crate, for processors without AVX-512.

use std::mem::MaybeUninit;

use super::{Left, Right};

/// Below this many multiplications a product runs on one thread.
const PARALLEL_FROM: usize = 64 * 64 * 64;

/// Writes `left right + bias` to all of `out`.
pub fn product(
    [m, n, k]: [usize; 3],
    left: Left<'_>,
    right: Right<'_>,
    bias: Option<&[f32]>,
    out: &mut [MaybeUninit<f32>],
) {
    assert_eq!(out.len(), m * n);
    if let Some(bias) = bias {
        for row in out.chunks_exact_mut(n.max(1)) {
            row.write_copy_of_slice(bias);
        }
    }
    let several = m * n * k >= PARALLEL_FROM && rayon::current_num_threads() > 1;
    let parallelism = if several { gemm::Parallelism::Rayon(0) } else { gemm::Parallelism::None };
    // Data, distance between columns, distance between rows.
    let (a, a_col, a_row) = match left {
        Left::Plain(a) => (a, 1, k),
        Left::Transposed(a) => (a, m, 1),
    };
    // The product is much faster over a row-major right side.
    let row_major;
    let b = match right {
        Right::Plain(b) => b,
        Right::Transposed(b) => {
            row_major = transposed(b, n, k);
            &row_major
        }
    };
    assert_eq!([a.len(), b.len()], [m * k, k * n]);
    // SAFETY: all three matrices are inside their slices (asserted above); `out` is borrowed
    // exclusively, and is read only where the bias has just initialised it.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr().cast::<f32>(),
            1,
            n as isize,
            bias.is_some(),
            a.as_ptr(),
            a_col as isize,
            a_row as isize,
            b.as_ptr(),
            1,
            n as isize,
            1.0f32,
            1.0f32,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// The transpose of a row-major matrix, in blocks.
fn transposed(data: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    use rayon::prelude::*;
    const BLOCK: usize = 16;
    let mut out = vec![0f32; rows * cols];
    if out.is_empty() {
        return out;
    }
    out.par_chunks_mut(BLOCK * rows).enumerate().for_each(|(block, out)| {
        let first = block * BLOCK;
        for row in (0..rows).step_by(BLOCK) {
            let height = BLOCK.min(rows - row);
            for (i, line) in out.chunks_mut(rows).enumerate() {
                for (j, slot) in line[row..row + height].iter_mut().enumerate() {
                    *slot = data[(row + j) * cols + first + i];
                }
            }
        }
    });
    out
}
