//! A product of two matrices: which kernel computes it, and with what.

use burn::tensor::{bf16, f16};
use burn_cubecl::CubeRuntime;
use burn_cubecl::tensor::CubeTensor;
use cubecl::features::MmaConfig;
use cubecl::ir::StorageType;
use cubecl::prelude::*;

use super::super::{fresh, per_element, sides};
use super::arguments::{Adds, FactorsLaunch, Rounding};
use super::tensor::Planes;
use super::units::CubeUnits;
use super::{plain, tensor, units};
use crate::Precision;

/// Tiles without tensor cores, largest first.
const UNITS: [CubeUnits; 2] = [
    CubeUnits { tile: [64, 64], depth: 16, each: [8, 4], split_k: 1 },
    CubeUnits { tile: [32, 32], depth: 32, each: [4, 4], split_k: 4 },
];

/// Tiles on tensor cores, largest first.
const PLANES: [Planes; 3] = [
    Planes { grid: [2, 4], each: [4, 2], depth: 32, terms: 16 },
    Planes { grid: [2, 2], each: [2, 2], depth: 64, terms: 16 },
    Planes { grid: [2, 2], each: [1, 1], depth: 64, terms: 16 },
];

/// Units fetch whole tiles, and always of the same columns, so that they can sum these. Without tensor cores a tile fits into any
/// desktop's GPU: 32 KiB of shared memory and 256 units.
const _: () = {
    let mut at = 0;
    while at < UNITS.len() {
        assert!(UNITS[at].side(0, false).is_even() && UNITS[at].side(1, false).is_even());
        assert!(UNITS[at].shared() * 16 <= 32 * 1024 && UNITS[at].count() <= 256);
        at += 1;
    }
    let mut at = 0;
    while at < PLANES.len() {
        assert!(PLANES[at].side(0, false).is_even() && PLANES[at].side(0, true).is_even());
        assert!(PLANES[at].side(1, false).is_even() && PLANES[at].side(1, true).is_even());
        at += 1;
    }
};

/// Multiprocessors of a GPU that does not say how many it has.
const MULTIPROCESSORS: u32 = 32;

/// A factor of a product.
#[derive(Clone, Debug)]
pub(super) struct Operand<R: CubeRuntime> {
    /// As it lies in memory.
    values: CubeTensor<R>,
    transposed: bool,
    /// What it is multiplied by in f16: a power of two.
    scale: f32,
}

impl<R: CubeRuntime> Operand<R> {
    pub(super) const fn new(values: CubeTensor<R>) -> Self {
        Self { values, transposed: false, scale: 1.0 }
    }

    pub(super) fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    pub(super) fn scaled(self, scale: f32) -> Self {
        Self { scale, ..self }
    }

    /// Rows and columns.
    fn sides(&self) -> [usize; 2] {
        let [rows, columns] = sides(&self.values);
        if self.transposed { [columns, rows] } else { [rows, columns] }
    }

    /// Whether its lines can be read in vectors of four.
    fn in_fours(&self) -> bool {
        let start = self.values.handle.offset_start.unwrap_or(0);
        sides(&self.values)[1].is_multiple_of(4) && start.is_multiple_of(16)
    }
}

/// A tensor's numbers in vectors of four.
fn fours<R: CubeRuntime>(tensor: &CubeTensor<R>) -> ArrayArg<R> {
    // SAFETY: the numbers of a contiguous tensor, and none behind them.
    unsafe { ArrayArg::from_raw_parts(tensor.handle.clone(), tensor.meta.num_elements() / 4) }
}

/// What is added to a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Added<'a, R: CubeRuntime> {
    /// To each of its rows, \[N\].
    pub bias: Option<&'a CubeTensor<R>>,
    /// To each of its numbers, \[M, N\].
    pub before: Option<&'a CubeTensor<R>>,
}

impl<R: CubeRuntime> Default for Added<'_, R> {
    fn default() -> Self {
        Self { bias: None, before: None }
    }
}

/// A kernel and how it divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    Units(CubeUnits),
    Planes(Planes),
    Plain,
}

/// Which kernel computes the product of \[m, k\] and \[k, n\]: that of the largest tile of which there is one for every
/// multiprocessor, else of the smallest.
fn choose<R: CubeRuntime>(
    client: &ComputeClient<R>,
    [m, n]: [usize; 2],
    k_contiguous: [bool; 2],
    precision: Precision,
) -> Kernel {
    let hardware = &client.properties().hardware;
    let multiprocessors = hardware.num_streaming_multiprocessors.unwrap_or(MULTIPROCESSORS) as usize;
    let most_units = hardware.max_units_per_cube as usize;
    let room = hardware.max_shared_memory_size;
    let fills = |[rows, columns]: [usize; 2]| m.div_ceil(rows) * n.div_ceil(columns) >= multiprocessors;
    if let Some((terms, bytes)) = fragments(client, precision) {
        let fit = PLANES.map(|planes| Planes { terms, ..planes }).into_iter();
        let fit = fit.filter(|planes| planes.shared(k_contiguous, bytes) <= room);
        if let Some(planes) = first_or_last(fit, |planes| fills(planes.tile())) {
            return Kernel::Planes(planes);
        }
    }
    let fit = UNITS.into_iter().filter(|units| units.shared() * 16 <= room && units.count() <= most_units);
    first_or_last(fit, |units| fills(units.tile)).map_or(Kernel::Plain, Kernel::Units)
}

