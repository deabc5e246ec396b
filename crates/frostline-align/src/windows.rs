//! Owns the cutting of one sentence's subwords into windows, and who speaks in which. Refuses
//! special tokens and ids: it sees only which word each subword belongs to.

use std::ops::Range;

use crate::LabelPolicy;

/// The subword range of every word that has one, in order: `(word, range)`.
pub(crate) fn word_ranges(words: &[u32]) -> Vec<(u32, Range<usize>)> {
    let mut ranges: Vec<(u32, Range<usize>)> = Vec::new();
    for (at, &word) in words.iter().enumerate() {
        match ranges.last_mut() {
            Some((last, range)) if *last == word => range.end = at + 1,
            _ => ranges.push((word, at..at + 1)),
        }
    }
    ranges
}

/// The subwords of a word that ought to speak for it.
pub(crate) fn speakers(policy: LabelPolicy, range: &Range<usize>) -> Range<usize> {
    match policy {
        LabelPolicy::First => range.start..range.start + 1,
        LabelPolicy::Last => range.end - 1..range.end,
        LabelPolicy::All => range.clone(),
    }
}

/// Windows of at most `room` subwords over `len` subwords, each sharing `stride` with the one
/// before; the last ends at `len`. There is always at least one, perhaps empty.
///
/// # Source
/// The same ranges as Hugging Face `tokenizers` gives as overflow when it truncates on the right.
pub(crate) fn cut(len: usize, room: usize, stride: usize) -> Vec<Range<usize>> {
    debug_assert!(stride < room);
    let mut windows = Vec::new();
    let mut start = 0;
    loop {
        let end = (start + room).min(len);
        windows.push(start..end);
        if end == len {
            return windows;
        }
        start += room - stride;
    }
}

/// For each word the window that scores it: the one that holds most of its speaking subwords, then
/// the one with the widest context on the narrower side, then the earlier one.
pub(crate) fn assign(windows: &[Range<usize>], speaking: &Range<usize>, len: usize) -> usize {
    let first = windows.partition_point(|w| w.end <= speaking.start);
    let mut best = (first, (0, 0));
    for (i, window) in windows.iter().enumerate().skip(first) {
        if window.start >= speaking.end {
            break;
        }
        let kept = speaking.start.max(window.start)..speaking.end.min(window.end);
        // The sentence's own ends cut off nothing.
        let left = if window.start == 0 { len } else { kept.start - window.start };
        let right = if window.end == len { len } else { window.end - kept.end };
        let merit = (kept.len(), left.min(right));
        if i == first || merit > best.1 {
            best = (i, merit);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_overlap_by_the_stride_and_reach_the_end() {
        assert_eq!(cut(10, 4, 1), [0..4, 3..7, 6..10]);
        assert_eq!(cut(11, 4, 0), [0..4, 4..8, 8..11]);
        assert_eq!(cut(4, 4, 3), vec![0..4; 1]);
        assert_eq!(cut(0, 4, 3), vec![0..0; 1]);
    }

    #[test]
    fn a_word_goes_where_its_context_is_widest() {
        let windows = cut(16, 8, 4); // 0..8, 4..12, 8..16
        assert_eq!(assign(&windows, &(5..6), 16), 0);
        assert_eq!(assign(&windows, &(6..7), 16), 1);
        assert_eq!(assign(&windows, &(15..16), 16), 2);
        assert_eq!(assign(&windows, &(4..12), 16), 1, "all of it in one window");
    }
}
