//! Conversion of f32 into the words that AVX-512 and the matrix unit multiply: rows, panels, and panels of a
//! transpose.

use core::arch::x86_64::*;

use super::blocked::ROWS_AHEAD;
use crate::cpu::prefetch::prefetch;

/// The mask of the first n lanes.
#[inline(always)]
pub fn mask(n: isize) -> __mmask16 {
    ((1u32 << n.clamp(0, 16)) - 1) as u16
}

#[inline(always)]
pub fn as_bf16(register: __m512i) -> __m512bh {
    // SAFETY: both types are 512 bits without invalid values.
    unsafe { core::mem::transmute(register) }
}

/// 32 values rounded to bf16: `low` in the lower half, `high` in the upper.
///
/// # Safety
/// The processor must have AVX-512F and AVX-512 BF16.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn rounded(high: __m512, low: __m512) -> __m512i {
    // SAFETY: both types are 512 bits without invalid values.
    unsafe { core::mem::transmute(_mm512_cvtne2ps_pbh(high, low)) }
}

/// Each f32 rounded to bf16, as f32: what `bf16` of `lanes.rs` does.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
fn rounded_in_f32(bits: __m512i) -> __m512i {
    let value = _mm512_castsi512_ps(bits);
    let odd = _mm512_and_si512(_mm512_srli_epi32::<16>(bits), _mm512_set1_epi32(1));
    let nearest = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(value, value);
    let nearest = _mm512_mask_or_epi32(nearest, is_nan, bits, _mm512_set1_epi32(0x40_0000));
    let nearest = _mm512_and_si512(nearest, _mm512_set1_epi32(!0xffff));
    let is_small = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_abs_ps(value), _mm512_set1_ps(f32::MIN_POSITIVE));
    _mm512_mask_and_epi32(nearest, is_small, bits, _mm512_set1_epi32(i32::MIN))
}

/// 32 f32 from `p` on as 16 pairs of bf16, with zeros from element `left` on.
///
/// # Safety
/// The processor must have AVX-512F and AVX-512 BF16, and `p` must be valid for reading
/// `min(left, 32)` elements.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn pairs_at(p: *const f32, left: isize) -> __m512i {
    // SAFETY: masked lanes are not read.
    unsafe {
        let low = _mm512_maskz_loadu_ps(mask(left), p);
        rounded(_mm512_maskz_loadu_ps(mask(left - 16), p.wrapping_add(16)), low)
    }
}

/// Converts a row of k f32 into pairs of bf16. Sixteen words are written together, and the next sixteen `apart` words after
/// them.
///
/// # Safety
/// The processor must have AVX-512F, AVX-512BW and AVX-512 BF16; `row` must be valid for reading k
/// elements, and `out` for writing `ceil(k / 2)` words.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub unsafe fn convert(row: *const f32, k: usize, apart: usize, out: *mut u32) {
    for at in (0..k).step_by(32) {
        let left = (k - at) as isize;
        // SAFETY: masked lanes are neither read nor written.
        unsafe {
            let words = pairs_at(row.wrapping_add(at), left);
            let out = out.wrapping_add(at / 32 * apart);
            _mm512_mask_storeu_epi32(out.cast(), mask((left + 1) / 2), words);
        }
    }
}

/// Writes a panel of `width` columns from rows `stride` apart: word p of all columns, then word
/// p + 1. The operand has `cols` columns; the rest of the panel becomes zero.
///
/// # Safety
/// The processor must have AVX-512F and, with `BF16`, AVX-512BW and AVX-512 BF16. `from` must be valid
/// for reading `min(cols, width)` elements of each of k rows, and `out` for writing `width` words for
/// each word along k (k words, with `BF16` `ceil(k / 2)`). `width` must be a multiple of 16 and `out`
/// aligned to 64 bytes.
#[inline]
pub unsafe fn panel<const BF16: bool>(
    from: *const f32,
    stride: usize,
    k: usize,
    cols: usize,
    width: usize,
    out: *mut u32,
) {
    // SAFETY: the caller guarantees the features and the pointers.
    unsafe {
        if BF16 {
            panel_bf16(from, stride, k, cols, width, out)
        } else {
            panel_f32(from, stride, k, cols, width, out)
        }
    }
}

/// Prefetches a row's part of a panel.
#[inline(always)]
fn prefetch_row(row: *const f32, width: usize) {
    (0..width).step_by(16).for_each(|at| prefetch(row.wrapping_add(at)));
}

