//! Rows of a table, and the sum of their gradients.

use rayon::prelude::*;

/// table \[V, H\] -> \[N, H\].
pub fn forward(table: &[f32], h: usize, rows: &[u32]) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len() * h);
    for &row in rows {
        out.extend_from_slice(&table[row as usize * h..][..h]);
    }
    out
}

/// The table's gradient \[V, H\]: rows are added in their order.
pub fn backward(gradient: &[f32], height: usize, h: usize, rows: &[u32]) -> Vec<f32> {
    let mut out = zeros(height * h);
    for (&row, gradient) in rows.iter().zip(gradient.chunks_exact(h)) {
        super::linear::add_rows(gradient, &mut out[row as usize * h..][..h]);
    }
    out
}

/// So many zeros, written by all threads: a table's gradient is large and mostly zero.
fn zeros(count: usize) -> Vec<f32> {
    const CHUNK: usize = 1 << 16;
    let mut out = Vec::with_capacity(count);
    out.spare_capacity_mut()[..count].par_chunks_mut(CHUNK).for_each(|chunk| {
        chunk.fill(std::mem::MaybeUninit::new(0.0));
    });
    // SAFETY: all elements were just written.
    unsafe { out.set_len(count) };
    out
}
