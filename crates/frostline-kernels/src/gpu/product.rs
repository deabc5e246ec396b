//! The linear layers' matrix products, their bias, and their gradients.
//!
//! Which kernel computes a product follows from its precision, never from a timing, so that results repeat on a device.
//! In f32 no tensor core is used: those would round operands to TF32.

use burn::tensor::DType;
use burn_cubecl::CubeRuntime;
use burn_cubecl::kernel::cast;
use burn_cubecl::ops::permute;
use burn_cubecl::tensor::CubeTensor;
use cubecl::features::TypeUsage;
use cubecl::prelude::*;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
use cubek::matmul::launch::{Strategy, launch_ref};
use cubek::std::InputBinding;

use super::{columns, fresh, per_element, sides};
use crate::Precision;

/// Whether a device has all that products of bf16 operands need.
pub(super) fn has_bf16<R: CubeRuntime>(client: &ComputeClient<R>) -> bool {
    client.properties().type_usage(DType::BF16.into()).is_superset(TypeUsage::all())
}

/// What a device computes in where this is asked for: f32 where it has no bf16.
fn on_device<R: CubeRuntime>(client: &ComputeClient<R>, asked: Precision) -> Precision {
    match asked {
        Precision::Bf16 if has_bf16(client) => Precision::Bf16,
        Precision::F32 | Precision::Bf16 => Precision::F32,
    }
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
        Precision::F32 => tensor,
        Precision::Bf16 => cast(tensor, DType::BF16),
    }
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
        Precision::Bf16 => launch(Strategy::SimpleCyclicCmma(Default::default())).or_else(|_| units()),
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
    // Sound: the kernel checks its bound; nothing else has seen the product yet.
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
    let gradient = operand(gradient, precision);
    let of_x = weight.map(|weight| product(gradient.clone(), transposed(weight), precision));
    let of_weight = x.map(|x| product(transposed(x), gradient, precision));
    [of_x, of_weight, of_bias]
}
