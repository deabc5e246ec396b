//! Memory that is needed soon. A prefetch never faults, wherever it points; where a processor has no instruction for it, nothing
//! happens.

use std::ptr::NonNull;

/// Asks for a line in the first-level cache. A panel does not fit into that cache, but no product was faster with the second-level
/// cache asked for.
#[inline(always)]
pub fn prefetch(at: *const f32) {
    // SAFETY: a prefetch never faults.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Asks for a line in the second-level cache.
#[inline(always)]
fn prefetch_near(at: *const f32) {
    // SAFETY: as above.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// A part of an operand that is needed next: its rows are prefetched tile by tile, so that they are in cache when they are converted.
pub struct Ahead {
    from: *const f32,
    /// Elements between rows.
    stride: usize,
    rows: usize,
    /// Cache lines of a row.
    lines: usize,
    /// Over how many tiles the rows are spread, and at which of them this is.
    tiles: usize,
    tile: usize,
    /// The next row to prefetch.
    row: usize,
}

impl Ahead {
    /// Rows of so many elements, `stride` apart, over so many tiles.
    pub const fn new(from: *const f32, stride: usize, [rows, length]: [usize; 2], tiles: usize) -> Self {
        Self { from, stride, rows, lines: length.div_ceil(16), tiles, tile: 0, row: 0 }
    }

    /// Prefetches one tile's share of the rows.
    #[inline]
    pub fn prefetch(&mut self) {
        self.tile += 1;
        let end = self.rows.min(self.rows * self.tile / self.tiles);
        for row in self.row..end {
            let row = self.from.wrapping_add(row * self.stride);
            (0..self.lines).for_each(|line| prefetch(row.wrapping_add(16 * line)));
        }
        self.row = end;
    }
}

/// Memory that is prefetched little by little, so that prefetches do not wait for each other.
pub struct Gradually {
    at: *const f32,
    step: usize,
}

impl Gradually {
    /// From a place on, `step` f32 at a time. Where there is no place, a line that is in cache is asked for again and again, which
    /// costs less than to ask whether there is one.
    #[inline(always)]
    pub const fn from(place: Option<NonNull<f32>>, step: usize, in_cache: *const f32) -> Self {
        match place {
            Some(place) => Self { at: place.as_ptr(), step },
            None => Self { at: in_cache, step: 0 },
        }
    }

    #[inline(always)]
    pub fn prefetch(&mut self) {
        prefetch_near(self.at);
        self.at = self.at.wrapping_add(self.step);
    }
}
