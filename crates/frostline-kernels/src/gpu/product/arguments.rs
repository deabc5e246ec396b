//! What product kernels are given besides their matrices: how operands are rounded, and what is added.

use burn::tensor::{bf16, f16};
use cubecl::prelude::*;

use crate::Precision;

/// The largest number of f16.
const F16_MAX: f32 = 65_504.0;

/// What is done to an operand before it is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rounding {
    Off,
    Bf16,
    Tf32,
    /// It is multiplied by a factor, and is at most the largest number of f16.
    F16,
    /// The same, but for the rounding.
    Clamped,
}

impl Rounding {
    pub(super) const fn of(precision: Precision) -> Self {
        match precision {
            Precision::F32 => Self::Off,
            Precision::Bf16 => Self::Bf16,
            Precision::F16 => Self::F16,
            Precision::Tf32 => Self::Tf32,
        }
    }

    /// Without what a conversion does.
    pub(super) const fn clamped(self) -> Self {
        match self {
            Self::F16 | Self::Clamped => Self::Clamped,
            Self::Off | Self::Bf16 | Self::Tf32 => Self::Off,
        }
    }

    pub(super) const fn scales(self) -> bool {
        matches!(self, Self::F16 | Self::Clamped)
    }
}

/// What operands and the product are multiplied by, where they are rounded to f16.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub(super) struct Factors {
    pub a: f32,
    pub b: f32,
    pub out: f32,
}

/// Numbers as they are multiplied.
#[cube]
pub(super) fn prepared<N: Size>(
    values: Vector<f32, N>,
    factor: f32,
    #[comptime] rounding: Rounding,
) -> Vector<f32, N> {
    let mut values = values;
    if comptime!(rounding.scales()) {
        let (most, least) = (Vector::new(F16_MAX), Vector::new(-F16_MAX));
        values = (values * Vector::new(factor)).max(least).min(most);
    }
    if comptime!(rounding == Rounding::Bf16) {
        values = Vector::<f32, N>::cast_from(Vector::<bf16, N>::cast_from(values));
    }
    if comptime!(rounding == Rounding::Tf32) {
        values = Vector::<f32, N>::cast_from(Vector::<cubecl::tf32, N>::cast_from(values));
    }
    if comptime!(rounding == Rounding::F16) {
        values = Vector::<f32, N>::cast_from(Vector::<f16, N>::cast_from(values));
    }
    values
}

/// What is added to a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Adds {
    pub bias: bool,
    pub before: bool,
}
