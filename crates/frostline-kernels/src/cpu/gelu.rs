//! GELU with the exact error function.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::fresh::Fresh;
use super::simd::{dispatched, erf, exp};
use crate::profile::{Operation, timed};

const CHUNK: usize = 1 << 13;
const MIN_TASKS: usize = PARALLEL_FROM / CHUNK;

/// x Φ(x).
pub fn forward(x: &[f32]) -> Vec<f32> {
    let _timed = timed(Operation::Gelu, 0, 2 * x.len());
    let mut out = Fresh::new(x.len());
    out.chunks(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .with_min_len(MIN_TASKS)
        // SAFETY: a part has the size of its chunk, and every element is written.
        .for_each(|(out, x)| forward_chunk(x, unsafe { out.room() }));
    out.finish()
}

/// gradient · (Φ(x) + x φ(x)).
pub fn backward(x: &[f32], gradient: &[f32]) -> Vec<f32> {
    assert_eq!(x.len(), gradient.len(), "numbers and their gradients");
    let _timed = timed(Operation::Gelu, 0, 3 * x.len());
    let mut out = Fresh::new(x.len());
    out.chunks(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .zip(gradient.par_chunks(CHUNK))
        .with_min_len(MIN_TASKS)
        // SAFETY: as above.
        .for_each(|((out, x), gradient)| backward_chunk(x, gradient, unsafe { out.room() }));
    out.finish()
}

dispatched! {
    /// Forward over a few elements, all of which are written.
    pub fn forward_chunk(x: &[f32], out: &mut [MaybeUninit<f32>]) {
        for (out, &x) in out.iter_mut().zip(x) {
            out.write(0.5 * x * (1.0 + erf::<FMA>(x * std::f32::consts::FRAC_1_SQRT_2)));
        }
    }
}

dispatched! {
    /// Backward over a few elements, all of which are written.
    pub fn backward_chunk(x: &[f32], gradient: &[f32], out: &mut [MaybeUninit<f32>]) {
        for ((out, &x), &gradient) in out.iter_mut().zip(x).zip(gradient) {
            let area = 0.5 * (1.0 + erf::<FMA>(x * std::f32::consts::FRAC_1_SQRT_2));
            let density = 0.398_942_3 * exp::<FMA>(-0.5 * x * x);
            out.write(gradient * (area + x * density));
        }
    }
}
