//! AdamW in one pass over parameter, gradient and both moments.

use rayon::prelude::*;

use super::simd::{LANES, dispatched, fma};
use crate::AdamW;
use crate::profile::{Operation, timed};

const CHUNK: usize = 1 << 13;
const MIN_TASKS: usize = 8;

/// Updates parameter and moments in place, with the gradient times `scale`.
pub fn step(
    rule: &AdamW,
    scale: f64,
    parameter: &mut [f32],
    gradient: &[f32],
    first: &mut [f32],
    second: &mut [f32],
) {
    let n = parameter.len();
    assert!(
        [gradient.len(), first.len(), second.len()] == [n; 3],
        "a parameter, its gradient and its moments differ in size"
    );
    let _timed = timed(Operation::AdamW, 0, 7 * n);
    let [bias1, bias2] = rule.bias();
    let scaled = StepConstants {
        gradient_scale: scale as f32,
        beta1: rule.beta1 as f32,
        rest1: (1.0 - rule.beta1) as f32,
        beta2: rule.beta2 as f32,
        rest2: (1.0 - rule.beta2) as f32,
        root_scale: (1.0 / bias2).sqrt() as f32,
        eps: rule.eps as f32,
        keep: (1.0 - rule.lr * rule.weight_decay) as f32,
        move_by: (-rule.lr / bias1) as f32,
    };
    parameter
        .par_chunks_mut(CHUNK)
        .zip(gradient.par_chunks(CHUNK))
        .zip(first.par_chunks_mut(CHUNK))
        .zip(second.par_chunks_mut(CHUNK))
        .with_min_len(MIN_TASKS)
        .for_each(|(((parameter, gradient), first), second)| {
            step_chunk(scaled, parameter, gradient, first, second);
        });
}

/// The constants of one update, precomputed in f32.
#[derive(Clone, Copy)]
pub struct StepConstants {
    gradient_scale: f32,
    beta1: f32,
    rest1: f32,
    beta2: f32,
    rest2: f32,
    root_scale: f32,
    eps: f32,
    keep: f32,
    move_by: f32,
}

dispatched! {
    /// The update of a few elements.
    pub fn step_chunk(rule: StepConstants, parameter: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32]) {
        let n = parameter.len();
        let (gradient, first, second) = (&gradient[..n], &mut first[..n], &mut second[..n]);
        for i in 0..n {
            let g = gradient[i] * rule.gradient_scale;
            let m = fma::<FMA>(first[i], rule.beta1, rule.rest1 * g);
            let v = fma::<FMA>(second[i], rule.beta2, rule.rest2 * g * g);
            first[i] = m;
            second[i] = v;
            let root = fma::<FMA>(v.sqrt(), rule.root_scale, rule.eps);
            parameter[i] = fma::<FMA>(m / root, rule.move_by, parameter[i] * rule.keep);
        }
    }
}

/// Sum of squares in f64 over chunks of fixed size, in order.
pub fn sum_squares(data: &[f32]) -> f64 {
    let _timed = timed(Operation::ClippingNorm, 0, data.len());
    let parts: Vec<f64> = data
        .par_chunks(CHUNK)
        .with_min_len(MIN_TASKS)
        .map(|chunk| {
            let mut part = 0f64;
            square_chunk(chunk, &mut part);
            part
        })
        .collect();
    parts.iter().sum()
}

dispatched! {
    /// Sum of squares of a few elements. A square is exact in f64.
    pub fn square_chunk(data: &[f32], out: &mut f64) {
        // Four elements per addition to a running sum, since each addition waits for the previous one. They lie close to each
        // other: memory is read fastest from front to back.
        let mut lanes = [0f64; LANES];
        let blocks = data.chunks_exact(4 * LANES);
        let rest = blocks.remainder();
        for block in blocks {
            for (lane, sum) in lanes.iter_mut().enumerate() {
                let [a, b, c, d] = [0, 1, 2, 3].map(|part| f64::from(block[part * LANES + lane]));
                *sum += (a * a + b * b) + (c * c + d * d);
            }
        }
        let all = lanes.into_iter().chain(rest.iter().map(|&last| f64::from(last) * f64::from(last)));
        *out = all.sum();
    }
}
