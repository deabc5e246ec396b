//! The transpose of squares of words, so that neither side is read or written a cache line per element.

/// Words of a side.
pub const SIDE: usize = 8;

/// Transposes a square of words: `from` has rows `stride` apart, `out` has rows `across` apart.
///
/// # Safety
/// Both pointers must be valid for [`SIDE`] words in each of as many such rows. With `FMA`, an x86 processor must have AVX2.
#[inline(always)]
pub unsafe fn turn<const FMA: bool>(from: *const f32, stride: usize, out: *mut u32, across: usize) {
    #[cfg(target_arch = "x86_64")]
    if FMA {
        // SAFETY: the caller guarantees both.
        return unsafe { avx2(from, stride, out, across) };
    }
    for p in 0..SIDE {
        for row in 0..SIDE {
            // SAFETY: the caller guarantees the pointers.
            unsafe { *out.add(p * across + row) = (*from.add(row * stride + p)).to_bits() };
        }
    }
}

/// See [`turn`].
///
/// # Safety
/// As there, on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(from: *const f32, stride: usize, out: *mut u32, across: usize) {
    use core::arch::x86_64::*;

    // SAFETY: the caller guarantees the pointers.
    let rows: [__m256; SIDE] =
        std::array::from_fn(|r| unsafe { _mm256_loadu_ps(from.wrapping_add(r * stride)) });
    let mut pairs = [_mm256_setzero_ps(); SIDE];
    for r in (0..SIDE).step_by(2) {
        pairs[r] = _mm256_unpacklo_ps(rows[r], rows[r + 1]);
        pairs[r + 1] = _mm256_unpackhi_ps(rows[r], rows[r + 1]);
    }
    let mut fours = [_mm256_setzero_ps(); SIDE];
    for half in [0, 4] {
        for (r, side) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
            let (first, second) = (pairs[half + side], pairs[half + side + 2]);
            fours[half + r] = match r % 2 {
                0 => _mm256_shuffle_ps::<0x44>(first, second),
                _ => _mm256_shuffle_ps::<0xee>(first, second),
            };
        }
    }
    for r in 0..4 {
        let low = _mm256_permute2f128_ps::<0x20>(fours[r], fours[4 + r]);
        let high = _mm256_permute2f128_ps::<0x31>(fours[r], fours[4 + r]);
        // SAFETY: the caller guarantees the pointers.
        unsafe {
            _mm256_storeu_ps(out.wrapping_add(r * across).cast(), low);
            _mm256_storeu_ps(out.wrapping_add((r + 4) * across).cast(), high);
        }
    }
}