/// The first of which this holds, else the last.
fn first_or_last<T: Copy>(all: impl Iterator<Item = T>, holds: impl Fn(T) -> bool) -> Option<T> {
    let mut last = None;
    for one in all {
        last = Some(one);
        if holds(one) {
            break;
        }
    }
    last
}

/// Terms of the fragments that the device's tensor cores multiply in this precision, and bytes of a number.
fn fragments<R: CubeRuntime>(client: &ComputeClient<R>, precision: Precision) -> Option<(usize, usize)> {
    let (kind, terms, bytes) = match precision {
        Precision::F32 => return None,
        Precision::Bf16 => (bf16::as_type_native_unchecked(), 16, 2),
        Precision::F16 => (f16::as_type_native_unchecked(), 16, 2),
        Precision::Tf32 => (cubecl::tf32::as_type_native_unchecked(), 8, 4),
    };
    let sums = |kind: StorageType, terms: usize| MmaConfig {
        a_type: kind,
        b_type: kind,
        cd_type: f32::as_type_native_unchecked().storage_type(),
        m: 16,
        n: 16,
        k: terms as u32,
    };
    let properties = client.properties();
    let hardware = &properties.hardware;
    let planes = hardware.plane_size_min == 32 && hardware.plane_size_max == 32;
    let has = |config| properties.features.matmul.cmma.contains(&config);
    // CubeCL lists bf16 for the first tensor cores too, which had none; those with TF32 have it.
    let tf32 = || has(sums(cubecl::tf32::as_type_native_unchecked().storage_type(), 8));
    let is_there = precision != Precision::Bf16 || tf32();
    (planes && is_there && has(sums(kind.storage_type(), terms))).then_some((terms, bytes))
}

/// a \[M, K\] times b \[K, N\] and what is added -> \[M, N\], and where asked for the sums of b's columns \[N\]. Sums are
/// in f32.
pub(super) fn multiply<R: CubeRuntime>(
    a: &Operand<R>,
    b: &Operand<R>,
    Added { bias, before }: Added<'_, R>,
    precision: Precision,
    with_sums: bool,
) -> (CubeTensor<R>, Option<CubeTensor<R>>) {
    let ([m, k], [_, n]) = (a.sides(), b.sides());
    let out = fresh(&a.values, [m, n]);
    let client = &out.client;
    let factors = || FactorsLaunch::new(a.scale, b.scale, 1.0 / (a.scale * b.scale));
    let rounding = Rounding::of(precision);
    // In memory the terms are side by side in the rows of a, and in the columns of b.
    let k_contiguous = [!a.transposed, b.transposed];
    let aligned = |tensor: &CubeTensor<R>| tensor.handle.offset_start.unwrap_or(0).is_multiple_of(16);
    let mut beside = bias.into_iter().chain(before);
    let kernel = match a.in_fours() && b.in_fours() && n.is_multiple_of(4) && beside.all(aligned) {
        true => choose(client, [m, n], k_contiguous, precision),
        false => Kernel::Plain,
    };
    let sums = with_sums.then(|| match kernel {
        Kernel::Plain => super::columns::sum(b.values.clone()),
        Kernel::Units(_) | Kernel::Planes(_) => fresh(&out, [n]),
    });
    let cubes = |[rows, columns]: [usize; 2]| {
        CubeCount::Static(n.div_ceil(columns) as u32, m.div_ceil(rows) as u32, 1)
    };
    let adds = Adds { bias: bias.is_some(), before: before.is_some() };
    let [bias, before] = [bias, before].map(|tensor| tensor.unwrap_or(&out));
    let of_columns = || fours(sums.as_ref().unwrap_or(&out));
    match kernel {
        Kernel::Plain => {
            let (count, dim) = per_element(m * n);
            // SAFETY: the kernel checks its bound; what is added is read only where there is some, and nothing else has seen
            // the product yet.
            unsafe {
                plain::kernel::launch_unchecked::<R>(
                    client,
                    count,
                    dim,
                    a.values.clone().into_array_arg(),
                    b.values.clone().into_array_arg(),
                    bias.clone().into_array_arg(),
                    before.clone().into_array_arg(),
                    out.clone().into_array_arg(),
                    m,
                    n,
                    k,
                    factors(),
                    [a.transposed, b.transposed],
                    rounding,
                    adds,
                );
            }
        }
        // SAFETY: as above, also of the sums.
        Kernel::Units(units) => unsafe {
            units::kernel::launch_unchecked::<R>(
                client,
                cubes(units.tile),
                CubeDim::new_1d(units.count() as u32),
                fours(&a.values),
                fours(&b.values),
                fours(bias),
                fours(before),
                fours(&out),
                of_columns(),
                m,
                n,
                k,
                factors(),
                units,
                k_contiguous,
                rounding,
                adds,
                with_sums,
            );
        },
        Kernel::Planes(planes) => {
            let launch = match precision {
                Precision::F16 => tensor::kernel::launch_unchecked::<f16, R>,
                Precision::Tf32 => tensor::kernel::launch_unchecked::<cubecl::tf32, R>,
                Precision::F32 | Precision::Bf16 => tensor::kernel::launch_unchecked::<bf16, R>,
            };
            // SAFETY: as above.
            unsafe {
                launch(
                    client,
                    cubes(planes.tile()),
                    CubeDim::new_1d(planes.count() as u32),
                    fours(&a.values),
                    fours(&b.values),
                    fours(bias),
                    fours(before),
                    fours(&out),
                    of_columns(),
                    m,
                    n,
                    k,
                    factors(),
                    planes,
                    k_contiguous,
                    rounding,
                    adds,
                    with_sums,
                );
            }
        }
    }
    (out, sums)
}
