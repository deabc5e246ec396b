//! Cross-entropy and its gradient in f64; the matrix is small, so one thread computes it.

use crate::profile::{Operation, timed};

/// The sum of cross-entropies in nats, and the softmax minus one-hot, which the backward pass scales.
pub fn forward(logits: &[f32], labels: &[u32]) -> (f32, Vec<f32>) {
    let _timed = timed(Operation::Loss, 0, 2 * logits.len());
    let c = logits.len() / labels.len().max(1);
    let mut slope = Vec::with_capacity(logits.len());
    let mut total = 0f64;
    for (row, &label) in logits.chunks_exact(c.max(1)).zip(labels) {
        let top = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let powers = row.iter().map(|&value| libm::exp(f64::from(value) - top));
        let sum = powers.clone().fold(0.0, |sum, power| sum + power);
        total += libm::log(sum) - (f64::from(row[label as usize]) - top);
        let own = slope.len() + label as usize;
        slope.extend(powers.map(|power| (power / sum) as f32));
        slope[own] -= 1.0;
    }
    (total as f32, slope)
}
