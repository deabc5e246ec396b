//! Matrix products of the linear layers: row-major f32 in, row-major f32 out.
//!
//! A product is computed in f32, or with operands rounded to bf16 and f32 sums. Its bits depend neither on the number of
//! threads nor on the instruction set, and a row's bits not on the other rows: the order of a sum follows from the inner
//! dimension alone (`blocked.rs`). Only the matrix unit, which is used on request, has an order of its own (`amx.rs`).

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blocked;
mod lanes;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod words;

use std::cell::Cell;
use std::mem::MaybeUninit;

use super::fresh::as_room;
use crate::Precision;
use crate::dispatch::{Isa, isa};

/// The left operand, \[m, k\].
#[derive(Clone, Copy)]
pub enum LeftOperand<'a> {
    /// Row-major \[m, k\].
    Plain(&'a [f32]),
    /// Row-major \[k, m\], used as its transpose.
    Transposed(&'a [f32]),
}

/// The right operand, \[k, n\].
#[derive(Clone, Copy)]
pub enum RightOperand<'a> {
    /// Row-major \[k, n\].
    Plain(&'a [f32]),
    /// Row-major \[n, k\], used as its transpose.
    Transposed(&'a [f32]),
}

/// One output \[m, n\]: the sum of products of a left operand, by its number, and a right one.
pub struct ProductSum<'a> {
    terms: &'a [(usize, RightOperand<'a>)],
    start: ProductStart<'a>,
    out: &'a mut [MaybeUninit<f32>],
}

/// What the products are added to.
#[derive(Clone, Copy)]
enum ProductStart<'a> {
    /// Zeros.
    Zero,
    /// \[n\] in every row.
    Bias(&'a [f32]),
    /// What the output holds. All of it must be initialised.
    Out,
}

impl ProductSum<'_> {
    /// Whether the sizes are those of the operands.
    fn fits(&self, [m, n, k]: [usize; 3], lefts: usize) -> bool {
        let term = |&(left, RightOperand::Plain(b) | RightOperand::Transposed(b)): &_| {
            left < lefts && b.len() == k * n
        };
        let bias = !matches!(self.start, ProductStart::Bias(bias) if bias.len() != n);
        bias && self.out.len() == m * n && !self.terms.is_empty() && self.terms.iter().all(term)
    }
}

/// Empty vectors with the capacity of so many outputs \[m, n\].
pub fn outputs(count: usize, [m, n]: [usize; 2]) -> Vec<Vec<f32>> {
    (0..count).map(|_| Vec::with_capacity(m * n)).collect()
}

/// The products of a left operand and right ones of one size, row-major \[m, n\] each, plus a bias in every row if there is
/// one. They are written to `outs`, as [`outputs`] makes them.
///
/// # Panics
/// If the size of an operand or an output does not match m, n and k.
pub fn products(
    precision: Precision,
    [m, n, k]: [usize; 3],
    left: LeftOperand<'_>,
    rights: &[(RightOperand<'_>, Option<&[f32]>)],
    mut outs: Vec<Vec<f32>>,
) -> Vec<Vec<f32>> {
    assert_eq!(outs.len(), rights.len(), "an output for each product");
    let terms: Vec<_> = rights.iter().map(|(right, _)| [(0, *right)]).collect();
    let mut sums = Vec::with_capacity(rights.len());
    for ((out, terms), (_, bias)) in outs.iter_mut().zip(&terms).zip(rights) {
        let start = bias.map_or(ProductStart::Zero, ProductStart::Bias);
        sums.push(ProductSum { terms, start, out: &mut out.spare_capacity_mut()[..m * n] });
    }
    compute(precision, [m, n, k], &[left], &mut sums);
    // SAFETY: `compute` writes all m * n elements.
    outs.iter_mut().for_each(|out| unsafe { out.set_len(m * n) });
    outs
}

/// The sum of products of one size, row-major \[m, n\].
///
/// # Panics
/// As [`products`].
pub fn sum<const T: usize>(
    precision: Precision,
    [m, n, k]: [usize; 3],
    terms: [(LeftOperand<'_>, RightOperand<'_>); T],
) -> Vec<f32> {
    let mut out = Vec::with_capacity(m * n);
    let (lefts, terms) = number_operands(terms);
    let room = &mut out.spare_capacity_mut()[..m * n];
    compute(
        precision,
        [m, n, k],
        &lefts,
        &mut [ProductSum { terms: &terms, start: ProductStart::Zero, out: room }],
    );
    // SAFETY: `compute` writes all m * n elements.
    unsafe { out.set_len(m * n) };
    out
}

/// Adds products of one size to `out`, row-major \[m, n\].
///
/// # Panics
/// As [`products`].
pub fn add<const T: usize>(
    precision: Precision,
    [m, n, k]: [usize; 3],
    terms: [(LeftOperand<'_>, RightOperand<'_>); T],
    out: &mut [f32],
) {
    let (lefts, terms) = number_operands(terms);
    // SAFETY: `compute` writes numbers.
    let out = unsafe { as_room(out) };
    compute(precision, [m, n, k], &lefts, &mut [ProductSum { terms: &terms, start: ProductStart::Out, out }]);
}

/// The left operands, and the terms with their numbers.
fn number_operands<'a, const T: usize>(
    terms: [(LeftOperand<'a>, RightOperand<'a>); T],
) -> ([LeftOperand<'a>; T], [(usize, RightOperand<'a>); T]) {
    (terms.map(|(left, _)| left), std::array::from_fn(|at| (at, terms[at].1)))
}

