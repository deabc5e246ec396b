//! Matrix products over row-major slices, through the `gemm` crate.

use std::mem::MaybeUninit;

/// Below this many multiplications a product runs on one thread.
const PARALLEL_FROM: usize = 64 * 64 * 64;

/// A matrix in a slice: rows, columns, and the distance between neighbours in either direction.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A row-major matrix.
    pub fn new(data: &'a [f32], rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a {rows} x {cols} matrix");
        Self { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// Its transpose, without moving a number.
    pub fn t(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }
}

/// `a b`, row-major.
pub fn product(a: Matrix<'_>, b: Matrix<'_>) -> Vec<f32> {
    let mut out = Vec::with_capacity(a.rows * b.cols);
    run(a, b, out.spare_capacity_mut(), false);
    // SAFETY: `run` wrote all `a.rows * b.cols` elements.
    unsafe { out.set_len(a.rows * b.cols) };
    out
}

/// `out += a b`, row-major.
pub fn accumulate(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f32]) {
    // SAFETY: initialised memory may be seen as possibly uninitialised while only floats are written.
    let out = unsafe { &mut *(std::ptr::from_mut(out) as *mut [MaybeUninit<f32>]) };
    run(a, b, out, true);
}

/// `out = a b`, or `out += a b` where `add` says that `out` is initialised.
fn run(a: Matrix<'_>, b: Matrix<'_>, out: &mut [MaybeUninit<f32>], add: bool) {
    assert_eq!(a.cols, b.rows, "inner sizes");
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert!(out.len() >= m * n, "room for {m} x {n}");
    if m * n == 0 {
        return;
    }
    let parallelism = if m * n * k >= PARALLEL_FROM && rayon::current_num_threads() > 1 {
        gemm::Parallelism::Rayon(0)
    } else {
        gemm::Parallelism::None
    };
    // SAFETY: all three matrices lie inside their slices (`Matrix::new` and the assertion above);
    // `out` is exclusive, and is read only where the caller says it is initialised.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr().cast::<f32>(),
            1,
            n as isize,
            add,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
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
pub fn transposed(data: &[f32], rows: usize, cols: usize) -> Vec<f32> {
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
