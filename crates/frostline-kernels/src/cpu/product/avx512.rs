//! The engines of AVX-512: tiles of 6 x 64 sums in registers, f32 or bf16 operands.
//!
//! `vdpbf16ps` multiplies a pair of adjacent bf16 values at once. Where the processor lacks it, or takes longer for it than
//! for two multiply-adds, words of bf16 are f32, as in `lanes.rs`.

use core::arch::x86_64::*;
use std::sync::OnceLock;

use super::blocked::{AW, Engine, LeftLayout, MR, NR, StripTile, with_rows};
use super::lanes;
use super::words::{as_bf16, convert, mask, panel, transposed, transposed_f32};
use crate::cpu::prefetch::OperandLines;

/// Elements along k per prefetched line of the next operand.
const PREFETCH_EVERY: usize = 4;

/// Processors with AVX-512F and, for bf16, [`has_bf16`].
pub struct Avx512Engine;

/// Whether the processor has bf16 multiplication.
pub fn has_bf16() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512bw"))
}

/// Whether `vdpbf16ps` is faster than multiplying the same values in f32. On AMD's Zen 4 it is twice as fast. An Intel Xeon
/// (family 6, model 207) takes between three and four times as long for it as for a multiply-add, which does half of the work;
/// for bf16 it has a matrix unit (`amx.rs`).
pub fn is_fast_in_bf16() -> bool {
    static FAST: OnceLock<bool> = OnceLock::new();
    *FAST.get_or_init(|| {
        let maker = __cpuid(0);
        has_bf16()
            && [maker.ebx, maker.edx, maker.ecx] != [*b"Genu", *b"ineI", *b"ntel"].map(u32::from_le_bytes)
    })
}

// SAFETY: the functions do what the trait describes.
unsafe impl Engine for Avx512Engine {
    const STRIP: usize = NR;
    const TILE_ROWS: usize = MR;
    const ROWS: usize = usize::MAX;
    const WORDS_PER_PAIR: usize = 1;
    const PLAIN: LeftLayout = LeftLayout::Rows;
    const TRANSPOSED: LeftLayout = LeftLayout::Abreast(AW);
    const AT_ONCE: usize = 2;
    const PREFETCH_EVERY: Option<usize> = Some(PREFETCH_EVERY);

    unsafe fn convert(from: *const f32, k: usize, rows: usize, out: *mut u32) {
        for row in 0..rows {
            // SAFETY: the caller guarantees the features and the pointers.
            unsafe { convert(from.add(row * k), k, 16, out.add(row * k.div_ceil(2))) }
        }
    }

    unsafe fn panel<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        cols: usize,
        width: usize,
        out: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe { panel::<BF16>(from, stride, k, cols, width, out) }
    }

    unsafe fn transposed<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        rows: usize,
        out: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe { transposed::<BF16>(from, stride, k, rows, NR, out) }
    }

    unsafe fn rows<const BF16: bool>(from: *const f32, stride: usize, k: usize, rows: usize, out: *mut u32) {
        // SAFETY: as above.
        unsafe { panel::<BF16>(from, stride, k, rows, AW, out) }
    }

    #[inline]
    unsafe fn tile<const BF16: bool>(tile: &StripTile) {
        // SAFETY: as above.
        with_rows!(tile, R => unsafe { if BF16 { tile_bf16::<R>(tile) } else { tile_f32::<R, false>(tile) } })
    }
}

/// Processors with AVX-512, for bf16 in words of f32.
pub struct Avx512Widened;