/// Prefetches `lines` cache lines of each of the sixteen rows that come after the sixteen from `row` on. A transpose reads a
/// line of each of sixteen rows, then the next line of each, and waits for the second-level cache otherwise.
#[inline(always)]
fn prefetch_next_rows(row: *const f32, stride: usize, lines: usize) {
    (ROWS_AHEAD..ROWS_AHEAD + 16).for_each(|r| prefetch_row(row.wrapping_add(r * stride), 16 * lines));
}

/// A panel of f32 words.
///
/// # Safety
/// As [`panel`] without `BF16`.
#[target_feature(enable = "avx512f")]
unsafe fn panel_f32(from: *const f32, stride: usize, k: usize, cols: usize, width: usize, out: *mut u32) {
    for p in 0..k {
        prefetch_row(from.wrapping_add((p + ROWS_AHEAD) * stride), width);
        for j in (0..width).step_by(16) {
            let mask = mask(cols as isize - j as isize);
            // SAFETY: lanes from `cols` on are masked and not read; `out` has `width` words per p.
            unsafe {
                let row = _mm512_maskz_loadu_ps(mask, from.wrapping_add(p * stride + j));
                _mm512_store_ps(out.add(p * width + j).cast(), row);
            }
        }
    }
}

/// A panel of pairs of bf16.
///
/// # Safety
/// As [`panel`] with `BF16`.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn panel_bf16(from: *const f32, stride: usize, k: usize, cols: usize, width: usize, out: *mut u32) {
    for p in 0..k.div_ceil(2) {
        for row in [2 * p, 2 * p + 1] {
            prefetch_row(from.wrapping_add((row + ROWS_AHEAD) * stride), width);
        }
        for j in (0..width).step_by(16) {
            // SAFETY: lanes from `cols` on, and the missing row of an odd k, are masked and not read; `out` has `width` words
            // per pair.
            unsafe {
                let first = from.wrapping_add(2 * p * stride + j);
                let words = pairs_of_lines(first, stride, k - 2 * p, mask(cols as isize - j as isize));
                _mm512_store_si512(out.add(p * width + j).cast(), words);
            }
        }
    }
}

/// Sixteen pairs of bf16, of what stands below each other in two lines. The second line is zero if `left` is 1, and both are
/// if it is 0.
///
/// # Safety
/// The processor must have AVX-512F, AVX-512BW and AVX-512 BF16, and the lanes of the mask must be valid for reading in each
/// of the first `left` lines.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn pairs_of_lines(first: *const f32, stride: usize, left: usize, mask: __mmask16) -> __m512i {
    let mut order = [0u16; 32];
    for (lane, slot) in order.iter_mut().enumerate() {
        *slot = (lane / 2 + lane % 2 * 16) as u16;
    }
    let of_line = |line: usize| if line < left { mask } else { 0 };
    // SAFETY: masked lanes are not read.
    unsafe {
        let low = _mm512_maskz_loadu_ps(of_line(0), first);
        let high = _mm512_maskz_loadu_ps(of_line(1), first.wrapping_add(stride));
        _mm512_permutexvar_epi16(_mm512_loadu_si512(order.as_ptr().cast()), rounded(high, low))
    }
}

/// Writes pairs of bf16 of a transpose: column i of `from` becomes row i, of `length` words, in blocks of sixteen words of
/// sixteen rows.
///
/// # Safety
/// The processor must have AVX-512F, AVX-512BW and AVX-512 BF16. `from` must be valid for reading `rows` elements of each of k
/// lines (`stride` apart), and `out` for writing `length` words for each row of whole blocks. `length` must be a multiple of 16 and at
/// least `ceil(k / 2)`, and `out` aligned to 64 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub unsafe fn rows_of_transpose(
    from: *const f32,
    stride: usize,
    k: usize,
    rows: usize,
    length: usize,
    out: *mut u32,
) {
    for at in (0..length).step_by(16) {
        for i in (0..rows).step_by(16) {
            let mut block = [_mm512_setzero_si512(); 16];
            // SAFETY: rows from `rows` on are masked, lines from k on are not read; `out` has `length` words per row.
            unsafe {
                for (p, words) in block.iter_mut().enumerate() {
                    let line = 2 * (at + p);
                    let first = from.wrapping_add(line * stride + i);
                    let mask = mask(rows as isize - i as isize);
                    *words = pairs_of_lines(first, stride, k.saturating_sub(line), mask);
                }
                turn(&mut block);
                *out.add(i * length + at * 16).cast() = block;
            }
        }
    }
}

