//! `x W + b` and its gradients.

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::product::{Left, Right, product};
use super::simd::dispatched;
use crate::Precision;
use crate::profile::{Operation, timed};

const ROWS: usize = 32;

/// x \[N, I\], weight \[I, O\], bias \[O\] -> \[N, O\].
pub fn forward(precision: Precision, x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f32> {
    let o = bias.len();
    let i = weight.len() / o;
    let n = x.len() / i;
    let _timed = timed(Operation::Products, 2 * n * o * i, n * i + i * o + n * o);
    product(precision, [n, o, i], Left::Plain(x), Right::Plain(weight), Some(bias))
}

/// The gradient of x: `gradient Wᵀ`, \[N, I\].
pub fn backward_x(precision: Precision, gradient: &[f32], weight: &[f32], o: usize) -> Vec<f32> {
    let i = weight.len() / o;
    let n = gradient.len() / o;
    let _timed = timed(Operation::InputGradients, 2 * n * o * i, n * o + i * o + n * i);
    product(precision, [n, i, o], Left::Plain(gradient), Right::Transposed(weight), None)
}

/// The gradient of the weight: `xᵀ gradient`, \[I, O\].
pub fn backward_weight(precision: Precision, x: &[f32], gradient: &[f32], o: usize) -> Vec<f32> {
    let n = gradient.len() / o;
    let i = x.len() / n.max(1);
    let _timed = timed(Operation::WeightGradients, 2 * n * o * i, n * i + n * o + i * o);
    product(precision, [i, o, n], Left::Transposed(x), Right::Plain(gradient), None)
}

/// The gradient of the bias: the sum of rows, in chunks of fixed size and fixed order, \[O\].
pub fn backward_bias(gradient: &[f32], o: usize) -> Vec<f32> {
    let _timed = timed(Operation::BiasGradients, 0, gradient.len() + o);
    let parts: Vec<Vec<f32>> = gradient
        .par_chunks(ROWS * o)
        .with_min_len((PARALLEL_FROM / (ROWS * o)).max(1))
        .map(|rows| {
            let mut part = vec![0f32; o];
            add_rows(rows, &mut part);
            part
        })
        .collect();
    let mut total = vec![0f32; o];
    for part in &parts {
        add_rows(part, &mut total);
    }
    total
}

dispatched! {
    /// Adds rows of `total.len()` elements to `total`.
    pub fn add_rows(rows: &[f32], total: &mut [f32]) {
        for row in rows.chunks_exact(total.len()) {
            for (total, value) in total.iter_mut().zip(row) {
                *total += value;
            }
        }
    }
}
