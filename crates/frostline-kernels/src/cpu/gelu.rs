//! GELU with the exact error function.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::fresh::Fresh;
use super::vector::{LANES, Lanes, Simd, erf, exp};
use crate::dispatch::dispatched;
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

/// 2 Φ(x).
#[inline(always)]
fn twice_normal<S: Simd>(simd: S, x: S::Lanes) -> S::Lanes {
    simd.splat(1.0).add(erf(simd, x.mul(simd.splat(std::f32::consts::FRAC_1_SQRT_2))))
}

/// x Φ(x).
#[inline(always)]
fn gelu<S: Simd>(simd: S, x: S::Lanes) -> [S::Lanes; 1] {
    [simd.splat(0.5).mul(x).mul(twice_normal(simd, x))]
}

/// x Φ(x), and Φ(x) + x φ(x).
#[inline(always)]
pub fn gelu_with_slope<S: Simd>(simd: S, x: S::Lanes) -> [S::Lanes; 2] {
    let all = |value| simd.splat(value);
    let twice = twice_normal(simd, x);
    let density = all(0.398_942_3).mul(exp(simd, all(-0.5).mul(x).mul(x)));
    [all(0.5).mul(x).mul(twice), all(0.5).mul(twice).add(x.mul(density))]
}

/// Writes what a function makes of each sixteen elements; of the last ones, with zeros after them. A macro, because the compiler
/// may leave what is called twice a function of its own, without the instruction set.
macro_rules! write_each {
    ($simd:ident, $function:ident, $x:ident, $outs:expr) => {
        let mut outs = $outs;
        let (chunks, rest) = $x.as_chunks::<LANES>();
        let whole = $x.len() - rest.len();
        for (chunk, at) in chunks.iter().zip((0..whole).step_by(LANES)) {
            for (out, values) in outs.iter_mut().zip($function($simd, $simd.load(*chunk))) {
                out[at..at + LANES].write_copy_of_slice(&values.to_array());
            }
        }
        if !rest.is_empty() {
            let mut last = [0f32; LANES];
            last[..rest.len()].copy_from_slice(rest);
            for (out, values) in outs.iter_mut().zip($function($simd, $simd.load(last))) {
                out[whole..].write_copy_of_slice(&values.to_array()[..rest.len()]);
            }
        }
    };
}

dispatched! {
    /// Forward over a few elements, all of which are written.
    pub fn forward_chunk(simd, x: &[f32], out: &mut [MaybeUninit<f32>]) {
        write_each!(simd, gelu, x, [out]);
    }
}

dispatched! {
    /// Forward over a few elements with their slopes, all of which are written.
    pub fn slope_chunk(simd, x: &[f32], out: &mut [MaybeUninit<f32>], slope: &mut [MaybeUninit<f32>]) {
        write_each!(simd, gelu_with_slope, x, [out, slope]);
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
