//! Rotations of queries and keys by their positions, in place.

use rayon::prelude::*;

use super::PARALLEL_FROM;
use crate::dispatch::dispatched;
use crate::profile::{Operation, timed};
use crate::{Pack, Rotary};

/// Rows of a task.
const ROWS: usize = 32;

/// Rotates the heads of each row \[N, H\] by the row's position in its sentence; backwards for gradients.
///
/// # Panics
/// If a row is not a whole number of heads, or a sentence has more positions than the rotations.
pub fn rotate(x: &mut [f32], h: usize, pack: &Pack, rotary: &Rotary, backwards: bool) {
    assert!(h.is_multiple_of(2 * rotary.half()), "{h} channels in heads of {}", 2 * rotary.half());
    let _timed = timed(Operation::Attention, 0, 2 * x.len());
    let positions: Vec<u32> =
        pack.offsets().windows(2).flat_map(|pair| 0..(pair[1] - pair[0]) as u32).collect();
    x.par_chunks_mut(ROWS * h)
        .zip(positions.par_chunks(ROWS))
        .with_min_len((PARALLEL_FROM / (ROWS * h)).max(1))
        .for_each(|(rows, positions)| {
            for (row, &position) in rows.chunks_exact_mut(h).zip(positions) {
                rotate_row(row, rotary.turns(position as usize), if backwards { -1.0 } else { 1.0 });
            }
        });
}

dispatched! {
    /// Rotates the heads of one row; the direction is 1 or -1.
    pub fn rotate_row(row: &mut [f32], turns: &[[f32; 2]], direction: f32) {
        let half = turns.len();
        for head in row.chunks_exact_mut(2 * half) {
            let (first, second) = head.split_at_mut(half);
            for ((first, second), [cosine, sine]) in first.iter_mut().zip(second).zip(turns) {
                let (x, y, sine) = (*first, *second, sine * direction);
                *first = x * cosine - y * sine;
                *second = y * cosine + x * sine;
            }
        }
    }
}
