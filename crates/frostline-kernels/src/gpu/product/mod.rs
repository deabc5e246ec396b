//! The linear layers' matrix products, their bias, and their gradients.
//!
//! Which kernel computes a product follows from its precision, its size and the device, never from a timing, so that
//! results repeat on a device. In f32 no tensor core is used: those would round operands to TF32, which is a precision of
//! its own. Operands are rounded where they are read, so that nothing is kept twice.

mod arguments;
mod multiply;
mod plain;
mod tensor;
mod tiles;
mod units;

use burn::tensor::DType;
use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::features::TypeUsage;
use cubecl::prelude::*;

use super::columns;
use crate::Precision;
use multiply::{Added, Operand, multiply};

/// What gradients are multiplied by before they are rounded to f16, whose smallest number is 6e-8: a power of two, so that
/// this changes no digit. A gradient of a mean loss is far below the 16 from which on it would be too large.
const LOSS_SCALE: f32 = 4096.0;

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

/// What the backward pass needs from the forward pass.
#[derive(Clone, Debug)]
pub(super) struct SavedProductTensors<R: CubeRuntime> {
    /// If the weight needs a gradient.
    x: Option<CubeTensor<R>>,
    /// If x needs one.
    weight: Option<CubeTensor<R>>,
    precision: Precision,
}

/// `x W + b` \[N, O\], and what the backward pass needs; `needed` says it of x and the weight.
pub(super) fn forward<R: CubeRuntime>(
    [x, weight, bias]: [CubeTensor<R>; 3],
    precision: Precision,
    needed: [bool; 2],
) -> (CubeTensor<R>, SavedProductTensors<R>) {
    layer([x, weight], Some(&bias), precision, needed)
}

/// `x W` \[N, O\], and what the backward pass needs.
pub(super) fn without_bias<R: CubeRuntime>(
    operands: [CubeTensor<R>; 2],
    precision: Precision,
    needed: [bool; 2],
) -> (CubeTensor<R>, SavedProductTensors<R>) {
    layer(operands, None, precision, needed)
}

fn layer<R: CubeRuntime>(
    [x, weight]: [CubeTensor<R>; 2],
    bias: Option<&CubeTensor<R>>,
    precision: Precision,
    [of_x, of_weight]: [bool; 2],
) -> (CubeTensor<R>, SavedProductTensors<R>) {
    let precision = on_device(&x.client, precision);
    let [left, right] = [&x, &weight].map(|operand| Operand::new(operand.clone()));
    let (out, _) = multiply(&left, &right, Added { bias, ..Added::default() }, precision, false);
    (out, SavedProductTensors { x: of_weight.then_some(x), weight: of_x.then_some(weight), precision })
}

/// The gradients of x, the weight and the bias. That of x is added to what it has `before`.
pub(super) fn backward<R: CubeRuntime>(
    saved: SavedProductTensors<R>,
    gradient: CubeTensor<R>,
    before: Option<CubeTensor<R>>,
    [_, _, bias]: [bool; 3],
) -> [Option<CubeTensor<R>>; 3] {
    let SavedProductTensors { x, weight, precision } = saved;
    let scale = if precision == Precision::F16 { LOSS_SCALE } else { 1.0 };
    let outer = Operand::new(gradient.clone()).scaled(scale);
    let of_x = weight.map(|weight| {
        let added = Added { before: before.as_ref(), ..Added::default() };
        multiply(&outer, &Operand::new(weight).transposed(), added, precision, false).0
    });
    let of_weight =
        x.map(|x| multiply(&Operand::new(x).transposed(), &outer, Added::default(), precision, bias));
    // The product that gives a weight's gradient sums the columns too.
    match of_weight {
        Some((of_weight, of_bias)) => [of_x, Some(of_weight), of_bias],
        None => [of_x, None, bias.then(|| columns::sum(gradient))],
    }
}
