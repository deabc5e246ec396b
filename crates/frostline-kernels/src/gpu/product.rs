//! The linear layers' matrix products, their bias, and their gradients.
//!
//! Which kernel computes a product follows from its precision, never from a timing, so that results repeat on a device.
//! In f32 no tensor core is used: those would round operands to TF32, which is a precision of its own.

use burn::tensor::DType;
use burn_cubecl::CubeRuntime;
use burn_cubecl::kernel::{cast, into_contiguous};
use burn_cubecl::ops::permute;
use burn_cubecl::tensor::CubeTensor;
use cubecl::features::TypeUsage;
use cubecl::prelude::*;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::{Strategy, launch_ref};
use cubek::std::InputBinding;

use super::{columns, fresh, per_element, sides};
use crate::Precision;

/// What gradients are multiplied with before they are rounded to f16, whose smallest number is 6e-8: a power of two, so that
/// this changes no digit. A gradient of a mean loss is far below the 16 from which on it would be too large.
const LOSS_SCALE: f32 = 4096.0;

/// The largest number of f16.
const F16_MAX: f32 = 65_504.0;

/// Whether a device has all that products of this precision need.
pub(super) fn is_native<R: CubeRuntime>(client: &ComputeClient<R>, precision: Precision) -> bool {
    let properties = client.properties();
    let has = |kind: DType| properties.type_usage(kind.into()).is_superset(TypeUsage::all());
    match precision {
        Precision::F32 => true,
        Precision::Bf16 => has(DType::BF16),
        Precision::F16 => has(DType::F16),
        Precision::Tf32 => {
            let tf32 = cubecl::tf32::as_type_native_unchecked().storage_type();
            properties.features.matmul.cmma.iter().any(|config| config.a_type == tf32)
        }
    }
}

/// What a device computes in where this is asked for: f32 where it has nothing of that precision.
fn on_device<R: CubeRuntime>(client: &ComputeClient<R>, asked: Precision) -> Precision {
    if is_native(client, asked) { asked } else { Precision::F32 }
}

/// x times a factor, at most the largest number of f16.
#[cube(launch_unchecked)]
fn scale_kernel(x: &Array<f32>, out: &mut Array<f32>, factor: f32, most: f32) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = (x[ABSOLUTE_POS] * factor).max(-most).min(most);
    }
}

fn scaled<R: CubeRuntime>(x: CubeTensor<R>, factor: f32, most: f32) -> CubeTensor<R> {
    let out = fresh(&x, sides(&x));
    let (count, dim) = per_element(x.meta.num_elements());
    let x = into_contiguous(x);
    // SAFETY: the kernel checks its bound, and both have the same number of elements.
    unsafe {
        scale_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            x.into_array_arg(),
            out.clone().into_array_arg(),
            factor,
            most,
        );
    }
    out
}

/// What the backward pass needs from the forward pass, in the precision of the products.
#[derive(Clone, Debug)]
pub(super) struct Saved<R: CubeRuntime> {
    /// If the weight needs a gradient.
    x: Option<CubeTensor<R>>,
    /// If x needs one.
    weight: Option<CubeTensor<R>>,
    precision: Precision,
}

#[cube(launch_unchecked)]
fn add_bias_kernel(out: &mut Array<f32>, bias: &Array<f32>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] += bias[ABSOLUTE_POS % bias.len()];
    }
}

/// An operand as the products read it.
fn operand<R: CubeRuntime>(tensor: CubeTensor<R>, precision: Precision) -> CubeTensor<R> {
    match precision {
        Precision::F32 | Precision::Tf32 => tensor,
        Precision::Bf16 => cast(tensor, DType::BF16),
        Precision::F16 => cast(scaled(tensor, 1.0, F16_MAX), DType::F16),
    }
}

/// A gradient as the products read it.
fn gradient_operand<R: CubeRuntime>(gradient: CubeTensor<R>, precision: Precision) -> CubeTensor<R> {
    match precision {
        Precision::F16 => cast(scaled(gradient, LOSS_SCALE, F16_MAX), DType::F16),
        _ => operand(gradient, precision),
    }
}

