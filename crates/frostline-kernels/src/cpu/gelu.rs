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

/// x Φ(x), and its slope Φ(x) + x φ(x): the backward pass reads the slope where it would otherwise compute it from x.
pub fn forward_with_slope(x: &[f32]) -> [Vec<f32>; 2] {
    let _timed = timed(Operation::Gelu, 0, 3 * x.len());
    let [mut out, mut slope] = [(); 2].map(|()| Fresh::new(x.len()));
    out.chunks(CHUNK)
        .zip(slope.chunks(CHUNK))
        .zip(x.par_chunks(CHUNK))
        .with_min_len(MIN_TASKS)
        // SAFETY: as above.
        .for_each(|((out, slope), x)| unsafe { slope_chunk(x, out.room(), slope.room()) });
    [out.finish(), slope.finish()]
}

/// Multiplies a gradient with the slope.
pub fn backward(slope: &[f32], gradient: &mut [f32]) {
    assert_eq!(slope.len(), gradient.len(), "slopes and gradients");
    let _timed = timed(Operation::Gelu, 0, 3 * slope.len());
    gradient
        .par_chunks_mut(CHUNK)
        .zip(slope.par_chunks(CHUNK))
        .with_min_len(MIN_TASKS)
        .for_each(|(gradient, slope)| multiply_chunk(slope, gradient));
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
    /// Forward over a few elements with their slopes, all of which are written.
    pub fn slope_chunk(x: &[f32], out: &mut [MaybeUninit<f32>], slope: &mut [MaybeUninit<f32>]) {
        for ((out, slope), &x) in out.iter_mut().zip(slope).zip(x) {
            let twice = 1.0 + erf::<FMA>(x * std::f32::consts::FRAC_1_SQRT_2);
            let density = 0.398_942_3 * exp::<FMA>(-0.5 * x * x);
            out.write(0.5 * x * twice);
            slope.write(0.5 * twice + x * density);
        }
    }
}

dispatched! {
    /// Multiplies a few gradients with their slopes.
    pub fn multiply_chunk(slope: &[f32], gradient: &mut [f32]) {
        for (gradient, &slope) in gradient.iter_mut().zip(slope) {
            *gradient *= slope;
        }
    }
}
