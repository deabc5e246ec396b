//! Splits one sentence's subwords into windows and finds the window that labels each word. It works on
//! word indices only, without ids and special tokens.

use std::ops::Range;

use crate::LabelPolicy;

/// Returns the subword range of every word with subwords, in order: `(word, range)`.
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

/// Returns the subwords of a word that should carry its label.
pub(crate) fn label_subwords(policy: LabelPolicy, range: &Range<usize>) -> Range<usize> {
    match policy {
        LabelPolicy::First => range.start..range.start + 1,
        LabelPolicy::Last => range.end - 1..range.end,
        LabelPolicy::All => range.clone(),
    }
}

/// Windows of at most `room` subwords over `len` subwords, each sharing `stride` with the previous
/// one; the last ends at `len`. There is always at least one, possibly empty.
///
/// # Source
/// The same ranges that Hugging Face `tokenizers` returns as overflow when it truncates on the right.
pub(crate) fn cut_windows(len: usize, room: usize, stride: usize) -> Vec<Range<usize>> {
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

/// Returns the window that labels a word: the window with most of its label positions, then with the most
/// context on the shorter side, then the earlier one.
pub(crate) fn best_window(windows: &[Range<usize>], labelled: &Range<usize>, len: usize) -> usize {
    let first = windows.partition_point(|w| w.end <= labelled.start);
    let mut best = (first, (0, 0));
    for (i, window) in windows.iter().enumerate().skip(first) {
        if window.start >= labelled.end {
            break;
        }
        let kept = labelled.start.max(window.start)..labelled.end.min(window.end);
        // At the sentence's own ends no context is cut off.
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
        assert_eq!(cut_windows(10, 4, 1), [0..4, 3..7, 6..10]);
        assert_eq!(cut_windows(11, 4, 0), [0..4, 4..8, 8..11]);
        assert_eq!(cut_windows(4, 4, 3), vec![0..4; 1]);
        assert_eq!(cut_windows(0, 4, 3), vec![0..0; 1]);
    }

    #[test]
    fn a_word_is_labelled_where_its_context_is_widest() {
        let windows = cut_windows(16, 8, 4); // 0..8, 4..12, 8..16
        assert_eq!(best_window(&windows, &(5..6), 16), 0);
        assert_eq!(best_window(&windows, &(6..7), 16), 1);
        assert_eq!(best_window(&windows, &(15..16), 16), 2);
        assert_eq!(best_window(&windows, &(4..12), 16), 1, "all of it in one window");
    }
}
