//! AdamW in one pass over parameter, gradient and both moments.

use rayon::prelude::*;

use super::vector::{LANES, Simd};
use crate::AdamW;
use crate::dispatch::dispatched;
use crate::profile::{Operation, timed};

/// Numbers that a thread takes at once.
pub const CHUNK: usize = 1 << 13;
const MIN_TASKS: usize = 8;
/// Numbers whose updates are replayed together, with their moments in registers.
const TOGETHER: usize = 2 * LANES;

/// The update of a parameter, or of some of its numbers.
pub struct UpdateStep<'a> {
    pub constants: StepConstants,
    pub parameter: &'a mut [f32],
    pub gradient: &'a [f32],
    /// The first and the second moment.
    pub moments: [&'a mut [f32]; 2],
}

impl UpdateStep<'_> {
    /// The updates of a few numbers each that it consists of.
    fn chunks(self) -> impl Iterator<Item = Self> {
        let Self { constants, parameter, gradient, moments: [first, second] } = self;
        assert!(
            [gradient.len(), first.len(), second.len()] == [parameter.len(); 3],
            "a parameter, its gradient and its moments differ in size"
        );
        let moments = first.chunks_mut(CHUNK).zip(second.chunks_mut(CHUNK));
        let values = parameter.chunks_mut(CHUNK).zip(gradient.chunks(CHUNK)).zip(moments);
        values.map(move |((parameter, gradient), (first, second))| UpdateStep {
            constants,
            parameter,
            gradient,
            moments: [first, second],
        })
    }

    fn compute_chunk(self) {
        let Self { constants, parameter, gradient, moments: [first, second] } = self;
        step_chunk(constants, parameter, gradient, first, second);
    }
}

/// Updates parameters and moments in place. All numbers are shared between the threads together, since most tensors are small.
pub fn step(steps: Vec<UpdateStep<'_>>) {
    let numbers: usize = steps.iter().map(|step| step.parameter.len()).sum();
    let _timed = timed(Operation::AdamW, 0, 7 * numbers);
    let chunks: Vec<UpdateStep<'_>> = steps.into_iter().flat_map(UpdateStep::chunks).collect();
    chunks.into_par_iter().with_min_len(MIN_TASKS).for_each(UpdateStep::compute_chunk);
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
    pub keep: f32,
    move_by: f32,
}

impl StepConstants {
    /// Those of an update with the gradient times `scale`.
    pub fn new(rule: &AdamW, scale: f64) -> Self {
        let [bias1, bias2] = rule.bias();
        Self {
            gradient_scale: scale as f32,
            beta1: rule.beta1 as f32,
            rest1: (1.0 - rule.beta1) as f32,
            beta2: rule.beta2 as f32,
            rest2: (1.0 - rule.beta2) as f32,
            root_scale: (1.0 / bias2).sqrt() as f32,
            eps: rule.eps as f32,
            keep: (1.0 - rule.lr * rule.weight_decay) as f32,
            move_by: (-rule.lr / bias1) as f32,
        }
    }
}

dispatched! {
    /// The update of a few elements.
    pub fn step_chunk(simd, rule: StepConstants, parameter: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32]) {
        let n = parameter.len();
        let (gradient, first, second) = (&gradient[..n], &mut first[..n], &mut second[..n]);
        for i in 0..n {
            let g = gradient[i] * rule.gradient_scale;
            [parameter[i], first[i], second[i]] = updated(simd, &rule, g, [parameter[i], first[i], second[i]]);
        }
    }
}

dispatched! {
    /// Several updates of a few elements without a gradient, in order.
    pub fn replay(simd, rules: &[StepConstants], parameter: &mut [f32], first: &mut [f32], second: &mut [f32]) {
        let parts = parameter.chunks_mut(TOGETHER).zip(first.chunks_mut(TOGETHER)).zip(second.chunks_mut(TOGETHER));
        for ((parameter, first), second) in parts {
            let n = parameter.len();
            let mut values = [[0f32; TOGETHER]; 3];
            for (values, part) in values.iter_mut().zip([&*parameter, first, second]) {
                values[..n].copy_from_slice(part);
            }
            let [p, m, v] = &mut values;
            for rule in rules {
                for i in 0..TOGETHER {
                    [p[i], m[i], v[i]] = updated(simd, rule, 0.0, [p[i], m[i], v[i]]);
                }
            }
            for (part, values) in [parameter, first, second].into_iter().zip(&values) {
                part.copy_from_slice(&values[..n]);
            }
        }
    }
}

/// A number and its two moments after an update with the gradient g.
#[inline(always)]
fn updated<S: Simd>(simd: S, rule: &StepConstants, g: f32, [p, m, v]: [f32; 3]) -> [f32; 3] {
    let m = simd.fma(m, rule.beta1, rule.rest1 * g);
    let v = simd.fma(v, rule.beta2, rule.rest2 * g * g);
    let root = simd.fma(v.sqrt(), rule.root_scale, rule.eps);
    [simd.fma(m / root, rule.move_by, p * rule.keep), m, v]
}

/// Sums of squares in f64, each over chunks of fixed size, in order. All chunks are shared between the threads together, since
/// most tensors are small.
pub fn sums_of_squares(tensors: &[&[f32]]) -> Vec<f64> {
    let chunks: Vec<&[f32]> = tensors.iter().flat_map(|data| data.chunks(CHUNK)).collect();
    let _timed = timed(Operation::ClippingNorm, 0, chunks.iter().map(|chunk| chunk.len()).sum());
    let sum = |chunk: &&[f32]| {
        let mut part = 0f64;
        square_chunk(chunk, &mut part);
        part
    };
    let parts: Vec<f64> = chunks.par_iter().with_min_len(MIN_TASKS).map(sum).collect();
    let mut parts = parts.into_iter();
    tensors.iter().map(|data| parts.by_ref().take(data.len().div_ceil(CHUNK)).sum()).collect()
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
