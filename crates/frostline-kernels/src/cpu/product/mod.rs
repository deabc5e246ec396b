//! Matrix products of the linear layers: row-major f32 in, row-major f32 out.
//!
//! A product is computed in f32, or with operands rounded to bf16 and f32 sums. Its bits depend neither on the number of
//! threads nor on the instruction set, and a row's bits not on the other rows: the order of a sum follows from the inner
//! dimension alone (`blocked.rs`).

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

use std::mem::MaybeUninit;

use super::simd::{Isa, isa};
use crate::Precision;

/// The left operand, \[m, k\].
#[derive(Clone, Copy)]
pub enum Left<'a> {
    /// Row-major \[m, k\].
    Plain(&'a [f32]),
    /// Row-major \[k, m\], used as its transpose.
    Transposed(&'a [f32]),
}

/// The right operand, \[k, n\].
#[derive(Clone, Copy)]
pub enum Right<'a> {
    /// Row-major \[k, n\].
    Plain(&'a [f32]),
    /// Row-major \[n, k\], used as its transpose.
    Transposed(&'a [f32]),
}

/// `left right`, plus `bias` in every row if there is one, row-major \[m, n\].
///
/// # Panics
/// If an operand's size does not match m, n and k.
pub fn product(
    precision: Precision,
    [m, n, k]: [usize; 3],
    left: Left<'_>,
    right: Right<'_>,
    bias: Option<&[f32]>,
) -> Vec<f32> {
    let (Left::Plain(a) | Left::Transposed(a)) = left;
    let (Right::Plain(b) | Right::Transposed(b)) = right;
    assert_eq!([a.len(), b.len()], [m * k, k * n], "operands of a product [{m}, {k}] x [{k}, {n}]");
    assert!(bias.is_none_or(|bias| bias.len() == n), "a bias of {n} elements");
    let mut out = Vec::with_capacity(m * n);
    if k == 0 {
        for _ in 0..m {
            match bias {
                Some(bias) => out.extend_from_slice(bias),
                None => out.resize(out.len() + n, 0.0),
            }
        }
        return out;
    }
    let target: &mut [MaybeUninit<f32>] = &mut out.spare_capacity_mut()[..m * n];
    match precision {
        Precision::F32 | Precision::F16 | Precision::Tf32 => {
            on::<false>([m, n, k], left, right, bias, target)
        }
        Precision::Bf16 => on::<true>([m, n, k], left, right, bias, target),
    }
    // SAFETY: `blocked::product` writes all m * n elements.
    unsafe { out.set_len(m * n) };
    out
}

/// The product with this processor's engine.
fn on<const BF16: bool>(
    sizes: [usize; 3],
    left: Left<'_>,
    right: Right<'_>,
    bias: Option<&[f32]>,
    out: &mut [MaybeUninit<f32>],
) {
    // SAFETY: `isa` returns a set only if the processor has all its features.
    unsafe {
        match isa() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if !BF16 || avx512::has_bf16() => {
                blocked::product::<avx512::Avx512, BF16>(sizes, left, right, bias, out);
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Avx2 => blocked::product::<lanes::Avx2, BF16>(sizes, left, right, bias, out),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => blocked::product::<lanes::Neon, BF16>(sizes, left, right, bias, out),
            _ => blocked::product::<lanes::Portable, BF16>(sizes, left, right, bias, out),
        }
    }
}

/// Whether this processor has an instruction for products of this precision. It computes bf16 with the same bits, more
/// slowly, without one; other precisions in f32.
pub fn is_native(precision: Precision) -> bool {
    match precision {
        Precision::F32 => true,
        #[cfg(target_arch = "x86_64")]
        Precision::Bf16 => isa() == Isa::Avx512 && avx512::has_bf16(),
        _ => false,
    }
}
