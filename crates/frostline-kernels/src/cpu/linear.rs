//! `x W + b` and its gradients, of one layer or of several with the same input.

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::product::{LeftOperand, RightOperand, add, outputs, products, sum};
use crate::Precision;
use crate::dispatch::dispatched;
use crate::profile::{Operation, Timed, timed};

const ROWS: usize = 32;

/// A layer's weight \[I, O\] and bias \[O\].
pub type Layer<'a> = (&'a [f32], &'a [f32]);

/// x \[N, I\] through layers of one size -> \[N, O\] each.
pub fn forward<const T: usize>(precision: Precision, x: &[f32], layers: [Layer<'_>; T]) -> [Vec<f32>; T] {
    let (weight, bias) = layers[0];
    let o = bias.len();
    let i = weight.len() / o;
    let n = x.len() / i;
    let _timed = timed(Operation::Products, 2 * n * T * o * i, n * i + T * (i * o + n * o));
    let rights = layers.map(|(weight, bias)| (RightOperand::Plain(weight), Some(bias)));
    let outs = products(precision, [n, o, i], LeftOperand::Plain(x), &rights, outputs(T, [n, o]));
    outs.try_into().expect("one output for each layer")
}

/// The gradient of x, whose layers' outputs have gradients \[N, O\]: the sum of `gradient Wᵀ`, \[N, I\]. Terms are a
/// gradient and a weight each.
pub fn backward_x<const T: usize>(precision: Precision, terms: [(&[f32], &[f32]); T], o: usize) -> Vec<f32> {
    let (sizes, _timed) = sizes_of_x(&terms, o);
    sum(
        precision,
        sizes,
        terms.map(|(gradient, weight)| (LeftOperand::Plain(gradient), RightOperand::Transposed(weight))),
    )
}

/// As [`backward_x`], added to `total`.
pub fn add_backward_x<const T: usize>(
    precision: Precision,
    terms: [(&[f32], &[f32]); T],
    o: usize,
    total: &mut [f32],
) {
    let (sizes, _timed) = sizes_of_x(&terms, o);
    let terms =
        terms.map(|(gradient, weight)| (LeftOperand::Plain(gradient), RightOperand::Transposed(weight)));
    add(precision, sizes, terms, total);
}

fn sizes_of_x(terms: &[(&[f32], &[f32])], o: usize) -> ([usize; 3], Timed) {
    let (gradient, weight) = terms[0];
    let i = weight.len() / o;
    let n = gradient.len() / o;
    let count = terms.len();
    ([n, i, o], timed(Operation::InputGradients, 2 * count * n * o * i, count * (n * o + i * o) + n * i))
}

/// The gradients of the weights of layers with one input: `xᵀ gradient`, \[I, O\] each, written to `outs`, as
/// [`outputs`] makes them. There is at least one.
pub fn backward_weights(
    precision: Precision,
    x: &[f32],
    gradients: &[&[f32]],
    o: usize,
    outs: Vec<Vec<f32>>,
) -> Vec<Vec<f32>> {
    let (count, n) = (gradients.len(), gradients[0].len() / o);
    let i = x.len() / n.max(1);
    let _timed = timed(Operation::WeightGradients, 2 * n * count * o * i, n * i + count * (n * o + i * o));
    let rights: Vec<_> = gradients.iter().map(|gradient| (RightOperand::Plain(gradient), None)).collect();
    products(precision, [i, o, n], LeftOperand::Transposed(x), &rights, outs)
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
