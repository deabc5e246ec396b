//! Cross-entropy with its gradient.

use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::reduce::{largest, total};
use super::{cubes, fresh, list, per_element, sides};
use crate::Index;

/// Units of a cube, which computes one row.
const UNITS: usize = 32;

/// Units of the cube that sums the rows.
const SUMMING: usize = 256;

/// Each row's loss, and its gradient: the softmax, less 1 at the label.
#[cube(launch_unchecked)]
fn rows_kernel(
    logits: &Array<f32>,
    labels: &Array<u32>,
    losses: &mut Array<f32>,
    gradient: &mut Array<f32>,
    classes: usize,
) {
    let row = CUBE_POS;
    if row >= losses.len() {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut top = f32::new(-1e30);
    let mut class = unit;
    while class < classes {
        top = top.max(logits[row * classes + class]);
        class += UNITS;
    }
    let top = largest(&mut shared, top, UNITS);
    let mut sum = 0.0f32;
    let mut class = unit;
    while class < classes {
        sum += (logits[row * classes + class] - top).exp();
        class += UNITS;
    }
    let log = total(&mut shared, sum, UNITS).ln() + top;
    let label = labels[row] as usize;
    let mut class = unit;
    while class < classes {
        let mut value = (logits[row * classes + class] - log).exp();
        if class == label {
            value -= 1.0;
        }
        gradient[row * classes + class] = value;
        class += UNITS;
    }
    if unit == 0 {
        losses[row] = log - logits[row * classes + label];
    }
}

#[cube(launch_unchecked)]
fn sum_kernel(values: &Array<f32>, out: &mut Array<f32>) {
    let mut shared = SharedMemory::<f32>::new(SUMMING);
    let mut sum = 0.0f32;
    let mut at = UNIT_POS as usize;
    while at < values.len() {
        sum += values[at];
        at += SUMMING;
    }
    let sum = total(&mut shared, sum, SUMMING);
    if UNIT_POS == 0 {
        out[0] = sum;
    }
}

#[cube(launch_unchecked)]
fn scale_kernel(values: &Array<f32>, factor: &Array<f32>, out: &mut Array<f32>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = values[ABSOLUTE_POS] * factor[0];
    }
}

/// The sum of the losses \[1\] in nats, and the gradient of each logit \[N, C\].
pub(super) fn forward<R: CubeRuntime>(
    logits: CubeTensor<R>,
    labels: &Index,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let [n, classes] = sides(&logits);
    let (losses, gradient, out) = (fresh(&logits, [n]), fresh(&logits, [n, classes]), fresh(&logits, [1]));
    let client = logits.client.clone();
    let labels = list(labels, &logits);
    // SAFETY: a cube stays in its row, and labels are classes.
    unsafe {
        rows_kernel::launch_unchecked::<R>(
            &client,
            cubes(n),
            CubeDim::new_1d(UNITS as u32),
            logits.into_array_arg(),
            labels,
            losses.clone().into_array_arg(),
            gradient.clone().into_array_arg(),
            classes,
        );
        sum_kernel::launch_unchecked::<R>(
            &client,
            cubes(1),
            CubeDim::new_1d(SUMMING as u32),
            losses.into_array_arg(),
            out.clone().into_array_arg(),
        );
    }
    (out, gradient)
}

/// The gradient of the logits, from that of the sum \[1\].
pub(super) fn backward<R: CubeRuntime>(of_logits: CubeTensor<R>, of_sum: CubeTensor<R>) -> CubeTensor<R> {
    let [n, classes] = sides(&of_logits);
    let out = fresh(&of_logits, [n, classes]);
    let (count, dim) = per_element(n * classes);
    // SAFETY: the kernel checks its bound.
    unsafe {
        scale_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            of_logits.into_array_arg(),
            of_sum.into_array_arg(),
            out.clone().into_array_arg(),
        );
    }
    out
}
