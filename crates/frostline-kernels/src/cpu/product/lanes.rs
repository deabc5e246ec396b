//! Engines in plain Rust over sixteen lanes: for AVX2 two registers, for NEON four, and as many as there are elsewhere.
//!
//! A pair of bf16 is multiplied as the instruction `vdpbf16ps` does it: the second element's product is added first, then the
//! first one's, each with one rounding to nearest; numbers below the normal ones are zero before and after. So words are
//! rounded f32, with the neighbours of each pair exchanged, and a tile multiplies them like any other.
//!
//! The sums of a tile without such small numbers are the product's innermost loop: for AVX2 in `avx2.rs`.
//!
//! # Source
//! Intel, *64 and IA-32 Architectures Software Developer's Manual*, `VDPBF16PS` and `VCVTNE2PS2BF16`.

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::blocked::{Engine, LeftLayout, MR, ROWS_AHEAD, StripTile, with_rows};
use crate::cpu::fma::fma;
use crate::cpu::prefetch::prefetch;
use crate::cpu::square::{SIDE, turn};

/// Columns of a strip.
const LANES: usize = 16;
/// Rows that are multiplied with one strip after the other: with a pass over k of 448 words 168 KiB, about half of a usual
/// second-level cache.
const ROWS: usize = 96;

/// Defines an engine from the bodies below, compiled with these target features.
macro_rules! engine {
    ($(#[$meta:meta])* $name:ident, FMA = $fma:literal, PREFETCH_EVERY = $every:expr, $R:ident => $sums:path $(, $features:literal)?) => {
        $(#[$meta])*
        pub struct $name;

        // SAFETY: the bodies do what the trait describes.
        unsafe impl Engine for $name {
            const STRIP: usize = LANES;
            const TILE_ROWS: usize = MR;
            const ROWS: usize = ROWS;
            const WORDS_PER_PAIR: usize = 2;
            const PLAIN: LeftLayout = LeftLayout::Rows;
            const TRANSPOSED: LeftLayout = LeftLayout::Abreast(MR);
            const AT_ONCE: usize = 2;
            const PREFETCH_EVERY: Option<usize> = $every;

            $(#[target_feature(enable = $features)])?
            unsafe fn convert(from: *const f32, k: usize, rows: usize, out: *mut u32) {
                for row in 0..rows {
                    // SAFETY: the caller guarantees the pointers.
                    unsafe { convert(from.add(row * k), k, out.add(row * words::<true>(k))) }
                }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn panel<const BF16: bool>(
                from: *const f32, stride: usize, k: usize, cols: usize, width: usize, out: *mut u32,
            ) {
                // SAFETY: the caller guarantees the pointers.
                unsafe { panel::<BF16>(from, stride, k, cols, width, out) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn transposed<const BF16: bool>(
                from: *const f32, stride: usize, k: usize, rows: usize, out: *mut u32,
            ) {
                // SAFETY: the caller guarantees the pointers.
                unsafe { transposed::<BF16, $fma>(from, stride, k, rows, out) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn rows<const BF16: bool>(
                from: *const f32, stride: usize, k: usize, rows: usize, out: *mut u32,
            ) {
                // SAFETY: the caller guarantees the pointers.
                unsafe { rows_of_transpose::<BF16>(from, stride, k, rows, out) }
            }

            $(#[target_feature(enable = $features)])?
            unsafe fn tile<const BF16: bool>(tile: &StripTile) {
                // SAFETY: the caller guarantees the pointers.
                with_rows!(tile, $R => unsafe {
                    let sums = match BF16 && tile.flush {
                        true => sums::<$R, true, $fma>(tile),
                        false => $sums(tile),
                    };
                    write(tile, &sums);
                })
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
engine! {
    /// Processors with AVX2 and FMA.
    Avx2, FMA = true, PREFETCH_EVERY = Some(avx2::PREFETCH_EVERY), R => avx2::sums::<R>, "avx2,fma"
}

#[cfg(target_arch = "aarch64")]
engine! {
    /// Every 64-bit processor of Arm.
    Neon, FMA = true, PREFETCH_EVERY = None, R => sums::<R, false, true>
}

engine! {
    /// Any processor: multiply-adds that round once are computed in f64.
    Portable, FMA = false, PREFETCH_EVERY = None, R => sums::<R, false, false>
}

/// Rounds to the nearest bf16, to the even one of two; what is below the normal numbers becomes zero.
#[inline(always)]
fn bf16(value: f32) -> u32 {
    let bits = flushed(value).to_bits();
    // A NaN keeps its sign and its upper bits, and becomes quiet.
    let rounded =
        if value.is_nan() { bits | 0x40_0000 } else { bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) };
    rounded & 0xffff_0000
}

/// The number, or a zero of its sign where it is below the normal ones.
#[inline(always)]
fn flushed(value: f32) -> f32 {
    let keep = if value.abs() < f32::MIN_POSITIVE { 0x8000_0000 } else { 0xffff_ffff };
    f32::from_bits(value.to_bits() & keep)
}

/// The element of k that is word p: with `BF16`, the neighbours of a pair are exchanged.
#[inline(always)]
const fn element<const BF16: bool>(p: usize) -> usize {
    if BF16 { p ^ 1 } else { p }
}

/// Words along k.
#[inline(always)]
pub(super) const fn words<const BF16: bool>(k: usize) -> usize {
    if BF16 { k.next_multiple_of(2) } else { k }
}

/// A value as a word.
#[inline(always)]
fn word<const BF16: bool>(value: f32) -> u32 {
    if BF16 { bf16(value) } else { value.to_bits() }
}

/// See [`Engine::convert`].
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn convert(row: *const f32, k: usize, out: *mut u32) {
    let all = words::<true>(k);
    for p in (0..all).step_by(LANES) {
        // SAFETY: elements from k on are not read; the caller guarantees the rest.
        unsafe {
            let values = lanes_at(row.wrapping_add(p), k.saturating_sub(p)).map(bf16);
            let values: [u32; LANES] = std::array::from_fn(|lane| values[lane ^ 1]);
            if p + LANES <= all {
                *out.add(p).cast() = values;
            } else {
                for (lane, value) in values.iter().enumerate().take(all - p) {
                    *out.add(p + lane) = *value;
                }
            }
        }
    }
}

/// See [`Engine::panel`].
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn panel<const BF16: bool>(
    from: *const f32,
    stride: usize,
    k: usize,
    cols: usize,
    width: usize,
    out: *mut u32,
) {
    for p in 0..words::<BF16>(k) {
        let row = element::<BF16>(p);
        for j in (0..width).step_by(LANES) {
            // SAFETY: only elements below `cols` of rows below k are read; `out` has `width` words per p.
            unsafe {
                let left = if row < k { cols.saturating_sub(j) } else { 0 };
                let values = lanes_at(from.wrapping_add(row * stride + j), left);
                *out.add(p * width + j).cast::<[u32; LANES]>() = values.map(word::<BF16>);
            }
        }
    }
}

/// The values from `p` on, with zeros from element `left` on.
///
/// # Safety
/// `p` must be valid for reading `min(left, LANES)` elements.
#[inline(always)]
unsafe fn lanes_at(p: *const f32, left: usize) -> [f32; LANES] {
    // SAFETY: the caller guarantees the pointer.
    unsafe {
        if left >= LANES {
            return *p.cast();
        }
        let mut out = [0.0; LANES];
        for (j, out) in out.iter_mut().enumerate().take(left) {
            *out = *p.add(j);
        }
        out
    }
}

/// See [`Engine::transposed`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn transposed<const BF16: bool, const FMA: bool>(
    from: *const f32,
    stride: usize,
    k: usize,
    rows: usize,
    out: *mut u32,
) {
    let rows = rows.min(LANES);
    let all = words::<BF16>(k);
    for start in (0..all).step_by(SIDE) {
        let here = SIDE.min(all - start);
        if start.is_multiple_of(LANES) {
            // The rows of the next strip.
            (LANES..2 * LANES).for_each(|row| prefetch(from.wrapping_add(row * stride + start)));
        }
        for first in (0..LANES).step_by(SIDE) {
            let from = from.wrapping_add(first * stride + start);
            let out = out.wrapping_add(start * LANES + first);
            if start + SIDE <= k && first + SIDE <= rows {
                // SAFETY: the whole square is inside both.
                unsafe { turn::<FMA>(from, stride, out, LANES) };
                for p in (0..SIDE).step_by(2).filter(|_| BF16) {
                    // SAFETY: the square's words were just written.
                    unsafe {
                        let pair = [0, 1].map(|at| out.add((p + at) * LANES).cast::<[f32; SIDE]>());
                        let rounded = pair.map(|line| (*line).map(bf16));
                        *pair[0].cast() = rounded[1];
                        *pair[1].cast() = rounded[0];
                    }
                }
                continue;
            }
            for p in 0..here {
                let element = element::<BF16>(p);
                for row in 0..SIDE {
                    let is_there = first + row < rows && start + element < k;
                    // SAFETY: only elements below `rows` and k are read; `out` has LANES words for each word along k.
                    unsafe {
                        let value = if is_there { *from.add(row * stride + element) } else { 0.0 };
                        *out.add(p * LANES + row) = word::<BF16>(value);
                    }
                }
            }
        }
    }
}

/// See [`Engine::rows`].
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn rows_of_transpose<const BF16: bool>(
    from: *const f32,
    stride: usize,
    k: usize,
    rows: usize,
    out: *mut u32,
) {
    let all = words::<BF16>(k);
    for p in 0..all {
        let element = element::<BF16>(p);
        for at in (0..rows).step_by(LANES) {
            prefetch(from.wrapping_add((p + ROWS_AHEAD) * stride + at));
        }
        for first in (0..rows).step_by(MR) {
            let from = from.wrapping_add(element * stride + first);
            let here = if element < k { MR.min(rows - first) } else { 0 };
            // SAFETY: only elements below `rows` of lines below k are read; `out` has MR words for each word along k and each
            // part of MR rows.
            unsafe {
                let mut values = [0f32; MR];
                if here == MR {
                    values = *from.cast();
                } else {
                    for (r, value) in values.iter_mut().enumerate().take(here) {
                        *value = *from.add(r);
                    }
                }
                *out.add(first * all + p * MR).cast::<[u32; MR]>() = values.map(word::<BF16>);
            }
        }
    }
}

/// The sums of a tile: `R` rows of a strip's columns.
///
/// # Safety
/// As [`Engine::tile`].
#[inline(always)]
unsafe fn sums<const R: usize, const FLUSH: bool, const FMA: bool>(tile: &StripTile) -> [[f32; LANES]; R] {
    let mut sums = [[0f32; LANES]; R];
    let (mut a, mut b) = (tile.a, tile.b);
    for _ in 0..tile.length {
        // SAFETY: the caller guarantees the pointers.
        let right = unsafe { *b.cast::<[f32; LANES]>() };
        for (r, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let left = unsafe { f32::from_bits(*a.wrapping_add(r * tile.across)) };
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = fma::<FMA>(left, right, *sum);
                if FLUSH {
                    *sum = flushed(*sum);
                }
            }
        }
        a = a.wrapping_add(tile.along);
        b = b.wrapping_add(LANES);
    }
    sums
}

/// Writes a tile's sums.
///
/// # Safety
/// As [`Engine::tile`].
#[inline(always)]
unsafe fn write<const R: usize>(tile: &StripTile, sums: &[[f32; LANES]; R]) {
    for (r, sums) in sums.iter().enumerate() {
        // SAFETY: the caller guarantees the pointers.
        unsafe {
            let to = tile.c.wrapping_add(r * tile.n);
            let before = if tile.add { to.cast_const() } else { tile.bias };
            if tile.cols == LANES {
                let before = *before.cast::<[f32; LANES]>();
                let mut out = *sums;
                for (sum, before) in out.iter_mut().zip(before) {
                    *sum += before;
                }
                *to.cast::<[f32; LANES]>() = out;
            } else {
                for (j, sum) in sums.iter().enumerate().take(tile.cols) {
                    *to.add(j) = sum + *before.add(j);
                }
            }
        }
    }
}