/// The product with a gradient, without its scale.
fn gradient_product<R: CubeRuntime>(
    a: CubeTensor<R>,
    b: CubeTensor<R>,
    precision: Precision,
) -> CubeTensor<R> {
    let out = product(a, b, precision);
    if precision == Precision::F16 { scaled(out, 1.0 / LOSS_SCALE, f32::MAX) } else { out }
}

/// a \[N, K\] times b \[K, M\], of either layout, summed in f32 -> \[N, M\]
fn product<R: CubeRuntime>(a: CubeTensor<R>, b: CubeTensor<R>, precision: Precision) -> CubeTensor<R> {
    let out = fresh(&a, [sides(&a)[0], sides(&b)[1]]);
    let kind = a.dtype;
    let launch = |strategy: Strategy| {
        let [a, b] = [a.clone(), b.clone()].map(|operand| InputBinding::new(operand.binding(), kind.into()));
        let kinds = MatmulGlobalElems { lhs: kind.into(), rhs: kind.into(), out: DType::F32.into() };
        launch_ref(
            &strategy,
            &out.client,
            a,
            b,
            out.clone().binding(),
            &mut MatmulElems::from_globals(&kinds),
        )
    };
    let units = || launch(Strategy::SimpleUnit(Default::default()));
    let launched = match precision {
        Precision::F32 => units(),
        // It rounds operands of f32 to TF32, which the device has.
        Precision::Tf32 => launch(Strategy::SimpleCyclicCmma(Default::default())),
        Precision::Bf16 | Precision::F16 => {
            launch(Strategy::SimpleCyclicCmma(Default::default())).or_else(|_| units())
        }
    };
    launched.or_else(|_| launch(Strategy::Naive)).expect("the plainest kernel multiplies any two matrices");
    out
}

fn transposed<R: CubeRuntime>(matrix: CubeTensor<R>) -> CubeTensor<R> {
    permute(matrix, &[1, 0])
}

/// `x W + b` \[N, O\], and what the backward pass needs; `needed` says it of x and the weight.
pub(super) fn forward<R: CubeRuntime>(
    [x, weight, bias]: [CubeTensor<R>; 3],
    precision: Precision,
    needed: [bool; 2],
) -> (CubeTensor<R>, Saved<R>) {
    let (out, saved) = without_bias([x, weight], precision, needed);
    add_bias(&out, bias);
    (out, saved)
}

/// `x W` \[N, O\], and what the backward pass needs.
pub(super) fn without_bias<R: CubeRuntime>(
    operands: [CubeTensor<R>; 2],
    precision: Precision,
    [of_x, of_weight]: [bool; 2],
) -> (CubeTensor<R>, Saved<R>) {
    let precision = on_device(&operands[0].client, precision);
    let [x, weight] = operands.map(|tensor| operand(tensor, precision));
    let out = product(x.clone(), weight.clone(), precision);
    (out, Saved { x: of_weight.then_some(x), weight: of_x.then_some(weight), precision })
}

/// Adds a bias \[O\] to each row \[N, O\] in place.
fn add_bias<R: CubeRuntime>(out: &CubeTensor<R>, bias: CubeTensor<R>) {
    let (count, dim) = per_element(out.meta.num_elements());
    // SAFETY: the kernel checks its bound; nothing else has seen the product yet.
    unsafe {
        add_bias_kernel::launch_unchecked::<R>(
            &out.client,
            count,
            dim,
            out.clone().into_array_arg(),
            bias.into_array_arg(),
        );
    }
}

/// The gradients of x, the weight and the bias.
pub(super) fn backward<R: CubeRuntime>(
    saved: Saved<R>,
    gradient: CubeTensor<R>,
    [_, _, bias]: [bool; 3],
) -> [Option<CubeTensor<R>>; 3] {
    let Saved { x, weight, precision } = saved;
    let of_bias = bias.then(|| columns::sum(gradient.clone()));
    let gradient = gradient_operand(gradient, precision);
    let of_x = weight.map(|weight| gradient_product(gradient.clone(), transposed(weight), precision));
    let of_weight = x.map(|x| gradient_product(transposed(x), gradient, precision));
    [of_x, of_weight, of_bias]
}
