//! AdamW over many parameters in few kernels, with the global norm kept on the device.

use burn_cubecl::CubeRuntime;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use super::reduce::total;
use super::{fresh, per_element};
use crate::AdamW;

/// Units of a cube.
const UNITS: usize = 256;

/// Cubes that sum one tensor's squares.
const CUBES: usize = 64;

/// Most cubes that update one tensor.
const MOST_CUBES: usize = 1024;

/// Most tensors of a kernel that reads one buffer of each, and of one that has four.
const MOST: [usize; 2] = [32, 16];

/// The hyperparameters of an update as a kernel's arguments.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
struct Rule {
    beta1: f32,
    beta2: f32,
    eps: f32,
    /// What is left of a parameter after weight decay.
    left: f32,
    /// The learning rate, corrected for the first moment's beginning.
    rate: f32,
    /// What the second moment is divided by for its beginning.
    bias2: f32,
}

fn rule<R: Runtime>(rule: &AdamW) -> RuleLaunch<R> {
    let [bias1, bias2] = rule.bias();
    RuleLaunch::new(
        rule.beta1 as f32,
        rule.beta2 as f32,
        rule.eps as f32,
        (1.0 - rule.lr * rule.weight_decay) as f32,
        (rule.lr / bias1) as f32,
        bias2 as f32,
    )
}

/// Row y of cubes updates tensor y. Parameter and moments are read once and written once.
#[cube(launch_unchecked)]
fn step_kernel(
    parameters: &mut Sequence<Array<f32>>,
    gradients: &Sequence<Array<f32>>,
    first: &mut Sequence<Array<f32>>,
    second: &mut Sequence<Array<f32>>,
    scale: &Array<f32>,
    rules: &Sequence<Rule>,
) {
    let tensors = comptime!(gradients.len());
    #[unroll]
    for tensor in 0..tensors {
        if CUBE_POS_Y as usize == tensor {
            let rule = rules[tensor];
            step_one(
                parameters.index_mut(tensor),
                gradients.index(tensor),
                first.index_mut(tensor),
                second.index_mut(tensor),
                scale[0],
                &rule,
            );
        }
    }
}

#[cube]
fn step_one(
    parameter: &mut Array<f32>,
    gradient: &Array<f32>,
    first: &mut Array<f32>,
    second: &mut Array<f32>,
    scale: f32,
    rule: &Rule,
) {
    let mut at = CUBE_POS_X as usize * UNITS + UNIT_POS as usize;
    while at < parameter.len() {
        let g = gradient[at] * scale;
        let m = first[at] * rule.beta1 + g * (1.0 - rule.beta1);
        let v = second[at] * rule.beta2 + g * g * (1.0 - rule.beta2);
        first[at] = m;
        second[at] = v;
        let root = (v / rule.bias2).sqrt() + rule.eps;
        parameter[at] = parameter[at] * rule.left - m / root * rule.rate;
        at += CUBE_COUNT_X as usize * UNITS;
    }
}

/// Cube (x, y) sums its share of the squares of tensor y, which is number `before` + y of all.
#[cube(launch_unchecked)]
fn squares_kernel(tensors: &Sequence<Array<f32>>, parts: &mut Array<f32>, before: usize) {
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut sum = 0.0f32;
    let count = comptime!(tensors.len());
    #[unroll]
    for tensor in 0..count {
        if CUBE_POS_Y as usize == tensor {
            let values = tensors.index(tensor);
            let mut at = CUBE_POS_X as usize * UNITS + UNIT_POS as usize;
            while at < values.len() {
                sum += values[at] * values[at];
                at += comptime!(CUBES * UNITS);
            }
        }
    }
    let sum = total(&mut shared, sum, UNITS);
    if UNIT_POS == 0 {
        parts[(before + CUBE_POS_Y as usize) * CUBES + CUBE_POS_X as usize] = sum;
    }
}

/// Each unit adds one tensor's shares.
#[cube(launch_unchecked)]
fn parts_kernel(parts: &Array<f32>, out: &mut Array<f32>) {
    if ABSOLUTE_POS < out.len() {
        let mut sum = 0.0f32;
        for part in 0..CUBES {
            sum += parts[ABSOLUTE_POS * CUBES + part];
        }
        out[ABSOLUTE_POS] = sum;
    }
}

/// What gradients are multiplied with, so that their global norm is at most `most`.
#[cube(launch_unchecked)]
fn clip_kernel(squares: &Array<f32>, scale: &mut Array<f32>, most: f32) {
    let mut shared = SharedMemory::<f32>::new(UNITS);
    let mut sum = 0.0f32;
    let mut at = UNIT_POS as usize;
    while at < squares.len() {
        sum += squares[at];
        at += UNITS;
    }
    let norm = total(&mut shared, sum, UNITS).sqrt();
    if UNIT_POS == 0 {
        scale[0] = (most / (norm + 1e-6)).min(1.0);
    }
}

