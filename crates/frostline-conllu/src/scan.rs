//! Finds the tabs and line ends of a byte slice, 64 bytes at a time.
//!
//! This is the crate's only processor-specific code. It finds positions and reports no faults: its
//! only assumption about CoNLL-U is that tabs separate the columns of a line.

use crate::bytes_examined;

/// Number of tab positions that are kept for a line: nine of a well-formed row, and the tab that ends its tenth
/// column if there are more.
pub(crate) const TABS: usize = 10;

const BLOCK: usize = 64;

/// One bit per byte of a block.
#[derive(Clone, Copy, Default)]
struct Masks {
    tabs: u64,
    ends: u64,
    /// Spaces, control characters and everything outside ASCII: the characters of a row without any
    /// of these need not be examined.
    odd: u64,
}

/// The layout of one line.
#[derive(Clone, Copy)]
pub(crate) struct RowShape {
    /// If the line ends, before its line feed.
    pub(crate) end: usize,
    /// The start of the next line.
    pub(crate) next: usize,
    /// Number of tabs on the line, including tabs after the tenth.
    pub(crate) tabs: usize,
    /// Whether a byte of the line is a space, a control character or outside ASCII.
    pub(crate) odd: bool,
    /// Whether a column is empty: a tab comes first, last or right after another tab.
    pub(crate) empty: bool,
}

/// Walks over `bytes` line by line.
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    /// Start of the block that `masks` describes.
    base: usize,
    masks: Masks,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let masks = scan_block(bytes, 0);
        Scanner { bytes, base: 0, masks }
    }

    /// Returns the line that starts at `start`, which must be where the previous line ended. Writes the
    /// positions of its first ten tabs, relative to `start`, into `at`.
    #[inline]
    pub(crate) fn scan_line(&mut self, start: usize, at: &mut [u32; TABS]) -> Option<RowShape> {
        if start >= self.bytes.len() {
            return None;
        }
        let mut tabs = 0;
        let mut odd = 0;
        let mut empty = false;
        let mut after_tab = start;
        loop {
            let line_bits = self.masks.ends ^ self.masks.ends.wrapping_sub(1);
            let mut marks = self.masks.tabs & line_bits;
            odd |= self.masks.odd & line_bits;
            while marks != 0 {
                let position = self.base + marks.trailing_zeros() as usize;
                marks &= marks - 1;
                empty |= position == after_tab;
                after_tab = position + 1;
                if tabs < TABS {
                    at[tabs] = (position - start) as u32;
                }
                tabs += 1;
            }
            if self.masks.ends != 0 {
                let end = self.base + self.masks.ends.trailing_zeros() as usize;
                // `line_bits` includes the line end, so this clears the whole line from the masks.
                self.masks.tabs &= !line_bits;
                self.masks.odd &= !line_bits;
                self.masks.ends &= !line_bits;
                empty |= after_tab == end;
                return Some(RowShape { end, next: end + 1, tabs, odd: odd != 0, empty });
            }
            self.base += BLOCK;
            if self.base >= self.bytes.len() {
                let end = self.bytes.len();
                self.masks = Masks::default();
                empty |= after_tab == end;
                return Some(RowShape { end, next: end, tabs, odd: odd != 0, empty });
            }
            self.masks = scan_block(self.bytes, self.base);
        }
    }
}

#[inline]
fn scan_block(bytes: &[u8], base: usize) -> Masks {
    bytes_examined::add(BLOCK);
    let rest = bytes.get(base..).unwrap_or_default();
    if let Some(full) = rest.first_chunk::<BLOCK>() {
        return masks(full);
    }
    let mut padded = [b'.'; BLOCK];
    padded[..rest.len()].copy_from_slice(rest);
    masks(&padded)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "the crate's only unsafe code: see SAFETY")]
fn masks(block: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
    };
    let mut out = Masks::default();
    for (i, part) in block.as_chunks::<16>().0.iter().enumerate() {
        // SAFETY: every instruction here is SSE2, which every x86-64 processor has, and the load
        // reads the sixteen bytes of `part` and needs no alignment.
        let (tabs, ends, odd) = unsafe {
            let bits = |mask: __m128i| u64::from(_mm_movemask_epi8(mask) as u16);
            let bytes = _mm_loadu_si128(part.as_ptr().cast());
            (
                bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\t' as i8))),
                bits(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n' as i8))),
                // The comparison is signed, so every byte from 0x80 up counts as less, too.
                bits(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x21))),
            )
        };
        let shift = 16 * i;
        out.tabs |= tabs << shift;
        out.ends |= ends << shift;
        out.odd |= (odd & !tabs & !ends) << shift;
    }
    out
}

#[cfg(not(target_arch = "x86_64"))]
fn masks(block: &[u8; BLOCK]) -> Masks {
    masks_portable(block)
}

/// Returns the masks of a block on any processor; on x86-64 tests compare the two functions.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn masks_portable(block: &[u8; BLOCK]) -> Masks {
    let mut out = Masks::default();
    for (i, &byte) in block.iter().enumerate() {
        let tab = byte == b'\t';
        let end = byte == b'\n';
        out.tabs |= u64::from(tab) << i;
        out.ends |= u64::from(end) << i;
        out.odd |= u64::from(!tab && !end && (byte <= 0x20 || byte >= 0x80)) << i;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_masks_agree_on_every_byte() {
        for shift in 0..4u8 {
            let block: [u8; BLOCK] = std::array::from_fn(|i| shift * 64 + i as u8);
            let (a, b) = (masks(&block), masks_portable(&block));
            assert_eq!((a.tabs, a.ends, a.odd), (b.tabs, b.ends, b.odd));
        }
    }

    #[test]
    fn lines_agree_with_split() {
        let mut text = String::new();
        for i in 0..300 {
            text.push_str(&"ab\tc d\t".repeat(i % 13));
            text.push_str(&"x".repeat(i % 71));
            text.push('\n');
        }
        text.push_str("tail\tend");
        let mut scanner = Scanner::new(text.as_bytes());
        let (mut start, mut at) = (0, [0; TABS]);
        for line in text.split('\n') {
            let shape = scanner.scan_line(start, &mut at).expect("a line is left");
            assert_eq!(&text[start..shape.end], line);
            assert_eq!(shape.tabs, line.matches('\t').count());
            assert_eq!(shape.odd, line.contains(' '));
            assert_eq!(shape.empty, line.split('\t').any(str::is_empty));
            for (k, (position, _)) in line.match_indices('\t').take(TABS).enumerate() {
                assert_eq!(at[k] as usize, position);
            }
            start = shape.next;
        }
        assert!(scanner.scan_line(start, &mut at).is_none());
    }
}
