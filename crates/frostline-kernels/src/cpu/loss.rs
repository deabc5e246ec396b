//! Cross-entropy and its gradient in f64.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::fresh::Fresh;
use crate::profile::{Operation, timed};

/// Rows that a thread computes at once.
const ROWS: usize = 32;

/// The sum of cross-entropies in nats, and the softmax minus one-hot, which the backward pass scales.
pub fn forward(logits: &[f32], labels: &[u32]) -> (f32, Vec<f32>) {
    let _timed = timed(Operation::Loss, 0, 2 * logits.len());
    let c = logits.len() / labels.len().max(1);
    assert_eq!(logits.len(), c * labels.len(), "a row of logits for each label");
    if c == 0 {
        return (0.0, Vec::new());
    }
    let (mut slope, mut losses) = (Fresh::new(logits.len()), vec![0f64; labels.len()]);
    let rows = logits.par_chunks(ROWS * c).zip(labels.par_chunks(ROWS));
    slope.chunks(ROWS * c).zip(losses.par_chunks_mut(ROWS)).zip(rows).for_each(
        |((slope, losses), (logits, labels))| {
            // SAFETY: all rows are written.
            let slope = unsafe { slope.room() }.chunks_exact_mut(c);
            let mut powers = vec![0f64; c];
            for (((slope, loss), row), &label) in slope.zip(losses).zip(logits.chunks_exact(c)).zip(labels) {
                *loss = row_of(row, label as usize, &mut powers, slope);
            }
        },
    );
    (losses.iter().fold(0.0, |total, loss| total + loss) as f32, slope.finish())
}

/// The cross-entropy of a row, and its slope.
fn row_of(row: &[f32], label: usize, powers: &mut [f64], slope: &mut [MaybeUninit<f32>]) -> f64 {
    let top = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    for (power, &value) in powers.iter_mut().zip(row) {
        *power = libm::exp(f64::from(value) - top);
    }
    let sum = powers.iter().fold(0.0, |sum, power| sum + power);
    for (at, (slope, power)) in slope.iter_mut().zip(powers).enumerate() {
        let share = (*power / sum) as f32;
        slope.write(if at == label { share - 1.0 } else { share });
    }
    libm::log(sum) - (f64::from(row[label]) - top)
}