// SAFETY: the functions do what the trait describes.
unsafe impl Engine for Avx512Widened {
    const STRIP: usize = NR;
    const TILE_ROWS: usize = MR;
    const ROWS: usize = usize::MAX;
    const WORDS_PER_PAIR: usize = 2;
    const PLAIN: LeftLayout = LeftLayout::Rows;
    const TRANSPOSED: LeftLayout = LeftLayout::Abreast(AW);
    const AT_ONCE: usize = 2;
    const PREFETCH_EVERY: Option<usize> = Some(PREFETCH_EVERY);

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn convert(from: *const f32, k: usize, rows: usize, out: *mut u32) {
        for row in 0..rows {
            // SAFETY: the caller guarantees the pointers.
            unsafe { lanes::convert(from.add(row * k), k, out.add(row * lanes::words::<true>(k))) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn panel<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        cols: usize,
        width: usize,
        out: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe { lanes::panel::<BF16>(from, stride, k, cols, width, out) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn transposed<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        rows: usize,
        out: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe { transposed_f32::<BF16>(from, stride, k, rows, NR, out) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    unsafe fn rows<const BF16: bool>(from: *const f32, stride: usize, k: usize, rows: usize, out: *mut u32) {
        // SAFETY: as above.
        unsafe { lanes::panel::<BF16>(from, stride, k, rows, AW, out) }
    }

    #[inline]
    unsafe fn tile<const BF16: bool>(tile: &StripTile) {
        with_rows!(tile, R => {
            // SAFETY: as above.
            unsafe { if tile.flush { tile_f32::<R, true>(tile) } else { tile_f32::<R, false>(tile) } }
        })
    }
}

/// Multiplies along k, word by word of so many elements, and prefetches meanwhile.
macro_rules! along_k {
    ($tile:ident, $elements:literal, $step:block) => {
        let mut operand = $tile.operand.unwrap_or(OperandLines::in_cache($tile.a.cast()));
        for p in 0..$tile.length {
            if p % (PREFETCH_EVERY / $elements) == 0 {
                operand.prefetch();
            }
            $step
        }
    };
}

/// Writes a tile's sums. This is a macro because functions with target features cannot be forced
/// inline, and a call would pass all sums through memory.
macro_rules! store {
    ($tile:expr, $sums:expr) => {
        for (r, sums) in $sums.iter().enumerate() {
            for (j, &sum) in sums.iter().enumerate() {
                let to = $tile.c.wrapping_add(r * $tile.n + 16 * j);
                let mask = mask($tile.cols as isize - 16 * j as isize);
                // Unmasked lanes are inside the row; the bias has NR elements.
                let before = if $tile.add {
                    _mm512_maskz_loadu_ps(mask, to)
                } else {
                    _mm512_loadu_ps($tile.bias.add(16 * j))
                };
                _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(sum, before));
            }
        }
    };
}

/// The tile with f32 words; with `FLUSH`, sums below the normal numbers become zero.
///
/// # Safety
/// As [`Engine::tile`], of words that are f32.
#[target_feature(enable = "avx512f")]
unsafe fn tile_f32<const R: usize, const FLUSH: bool>(tile: &StripTile) {
    let mut sums = [[_mm512_setzero_ps(); 4]; R];
    let (mut a, mut b) = (tile.a, tile.b);
    // SAFETY: the caller guarantees the pointers.
    unsafe {
        prefetch::<R>(tile);
        along_k!(tile, 1, {
            let mut right = [_mm512_setzero_ps(); 4];
            for (j, right) in right.iter_mut().enumerate() {
                *right = _mm512_load_ps(b.add(16 * j).cast());
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let left = _mm512_set1_ps(*a.add(r * tile.across).cast());
                for (sum, &right) in sums.iter_mut().zip(&right) {
                    *sum = _mm512_fmadd_ps(left, right, *sum);
                    if FLUSH {
                        let small = _mm512_set1_ps(f32::MIN_POSITIVE);
                        let is_small = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_abs_ps(*sum), small);
                        let (bits, sign) = (_mm512_castps_si512(*sum), _mm512_set1_epi32(i32::MIN));
                        *sum = _mm512_castsi512_ps(_mm512_mask_and_epi32(bits, is_small, bits, sign));
                    }
                }
            }
            a = a.wrapping_add(tile.along);
            b = b.wrapping_add(NR);
        });
        store!(tile, sums);
    }
}

/// The tile with pairs of bf16.
///
/// # Safety
/// As [`Engine::tile`] with `BF16`.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn tile_bf16<const R: usize>(tile: &StripTile) {
    let mut sums = [[_mm512_setzero_ps(); 4]; R];
    let (mut a, mut b) = (tile.a, tile.b);
    // SAFETY: the caller guarantees the pointers.
    unsafe {
        prefetch::<R>(tile);
        along_k!(tile, 2, {
            let mut right = [as_bf16(_mm512_setzero_si512()); 4];
            for (j, right) in right.iter_mut().enumerate() {
                *right = as_bf16(_mm512_load_si512(b.add(16 * j).cast()));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let left = as_bf16(_mm512_set1_epi32(*a.add(r * tile.across) as i32));
                for (sum, &right) in sums.iter_mut().zip(&right) {
                    *sum = _mm512_dpbf16_ps(*sum, left, right);
                }
            }
            a = a.wrapping_add(tile.along);
            b = b.wrapping_add(NR);
        });
        store!(tile, sums);
    }
}

/// Prefetches the output's cache lines before the sums are ready. A prefetch never faults, so the
/// pointers need not be valid.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn prefetch<const R: usize>(tile: &StripTile) {
    for r in 0..R {
        for j in 0..4 {
            _mm_prefetch::<_MM_HINT_T0>(tile.c.wrapping_add(r * tile.n + 16 * j).cast());
        }
    }
}
