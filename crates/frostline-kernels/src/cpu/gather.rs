//! Rows of a table, and the sum of their gradients.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::PARALLEL_FROM;
use crate::profile::{Operation, timed};

/// table \[V, H\] -> \[N, H\].
pub fn forward(table: &[f32], h: usize, rows: &[u32]) -> Vec<f32> {
    let _timed = timed(Operation::Gather, 0, 2 * rows.len() * h);
    filled(rows.len(), h, |first, out| {
        for (row, out) in rows[first..].iter().zip(out.chunks_exact_mut(h)) {
            out.write_copy_of_slice(&table[*row as usize * h..][..h]);
        }
    })
}

/// The table's gradient \[V, H\]: the gradients of one row are added in the order of `rows`.
pub fn backward(gradient: &[f32], height: usize, h: usize, rows: &[u32]) -> Vec<f32> {
    let _timed = timed(Operation::Gather, 0, gradient.len() + height * h);
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    // The sort is stable, so gradients of the same row stay in order.
    order.sort_by_key(|&at| rows[at as usize]);
    let before = |row: usize| order.partition_point(|&at| (rows[at as usize] as usize) < row);
    filled(height, h, |first, out| {
        let last = first + out.len() / h;
        out.fill(MaybeUninit::new(0.0));
        // SAFETY: all of `out` was just written.
        let out = unsafe { out.assume_init_mut() };
        for &at in &order[before(first)..before(last)] {
            let row = rows[at as usize] as usize - first;
            super::linear::add_rows(&gradient[at as usize * h..][..h], &mut out[row * h..][..h]);
        }
    })
}

/// A matrix \[rows, H\] that all threads write in blocks of consecutive rows: `write` receives the
/// number of the first row and a block, of which it must write every element.
fn filled(rows: usize, h: usize, write: impl Fn(usize, &mut [MaybeUninit<f32>]) + Sync) -> Vec<f32> {
    let some = (PARALLEL_FROM / h.max(1)).max(1);
    let mut out = Vec::with_capacity(rows * h);
    let target = &mut out.spare_capacity_mut()[..rows * h];
    target.par_chunks_mut((some * h).max(1)).enumerate().for_each(|(part, out)| write(part * some, out));
    // SAFETY: both callers in this file pass a `write` that writes every element of its block.
    unsafe { out.set_len(rows * h) };
    out
}
