//! What a learned mix of hidden states and the heads of sentences need beside linear layers.

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::fresh::Fresh;
use super::vector::sum;
use crate::dispatch::dispatched;

/// Elements whose products are summed at a time.
const CHUNK: usize = 1 << 13;

/// gamma times the softmax of the weights.
pub fn shares(weights: &[f32], gamma: f32) -> Vec<f32> {
    softmax(weights).iter().map(|share| share * gamma).collect()
}

/// The gradients of the weights and of gamma, from that of the shares.
pub fn shares_backward(gradient: &[f32], weights: &[f32], gamma: f32) -> (Vec<f32>, f32) {
    let shares = softmax(weights);
    let along = |of: &[f32]| of.iter().zip(&shares).fold(0f32, |sum, (value, share)| sum + value * share);
    let mean = along(gradient);
    let weights = gradient.iter().zip(&shares).map(|(value, share)| share * (value - mean) * gamma);
    (weights.collect(), mean)
}

fn softmax(weights: &[f32]) -> Vec<f32> {
    let top = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let all: Vec<f32> = weights.iter().map(|weight| libm::expf(weight - top)).collect();
    let sum = all.iter().fold(0f32, |sum, value| sum + value);
    all.iter().map(|value| value / sum).collect()
}

/// `x` times one factor.
pub fn scaled(x: &[f32], factor: f32) -> Vec<f32> {
    let mut out = Fresh::new(x.len());
    out.chunks(CHUNK).zip(x.par_chunks(CHUNK)).with_min_len((PARALLEL_FROM / CHUNK).max(1)).for_each(
        |(out, x)| {
            // SAFETY: part and chunk have the same size, so that all elements are written.
            for (out, x) in unsafe { out.room() }.iter_mut().zip(x) {
                out.write(x * factor);
            }
        },
    );
    out.finish()
}

/// The sum of the products of two lists, in chunks of fixed size and fixed order.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let parts: Vec<f64> = a
        .par_chunks(CHUNK)
        .zip(b.par_chunks(CHUNK))
        .map(|(a, b)| {
            let mut part = 0f32;
            dot_chunk(a, b, &mut part);
            f64::from(part)
        })
        .collect();
    parts.iter().sum::<f64>() as f32
}

dispatched! {
    /// The sum of the products of a few elements.
    pub fn dot_chunk(simd, a: &[f32], b: &[f32], out: &mut f32) {
        *out = sum(simd, [a, b], |[a, b]| a * b);
    }
}

/// A row added to each row of `x` \\[N, H\\].
pub fn with_row(x: &[f32], row: &[f32]) -> Vec<f32> {
    let h = row.len();
    let mut out = Fresh::new(x.len());
    out.chunks(h).zip(x.par_chunks(h)).with_min_len((PARALLEL_FROM / h).max(1)).for_each(|(out, x)| {
        // SAFETY: part and chunk are both a row, so that all elements are written.
        for ((out, x), row) in unsafe { out.room() }.iter_mut().zip(x).zip(row) {
            out.write(x + row);
        }
    });
    out.finish()
}

/// The hyperbolic tangent.
pub fn tanh(x: &[f32]) -> Vec<f32> {
    x.iter().map(|&x| libm::tanhf(x)).collect()
}

/// The gradient of x, from that of y = tanh(x).
pub fn tanh_backward(y: &[f32], gradient: &[f32]) -> Vec<f32> {
    y.iter().zip(gradient).map(|(y, gradient)| gradient * (1.0 - y * y)).collect()
}