/// Writes a panel of `width` columns from the transpose: row i of `from` becomes column i.
///
/// # Safety
/// The processor must have AVX-512F and, with `BF16`, AVX-512BW and AVX-512 BF16. `from` must be valid
/// for reading k elements of each of `min(rows, width)` rows (`stride` apart), and `out` for writing `width`
/// words for each word along k (k words, with `BF16` `ceil(k / 2)`). `width` must be a multiple of 16 and `out`
/// aligned to 64 bytes.
#[inline]
pub unsafe fn transposed<const BF16: bool>(
    from: *const f32,
    stride: usize,
    k: usize,
    rows: usize,
    width: usize,
    out: *mut u32,
) {
    // SAFETY: the caller guarantees the features and the pointers.
    unsafe {
        if BF16 {
            transposed_bf16(from, stride, k, rows, width, out)
        } else {
            transposed_f32::<false>(from, stride, k, rows, width, out)
        }
    }
}

/// A panel of f32 words from the transpose. Those that are `ROUNDED` to bf16 have the neighbours of each pair exchanged, and are
/// as many as make whole pairs.
///
/// # Safety
/// As [`transposed`] without `BF16`.
#[target_feature(enable = "avx512f")]
pub unsafe fn transposed_f32<const ROUNDED: bool>(
    from: *const f32,
    stride: usize,
    k: usize,
    rows: usize,
    width: usize,
    out: *mut u32,
) {
    for i in (0..width).step_by(16) {
        for at in (0..k).step_by(16) {
            let mut block = [_mm512_setzero_si512(); 16];
            // SAFETY: lanes from k on are masked and not read; `out` has `width` words per element of k.
            unsafe {
                prefetch_next_rows(from.wrapping_add(i * stride + at), stride, 1);
                for (r, line) in block.iter_mut().enumerate().take(rows.saturating_sub(i)) {
                    let mask = mask((k - at) as isize);
                    let row = from.wrapping_add((i + r) * stride + at);
                    *line = _mm512_castps_si512(_mm512_maskz_loadu_ps(mask, row));
                }
                turn(&mut block);
                let all = if ROUNDED { k.next_multiple_of(2) } else { k };
                for p in 0..16.min(all - at) {
                    let out = out.add((at + p) * width + i);
                    let line = if ROUNDED { rounded_in_f32(block[p ^ 1]) } else { block[p] };
                    _mm512_store_si512(out.cast(), line);
                }
            }
        }
    }
}

/// A panel of pairs of bf16 from the transpose.
///
/// # Safety
/// As [`transposed`] with `BF16`.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn transposed_bf16(
    from: *const f32,
    stride: usize,
    k: usize,
    rows: usize,
    width: usize,
    out: *mut u32,
) {
    for i in (0..width).step_by(16) {
        for at in (0..k).step_by(32) {
            let mut block = [_mm512_setzero_si512(); 16];
            // SAFETY: lanes from k on are masked and not read; `out` has `width` words per pair.
            unsafe {
                prefetch_next_rows(from.wrapping_add(i * stride + at), stride, 2);
                for (r, line) in block.iter_mut().enumerate().take(rows.saturating_sub(i)) {
                    *line = pairs_at(from.wrapping_add((i + r) * stride + at), (k - at) as isize);
                }
                turn(&mut block);
                for (p, &line) in block.iter().enumerate().take((k - at).div_ceil(2)) {
                    _mm512_store_si512(out.add((at / 2 + p) * width + i).cast(), line);
                }
            }
        }
    }
}

/// Transposes 16 x 16 words by exchanging ever larger off-diagonal blocks.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
fn turn(block: &mut [__m512i; 16]) {
    exchange::<1>(block);
    exchange::<2>(block);
    exchange::<4>(block);
    exchange::<8>(block);
}

/// Exchanges the off-diagonal blocks of `S` x `S` words.
///
/// # Safety
/// The processor must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
fn exchange<const S: usize>(block: &mut [__m512i; 16]) {
    let (mut low, mut high) = ([0u32; 16], [0u32; 16]);
    for lane in 0..16 {
        // Numbers below 16 select a lane of the first register, the others a lane of the second.
        (low[lane], high[lane]) = if lane & S == 0 {
            (lane as u32, (lane + S) as u32)
        } else {
            ((16 + lane - S) as u32, (16 + lane) as u32)
        };
    }
    // SAFETY: both arrays have 64 bytes.
    let (low, high) =
        unsafe { (_mm512_loadu_si512(low.as_ptr().cast()), _mm512_loadu_si512(high.as_ptr().cast())) };
    for i in (0..16).filter(|i| i & S == 0) {
        let (first, second) = (block[i], block[i + S]);
        block[i] = _mm512_permutex2var_epi32(first, low, second);
        block[i + S] = _mm512_permutex2var_epi32(first, high, second);
    }
}
