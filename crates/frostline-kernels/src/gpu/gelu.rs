//! GELU with the exact error function.

// Numbers are written as on the processor, and a kernel has no `clamp` of its own.
#![allow(clippy::excessive_precision, clippy::manual_clamp)]

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::{fresh, per_element, sides};

/// The error function, by the same rational approximation as on the processor.
#[cube]
fn erf(x: f32) -> f32 {
    let x = x.max(-3.832_506_9).min(3.832_506_9);
    let s = x * x;
    let mut p = f32::new(-2.726_142_2e-10);
    p = p * s + 2.770_681_6e-8;
    p = p * s - 2.101_024e-6;
    p = p * s - 5.692_506_5e-5;
    p = p * s - 7.349_906_5e-4;
    p = p * s - 2.954_600_1e-3;
    p = p * s - 1.609_603_2e-2;
    let mut q = f32::new(-1.456_607_3e-5);
    q = q * s - 2.133_740_2e-4;
    q = q * s - 1.682_827_2e-3;
    q = q * s - 7.373_329e-3;
    q = q * s - 1.426_473_9e-2;
    x * p / q
}

#[cube]
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * 0.707_106_77))
}

#[cube(launch_unchecked)]
fn forward_kernel(x: &Array<f32>, out: &mut Array<f32>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = gelu(x[ABSOLUTE_POS]);
    }
}

/// Adds the bias to x in place.
#[cube(launch_unchecked)]
fn biased_kernel(x: &mut Array<f32>, bias: &Array<f32>, out: &mut Array<f32>) {
    if ABSOLUTE_POS < out.len() {
        let value = x[ABSOLUTE_POS] + bias[ABSOLUTE_POS % bias.len()];
        x[ABSOLUTE_POS] = value;
        out[ABSOLUTE_POS] = gelu(value);
    }
}

#[cube(launch_unchecked)]
fn backward_kernel(x: &Array<f32>, gradient: &Array<f32>, out: &mut Array<f32>) {
    if ABSOLUTE_POS < out.len() {
        let x = x[ABSOLUTE_POS];
        let area = 0.5 * (1.0 + erf(x * 0.707_106_77));
        let density = 0.398_942_3 * (-0.5 * x * x).exp();
        out[ABSOLUTE_POS] = gradient[ABSOLUTE_POS] * (area + x * density);
    }
}

/// x Φ(x).
pub(super) fn forward<R: CubeRuntime>(x: CubeTensor<R>) -> CubeTensor<R> {
    let [n, h] = sides(&x);
    let (count, dim) = per_element(n * h);
    let out = fresh(&x, [n, h]);
    // SAFETY: the kernel checks its bound, and both have the same number of elements.
    unsafe {
        forward_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            x.into_array_arg(),
            out.clone().into_array_arg(),
        );
    }
    out
}

/// The GELU of x \[N, O\] and a bias \[O\], which is added to x in place.
pub(super) fn biased<R: CubeRuntime>(x: &CubeTensor<R>, bias: CubeTensor<R>) -> CubeTensor<R> {
    let [n, o] = sides(x);
    let (count, dim) = per_element(n * o);
    let out = fresh(x, [n, o]);
    // SAFETY: as above; nothing else has seen x yet.
    unsafe {
        biased_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            x.clone().into_array_arg(),
            bias.into_array_arg(),
            out.clone().into_array_arg(),
        );
    }
    out
}

/// gradient · (Φ(x) + x φ(x)).
pub(super) fn backward<R: CubeRuntime>(x: CubeTensor<R>, gradient: CubeTensor<R>) -> CubeTensor<R> {
    let [n, h] = sides(&x);
    let (count, dim) = per_element(n * h);
    let out = fresh(&x, [n, h]);
    // SAFETY: as above.
    unsafe {
        backward_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            x.into_array_arg(),
            gradient.into_array_arg(),
            out.clone().into_array_arg(),
        );
    }
    out
}
