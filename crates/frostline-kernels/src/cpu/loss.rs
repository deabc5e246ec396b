//! Cross-entropy and its gradient; the matrix is small, so one thread computes it.

/// The sum of cross-entropies in nats, and the softmax minus one-hot, which the backward pass scales.
pub fn forward(logits: &[f32], labels: &[u32]) -> (f32, Vec<f32>) {
    let c = logits.len() / labels.len().max(1);
    let mut slope = logits.to_vec();
    let mut total = 0f64;
    for (row, &label) in slope.chunks_exact_mut(c.max(1)).zip(labels) {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let right = row[label as usize] - top;
        let mut sum = 0f32;
        for value in row.iter_mut() {
            *value = (*value - top).exp();
            sum += *value;
        }
        total += f64::from(sum.ln() - right);
        for value in row.iter_mut() {
            *value /= sum;
        }
        row[label as usize] -= 1.0;
    }
    (total as f32, slope)
}