/// Writes all elements of the sums.
fn compute(
    precision: Precision,
    [m, n, k]: [usize; 3],
    lefts: &[LeftOperand<'_>],
    sums: &mut [ProductSum<'_>],
) {
    for LeftOperand::Plain(a) | LeftOperand::Transposed(a) in lefts {
        assert_eq!(a.len(), m * k, "the left operand of a product [{m}, {k}] x [{k}, {n}]");
    }
    for sum in &*sums {
        assert!(sum.fits([m, n, k], lefts.len()), "the operands of a product [{m}, {k}] x [{k}, {n}]");
    }
    if k == 0 {
        sums.iter_mut().for_each(|sum| without_products(sum, n));
        return;
    }
    match precision {
        Precision::F32 | Precision::F16 | Precision::Tf32 => {
            compute_products::<false>([m, n, k], lefts, sums)
        }
        Precision::Bf16 => compute_products::<true>([m, n, k], lefts, sums),
    }
}

/// Writes what a sum starts with.
fn without_products(sum: &mut ProductSum<'_>, n: usize) {
    match sum.start {
        ProductStart::Out => {}
        ProductStart::Zero => sum.out.fill(MaybeUninit::new(0.0)),
        ProductStart::Bias(bias) => {
            for row in sum.out.chunks_exact_mut(n.max(1)) {
                row.write_copy_of_slice(bias);
            }
        }
    }
}

/// The sums with this processor's engine.
fn compute_products<const BF16: bool>(
    sizes: [usize; 3],
    lefts: &[LeftOperand<'_>],
    sums: &mut [ProductSum<'_>],
) {
    // SAFETY: `isa` returns a set only if the processor has all its features, and `with_matrix_unit` asks whether there is one.
    unsafe {
        match isa() {
            #[cfg(target_arch = "x86_64")]
            _ if BF16 && in_matrix_unit() => blocked::products::<amx::Amx, true>(sizes, lefts, sums),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if BF16 && !avx512::is_fast_in_bf16() => {
                blocked::products::<avx512::Avx512Widened, BF16>(sizes, lefts, sums);
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => blocked::products::<avx512::Avx512Engine, BF16>(sizes, lefts, sums),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => blocked::products::<lanes::Avx2, BF16>(sizes, lefts, sums),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => blocked::products::<lanes::Neon, BF16>(sizes, lefts, sums),
            _ => blocked::products::<lanes::Portable, BF16>(sizes, lefts, sums),
        }
    }
}

/// Whether several threads share products of so many multiplications.
pub fn is_shared(multiplications: usize) -> bool {
    multiplications >= blocked::PARALLEL_FROM
}

/// Whether this processor multiplies in this precision faster than in f32. Elsewhere it computes bf16 with the same bits, and
/// other precisions in f32.
pub fn is_native(precision: Precision) -> bool {
    match precision {
        Precision::F32 => true,
        #[cfg(target_arch = "x86_64")]
        Precision::Bf16 => in_matrix_unit() || (isa() == Isa::Avx512 && avx512::is_fast_in_bf16()),
        _ => false,
    }
}

/// The name of what the kernels run on, in records.
pub fn instructions() -> &'static str {
    if in_matrix_unit() { "amx" } else { isa().name() }
}

/// Whether this processor has a matrix unit, and the system lets this process use it.
pub fn has_matrix_unit() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = amx::is_usable();
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

thread_local! {
    /// Whether this thread's products of bf16 are computed in the matrix unit.
    static IN_MATRIX_UNIT: Cell<bool> = const { Cell::new(false) };
}

/// Whether products of bf16 that this thread asks for are computed in the matrix unit.
pub fn in_matrix_unit() -> bool {
    IN_MATRIX_UNIT.get()
}

/// Runs work with this thread's products of bf16 in the matrix unit, if `used`, or outside of it.
///
/// # Panics
/// If they are to be and [`has_matrix_unit`] is false.
pub fn with_matrix_unit<T>(used: bool, work: impl FnOnce() -> T) -> T {
    /// Puts back what was before, also after a panic.
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            IN_MATRIX_UNIT.set(self.0);
        }
    }
    assert!(!used || has_matrix_unit(), "the processor has no matrix unit");
    let _back = Back(IN_MATRIX_UNIT.replace(used));
    work()
}
