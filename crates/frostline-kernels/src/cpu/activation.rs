//! Activations of feed-forward layers, alone and with the factor of a gated layer, each with its gradient in one pass.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::PARALLEL_FROM;
use super::fresh::Fresh;
use super::gelu::gelu_with_slope;
use super::vector::{LANES, Lanes, Simd, exp};
use crate::Activation;
use crate::dispatch::dispatched;
use crate::profile::{Operation, timed};

const CHUNK: usize = 1 << 13;
const MIN_TASKS: usize = PARALLEL_FROM / CHUNK;

/// The activation of each element.
pub fn forward(activation: Activation, x: &[f32]) -> Vec<f32> {
    let _timed = timed(Operation::Gelu, 0, 2 * x.len());
    let mut out = Fresh::new(x.len());
    out.chunks(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .with_min_len(MIN_TASKS)
        // SAFETY: a part has the size of its chunk, and every element is written.
        .for_each(|(out, x)| forward_chunk(activation, x, unsafe { out.room() }));
    out.finish()
}

/// The activation of each element, and its slope.
pub fn forward_with_slope(activation: Activation, x: &[f32]) -> [Vec<f32>; 2] {
    let _timed = timed(Operation::Gelu, 0, 3 * x.len());
    let [mut out, mut slope] = [(); 2].map(|()| Fresh::new(x.len()));
    out.chunks(CHUNK)
        .zip(slope.chunks(CHUNK))
        .zip(x.par_chunks(CHUNK))
        .with_min_len(MIN_TASKS)
        // SAFETY: as above.
        .for_each(|((out, slope), x)| unsafe { slope_chunk(activation, x, out.room(), slope.room()) });
    [out.finish(), slope.finish()]
}

/// The activation of x times the gate.
pub fn gated(activation: Activation, x: &[f32], gate: &[f32]) -> Vec<f32> {
    assert_eq!(x.len(), gate.len(), "activated numbers and their factors");
    let _timed = timed(Operation::Gelu, 0, 3 * x.len());
    let mut out = Fresh::new(x.len());
    out.chunks(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .zip(gate.par_chunks(CHUNK))
        .with_min_len(MIN_TASKS)
        // SAFETY: as above.
        .for_each(|((out, x), gate)| gated_chunk(activation, x, gate, unsafe { out.room() }));
    out.finish()
}

/// The gradients of x and of the gate, from the gradient of their gated product.
pub fn gated_backward(activation: Activation, x: &[f32], gate: &[f32], gradient: &[f32]) -> [Vec<f32>; 2] {
    assert_eq!([x.len(), gate.len()], [gradient.len(); 2], "gradients and what they belong to");
    let _timed = timed(Operation::Gelu, 0, 5 * x.len());
    let [mut of_x, mut of_gate] = [(); 2].map(|()| Fresh::new(x.len()));
    of_x.chunks(CHUNK)
        .zip(of_gate.chunks(CHUNK))
        .zip(x.par_chunks(CHUNK).zip(gate.par_chunks(CHUNK)).zip(gradient.par_chunks(CHUNK)))
        .with_min_len(MIN_TASKS)
        .for_each(|((of_x, of_gate), ((x, gate), gradient))| {
            // SAFETY: as above.
            let (of_x, of_gate) = unsafe { (of_x.room(), of_gate.room()) };
            gated_backward_chunk(activation, x, gate, gradient, of_x, of_gate);
        });
    [of_x.finish(), of_gate.finish()]
}

/// The approximation of GELU by tanh, and its slope.
#[inline(always)]
fn gelu_tanh_with_slope<S: Simd>(simd: S, x: S::Lanes) -> [S::Lanes; 2] {
    const ROOT: f32 = 0.797_884_6;
    const CUBE: f32 = 0.044_715;
    let all = |value| simd.splat(value);
    let squares = x.mul(x);
    let inner = x.mul(all(ROOT)).mul(squares.mul_add(all(CUBE), all(1.0)));
    // tanh u = 1 - 2 / (e²ᵘ + 1)
    let tanh = all(1.0).sub(all(2.0).div(exp(simd, inner.add(inner)).add(all(1.0))));
    let share = all(0.5).mul(tanh.add(all(1.0)));
    let inner_slope = all(ROOT).mul(squares.mul_add(all(3.0 * CUBE), all(1.0)));
    let bend = all(0.5).mul(x).mul(all(1.0).sub(tanh.mul(tanh)));
    [x.mul(share), bend.mul_add(inner_slope, share)]
}

/// x / (1 + e⁻ˣ), and its slope.
#[inline(always)]
fn silu_with_slope<S: Simd>(simd: S, x: S::Lanes) -> [S::Lanes; 2] {
    let one = simd.splat(1.0);
    let share = one.div(one.add(exp(simd, simd.splat(0.0).sub(x))));
    [x.mul(share), share.mul(x.mul_add(one.sub(share), one))]
}

/// max(x, 0), and its slope, which is 0 at 0.
#[inline(always)]
fn relu_with_slope<S: Simd>(simd: S, x: S::Lanes) -> [S::Lanes; 2] {
    let slope = x.to_array().map(|x| if x > 0.0 { 1.0 } else { 0.0 });
    [simd.splat(0.0).max(x), simd.load(slope)]
}

/// The activation of sixteen numbers, and its slope.
#[inline(always)]
fn with_slope<S: Simd>(simd: S, activation: Activation, x: S::Lanes) -> [S::Lanes; 2] {
    match activation {
        Activation::Gelu => gelu_with_slope(simd, x),
        Activation::GeluTanh => gelu_tanh_with_slope(simd, x),
        Activation::Relu => relu_with_slope(simd, x),
        Activation::Silu => silu_with_slope(simd, x),
    }
}

/// Computes sixteen elements of each input at a time and writes the results; the last elements have zeros after them.
#[inline(always)]
fn for_each_lanes<S: Simd, const I: usize, const O: usize>(
    simd: S,
    inputs: [&[f32]; I],
    mut outs: [&mut [MaybeUninit<f32>]; O],
    compute: impl Fn([S::Lanes; I]) -> [S::Lanes; O],
) {
    let length = inputs[0].len();
    for at in (0..length).step_by(LANES) {
        let count = LANES.min(length - at);
        let numbers = inputs.map(|input| {
            let mut numbers = [0f32; LANES];
            match input[at..at + count].try_into() {
                Ok(all) => numbers = all,
                Err(_) => numbers[..count].copy_from_slice(&input[at..at + count]),
            }
            simd.load(numbers)
        });
        for (out, found) in outs.iter_mut().zip(compute(numbers)) {
            out[at..at + count].write_copy_of_slice(&found.to_array()[..count]);
        }
    }
}

dispatched! {
    /// Forward over a few elements, all of which are written.
    pub fn forward_chunk(simd, activation: Activation, x: &[f32], out: &mut [MaybeUninit<f32>]) {
        for_each_lanes(simd, [x], [out], |[x]| {
            let [value, _] = with_slope(simd, activation, x);
            [value]
        });
    }
}

dispatched! {
    /// Forward over a few elements with their slopes, all of which are written.
    pub fn slope_chunk(
        simd, activation: Activation, x: &[f32], out: &mut [MaybeUninit<f32>], slope: &mut [MaybeUninit<f32>],
    ) {
        for_each_lanes(simd, [x], [out, slope], |[x]| with_slope(simd, activation, x));
    }
}

dispatched! {
    /// Gated products of a few elements, all of which are written.
    pub fn gated_chunk(
        simd, activation: Activation, x: &[f32], gate: &[f32], out: &mut [MaybeUninit<f32>],
    ) {
        for_each_lanes(simd, [x, gate], [out], |[x, gate]| {
            let [value, _] = with_slope(simd, activation, x);
            [value.mul(gate)]
        });
    }
}

dispatched! {
    /// Both gradients of a few gated products, all of which are written.
    pub fn gated_backward_chunk(
        simd, activation: Activation, x: &[f32], gate: &[f32], gradient: &[f32],
        of_x: &mut [MaybeUninit<f32>], of_gate: &mut [MaybeUninit<f32>],
    ) {
        for_each_lanes(simd, [x, gate, gradient], [of_x, of_gate], |[x, gate, gradient]| {
            let [value, slope] = with_slope(simd, activation, x);
            [gradient.mul(gate).mul(slope), gradient.mul(value)]
        });
    }
}
