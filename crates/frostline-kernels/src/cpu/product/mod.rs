//! Matrix products of the linear layers: row-major f32 in, row-major f32 out.
//!
//! A product is computed by this crate's AVX-512 kernel (in f32, or with operands rounded to bf16 and
//! f32 sums), or by the `gemm` crate on other processors. Results never depend on the number of
//! threads. In the AVX-512 kernel the order of a sum depends only on the inner dimension, so that a
//! row does not change when other rows are added; `gemm` does not guarantee that.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod fallback;
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
    match (isa(), precision) {
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx512, Precision::Bf16) if avx512::has_bf16() => {
            avx512::product::<true>([m, n, k], left, right, bias, target);
        }
        #[cfg(target_arch = "x86_64")]
        (Isa::Avx512, _) => avx512::product::<false>([m, n, k], left, right, bias, target),
        _ => fallback::product([m, n, k], left, right, bias, target),
    }
    // SAFETY: each of the three branches above writes all m * n elements.
    unsafe { out.set_len(m * n) };
    out
}

/// Whether this processor has native bf16 multiplication; elsewhere [`Precision::Bf16`] computes in f32.
pub fn has_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return isa() == Isa::Avx512 && avx512::has_bf16();
    #[cfg(not(target_arch = "x86_64"))]
    false
}
