//! A tile's sums with AVX2, in as few instructions as possible.
//!
//! A core multiplies two registers a cycle but starts only a few instructions, and shares those with another thread where a
//! core has two. So the loop is written out four times with constant distances, and the places of the rows are opaque to the
//! compiler, which would otherwise compute each from the one before. Same sums in the same order as `lanes.rs`.

use core::arch::x86_64::*;
use std::hint::black_box;

use super::blocked::{MR, StripTile};
use crate::cpu::prefetch::OperandLines;

/// Columns of a strip.
const STRIP: usize = 16;
/// Elements along k per prefetched line of the next operand: four times those of AVX-512, which has four times the columns.
pub const PREFETCH_EVERY: usize = 16;
/// How often the loop is written out.
const TIMES: usize = 4;

/// The sums of a tile with R rows.
///
/// # Safety
/// As [`Engine::tile`](super::blocked::Engine::tile), on a processor with AVX2 and FMA.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub unsafe fn sums<const R: usize>(tile: &StripTile) -> [[f32; STRIP]; R] {
    let mut sums = [[0f32; STRIP]; R];
    // SAFETY: the caller guarantees the pointers; words are neighbours along k, or MR apart.
    let registers = unsafe {
        if tile.along == 1 {
            along::<R, 1>(tile, black_box(std::array::from_fn(|r| r * tile.across)))
        } else {
            along::<R, MR>(tile, std::array::from_fn(|r| r))
        }
    };
    for (sums, [low, high]) in sums.iter_mut().zip(registers) {
        // SAFETY: a row has sixteen sums.
        unsafe {
            _mm256_storeu_ps(sums.as_mut_ptr(), low);
            _mm256_storeu_ps(sums.as_mut_ptr().add(8), high);
        }
    }
    sums
}

/// The sums, with words `ALONG` apart along k and rows that begin at these words.
///
/// # Safety
/// As [`sums`]; `ALONG` must be `tile.along`, and `rows` the multiples of `tile.across`.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn along<const R: usize, const ALONG: usize>(tile: &StripTile, rows: [usize; R]) -> [[__m256; 2]; R] {
    debug_assert!(tile.along == ALONG && (ALONG == 1 || tile.across == 1));
    let mut sums = [[_mm256_setzero_ps(); 2]; R];
    let (mut a, mut b) = (tile.a, tile.b);
    let mut operand = tile.operand.unwrap_or(OperandLines::in_cache(tile.a.cast()));
    // A macro, because a closure has no target features.
    macro_rules! add {
        ($number:literal) => {
            let b = b.wrapping_add($number * STRIP).cast::<f32>();
            // SAFETY: the caller guarantees the pointers.
            let right = unsafe { [_mm256_load_ps(b), _mm256_load_ps(b.wrapping_add(8))] };
            for (sums, row) in sums.iter_mut().zip(rows) {
                // SAFETY: as above.
                let left = unsafe { _mm256_set1_ps(*a.wrapping_add(row + $number * ALONG).cast()) };
                for (sum, right) in sums.iter_mut().zip(right) {
                    *sum = _mm256_fmadd_ps(left, right, *sum);
                }
            }
        };
    }
    for time in 0..tile.length / TIMES {
        if time % (PREFETCH_EVERY / TIMES) == 0 {
            operand.prefetch();
        }
        add!(0);
        add!(1);
        add!(2);
        add!(3);
        a = a.wrapping_add(TIMES * ALONG);
        b = b.wrapping_add(TIMES * STRIP);
    }
    for _ in 0..tile.length % TIMES {
        add!(0);
        a = a.wrapping_add(ALONG);
        b = b.wrapping_add(STRIP);
    }
    sums
}
