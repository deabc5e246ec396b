//! Memory that is needed soon. A prefetch never faults, wherever it points; where a processor has no instruction for it, nothing
//! happens.

/// f32 of a cache line.
pub const LINE: usize = 16;

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

/// A part of an operand that is needed next: its rows are prefetched while tiles are multiplied, so that they are in cache when they
/// are converted.
pub struct Ahead {
    from: *const f32,
    /// Elements between rows.
    stride: usize,
    /// Cache lines of a row, and of all of them.
    lines: [usize; 2],
    /// How many lines were prefetched.
    done: usize,
}

impl Ahead {
    /// Rows of so many elements, `stride` apart.
    pub const fn new(from: *const f32, stride: usize, [rows, length]: [usize; 2]) -> Self {
        let lines = length.div_ceil(LINE);
        Self { from, stride, lines: [lines, rows * lines], done: 0 }
    }

    /// The next lines, of which so many are prefetched.
    #[inline]
    pub fn next(&mut self, count: usize) -> Option<OperandLines> {
        let [lines, all] = self.lines;
        if self.done >= all {
            return None;
        }
        let (row, line) = (self.done / lines, self.done % lines);
        self.done += count;
        let at = self.from.wrapping_add(row * self.stride + line * LINE);
        Some(OperandLines {
            at,
            step: LINE,
            jump: self.stride.wrapping_sub((lines - 1) * LINE),
            left: lines - line,
            lines,
        })
    }

    /// Prefetches a share of the lines, for one of so many tiles.
    #[inline]
    pub fn prefetch(&mut self, tiles: usize) {
        let count = self.lines[1].div_ceil(tiles);
        if let Some(mut lines) = self.next(count) {
            (0..count).for_each(|_| lines.prefetch());
        }
    }
}

/// Lines of an operand's rows in their order.
#[derive(Clone, Copy)]
pub struct OperandLines {
    at: *const f32,
    step: usize,
    /// From a row's last line to the next row.
    jump: usize,
    /// Lines that are left of the row.
    left: usize,
    lines: usize,
}

impl OperandLines {
    /// A line that is in cache, again and again: this costs less than to ask whether there are others.
    #[inline(always)]
    pub const fn in_cache(at: *const f32) -> Self {
        Self { at, step: 0, jump: 0, left: 0, lines: 0 }
    }

    #[inline(always)]
    pub fn prefetch(&mut self) {
        prefetch(self.at);
        self.left = self.left.wrapping_sub(1);
        let is_last = self.left == 0;
        self.at = self.at.wrapping_add(if is_last { self.jump } else { self.step });
        self.left = if is_last { self.lines } else { self.left };
    }
}