/// How many tensors a kernel can have at a time that needs so many buffers of each.
fn at_a_time<R: CubeRuntime>(client: &ComputeClient<R>, buffers: usize) -> usize {
    let room = (client.properties().hardware.max_bindings as usize).saturating_sub(2) / buffers;
    room.clamp(1, MOST[usize::from(buffers > 1)])
}

/// A tensor that nothing else sees, so that it can be written to.
fn own<R: CubeRuntime>(tensor: CubeTensor<R>) -> CubeTensor<R> {
    let tensor = into_contiguous(tensor);
    if tensor.can_mut() { tensor } else { tensor.copy() }
}

fn arrays<R: CubeRuntime>(tensors: &[CubeTensor<R>]) -> SequenceArg<R, Array<f32>> {
    tensors.iter().map(|tensor| tensor.clone().into_array_arg()).collect()
}

/// A parameter, its gradient and its moments, with the rule of their update.
pub(super) type CubeUpdate<R> = (AdamW, CubeTensor<R>, CubeTensor<R>, [CubeTensor<R>; 2]);

/// The parameters and their moments after their updates, in the same order.
pub(super) fn step<R: CubeRuntime>(
    updates: Vec<CubeUpdate<R>>,
    squares: CubeTensor<R>,
    most: Option<f64>,
) -> Vec<(CubeTensor<R>, [CubeTensor<R>; 2])> {
    let (client, scale) = (squares.client.clone(), fresh(&squares, [1]));
    // SAFETY: one cube, which checks its bound.
    unsafe {
        clip_kernel::launch_unchecked::<R>(
            &client,
            CubeCount::new_single(),
            CubeDim::new_1d(UNITS as u32),
            squares.into_array_arg(),
            scale.clone().into_array_arg(),
            most.map_or(f32::MAX, |most| most as f32),
        );
    }
    let mut done = Vec::with_capacity(updates.len());
    let mut left = updates.into_iter().peekable();
    while left.peek().is_some() {
        let (mut rules, mut parameters, mut gradients) = (SequenceArg::<R, Rule>::new(), vec![], vec![]);
        let (mut first, mut second) = (vec![], vec![]);
        for (adamw, parameter, gradient, [m, v]) in left.by_ref().take(at_a_time(&client, 4)) {
            rules.push(rule(&adamw));
            parameters.push(own(parameter));
            gradients.push(into_contiguous(gradient));
            first.push(own(m));
            second.push(own(v));
        }
        let longest = parameters.iter().map(|tensor| tensor.meta.num_elements()).max().unwrap_or(0);
        let across = longest.div_ceil(UNITS).clamp(1, MOST_CUBES) as u32;
        // SAFETY: the kernel checks its bounds; a row's four tensors have the same number of elements, and what is
        // written is seen by nothing else.
        unsafe {
            step_kernel::launch_unchecked::<R>(
                &client,
                CubeCount::Static(across, parameters.len() as u32, 1),
                CubeDim::new_1d(UNITS as u32),
                arrays(&parameters),
                arrays(&gradients),
                arrays(&first),
                arrays(&second),
                scale.clone().into_array_arg(),
                rules,
            );
        }
        done.extend(parameters.into_iter().zip(first.into_iter().zip(second).map(<[_; 2]>::from)));
    }
    done
}

/// The sum of squares of each tensor.
pub(super) fn squares<R: CubeRuntime>(tensors: &[CubeTensor<R>]) -> CubeTensor<R> {
    let client = tensors[0].client.clone();
    let (parts, out) = (fresh(&tensors[0], [tensors.len() * CUBES]), fresh(&tensors[0], [tensors.len()]));
    let at_a_time = at_a_time(&client, 1);
    for (number, some) in tensors.chunks(at_a_time).enumerate() {
        // SAFETY: the kernel checks its bounds, and each cube has its own place among the parts.
        unsafe {
            squares_kernel::launch_unchecked::<R>(
                &client,
                CubeCount::Static(CUBES as u32, some.len() as u32, 1),
                CubeDim::new_1d(UNITS as u32),
                arrays(some),
                parts.clone().into_array_arg(),
                number * at_a_time,
            );
        }
    }
    let (count, dim) = per_element(tensors.len());
    // SAFETY: as above.
    unsafe {
        parts_kernel::launch_unchecked::<R>(
            &client,
            count,
            dim,
            parts.into_array_arg(),
            out.clone().into_array_arg(),
        );
    }
    out
}
