//! The rules of level 1 of the UD validator for a row and for the order of rows.
//!
//! `cursor` applies them line by line. They report faults and correct nothing.

use std::collections::BTreeMap;

use crate::{
    bytes_examined,
    fault::FaultKind,
    id::Id,
    quote::{CodePoints, Quote, is_hidden},
    row::{Column, TokenRow},
};

/// Checks in addition to the other rules of level 1, which are always checked. All three together are level 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checks {
    /// The values of the columns, which columns ranges and empty nodes may fill, the tree of heads and
    /// the enhanced graph.
    pub typed: bool,
    /// The comments `sent_id`, `parallel_id`, `text`, `newdoc` and `newpar`, and that the words make up
    /// the text.
    pub metadata: bool,
    /// Check that every line is in Unicode normal form C.
    pub nfc: bool,
}

/// A fault within a line: its start, in bytes from the line's start, and its kind.
pub(crate) type FoundFault = (usize, FaultKind);

/// Checks the white space in a ten-column row that contains anything but printable ASCII.
pub(crate) fn check_white_space(row: &TokenRow<'_>, mut report: impl FnMut(FoundFault)) {
    for column in Column::ALL {
        let value = row.get(column).unwrap_or_default();
        let at = value.as_ptr() as usize - row.text.as_ptr() as usize;
        if let Some((offset, kind)) = white_space_fault(column, value, row.is_range()) {
            report((at + offset, kind));
        }
    }
}

/// Returns the first white-space fault of a column, the most serious kind first.
fn white_space_fault(column: Column, value: &str, range: bool) -> Option<FoundFault> {
    let first = value.find(is_space)?;
    let found = Quote::new(value);
    let inner = value.find(char::is_whitespace);
    match column {
        Column::Form | Column::Lemma if range => {
            if let Some(at) = inner {
                return Some((at, FaultKind::RangeSpace { column, found }));
            }
        }
        Column::Form | Column::Lemma | Column::Misc => {}
        _ => {
            if let Some(at) = inner {
                return Some((at, FaultKind::Space { column, found }));
            }
        }
    }
    if first == 0 {
        return Some((0, FaultKind::EdgeSpace { column, found }));
    }
    let trimmed = value.trim_end_matches(is_space);
    if trimmed.len() < value.len() {
        return Some((trimmed.len(), FaultKind::EdgeSpace { column, found }));
    }
    let mut before = false;
    for (at, c) in value.char_indices().skip_while(|&(at, _)| at < first) {
        if before && c.is_whitespace() {
            return Some((at, FaultKind::DoubleSpace { column, found }));
        }
        before = c.is_whitespace();
    }
    None
}

/// The empty columns of a row, except for the ID.
pub(crate) fn report_empty_columns(row: &TokenRow<'_>, mut report: impl FnMut(FoundFault)) {
    for column in &Column::ALL[1..] {
        if let Some("") = row.get(*column) {
            let at = row.tabs[*column as usize - 1] as usize + 1;
            report((at, FaultKind::EmptyColumn { column: *column }));
        }
    }
}

/// Returns the fault of a row whose first column, or whole line if it has no tabs, is no ID.
pub(crate) fn bad_id(row: &TokenRow<'_>) -> FoundFault {
    let id = row.id();
    let found = Quote::new(id);
    let start = id.trim_start_matches(|c| is_space(c) || is_hidden(None, c));
    let kind = if id.is_empty() {
        FaultKind::EmptyId
    } else if start.starts_with('#') {
        FaultKind::CommentIndented { found: Quote::new(&id[..id.len() - start.len()]) }
    } else if Id::is_too_large(id) {
        FaultKind::NumberTooLarge { column: Column::Id, found }
    } else if row.columns == 1 && id.contains(is_space) {
        FaultKind::NoTabs { found }
    } else if row.columns > 1 && !id.is_ascii() && id.chars().all(|c| is_id_like(c) || !c.is_ascii()) {
        let characters = CodePoints::new(id.chars().filter(|c| !c.is_ascii()));
        FaultKind::IdCharacters { found, characters }
    } else {
        FaultKind::BadId { found }
    };
    (0, kind)
}

fn is_id_like(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '.')
}

/// Tracks the IDs of one sentence.
#[derive(Default)]
pub(crate) struct RowOrder {
    /// The last word seen.
    words: u32,
    /// The highest word that a range covers.
    covered: u32,
    /// The last empty node after the word `words`.
    minor: u32,
    /// Whether an earlier row was unreadable and may have been any word: the number of the next word
    /// is then accepted.
    lost: bool,
    /// The range seen since the last word, if any.
    open: Option<(u32, u32)>,
    /// First to last word of every range seen; filled only once ranges are out of order.
    ranges: BTreeMap<u32, u32>,
}

impl RowOrder {
    /// Returns the fault of `id` at this place, if any. Counting continues from `id` either way, so that one
    /// gap is one fault. `rows` are the rows before it.
    #[inline]
    pub(crate) fn check_next_id(&mut self, id: Id, rows: &[TokenRow<'_>]) -> Option<FaultKind> {
        match id {
            Id::Word(found) => {
                let expected = self.words.saturating_add(1);
                self.words = found;
                self.minor = 0;
                self.open = None;
                let lost = std::mem::take(&mut self.lost) && found > expected;
                (found != expected && !lost).then_some(FaultKind::WordOrder { found, expected })
            }
            Id::Range(first, last) => self.check_range(first, last, rows),
            Id::Empty(major, minor) => {
                let (expected_major, expected_minor) = (self.words, self.minor.saturating_add(1));
                self.minor = minor;
                if (major != expected_major || minor != expected_minor) && !self.lost {
                    let order = FaultKind::EmptyNodeOrder { major, minor, expected_major, expected_minor };
                    return Some(order);
                }
                self.open.map(|(first, last)| FaultKind::EmptyNodeInRange { major, minor, first, last })
            }
        }
    }

    /// Notes that a row could not be read, so its ID is unknown.
    pub(crate) fn mark_unreadable_row(&mut self) {
        self.lost = true;
    }

    fn check_range(&mut self, first: u32, last: u32, rows: &[TokenRow<'_>]) -> Option<FaultKind> {
        if last < first {
            return Some(FaultKind::RangeReversed { first, last });
        }
        self.open = Some((first, last));
        let before = self.find_overlapped_range(first, last, rows);
        self.covered = self.covered.max(last);
        if first <= self.words {
            Some(FaultKind::RangeMisplaced { first, last, word: self.words })
        } else {
            before.map(|before| FaultKind::RangeOverlap {
                first,
                last,
                before_first: before.0,
                before_last: before.1,
            })
        }
    }

    /// Returns an earlier range that shares a word with this one.
    fn find_overlapped_range(&mut self, first: u32, last: u32, rows: &[TokenRow<'_>]) -> Option<(u32, u32)> {
        if first > self.covered && self.ranges.is_empty() {
            return None;
        }
        if self.ranges.is_empty() {
            bytes_examined::add(rows.len());
            let ids = rows.iter().filter(|row| row.is_range()).filter_map(TokenRow::key);
            self.ranges.extend(ids.filter_map(|id| match id {
                Id::Range(first, last) if first <= last => Some((first, last)),
                _ => None,
            }));
        }
        let before = self.ranges.range(..=last).next_back().map(|(&a, &b)| (a, b));
        self.ranges.insert(first, last);
        before.filter(|&(_, end)| end >= first)
    }

    /// Returns the last word that a range covers.
    pub(crate) fn last_covered_word(&self) -> u32 {
        self.covered
    }

    /// Returns the number of words if some range extends past the last one; for the end of the sentence.
    pub(crate) fn words_before_open_range(&self) -> Option<u32> {
        (self.covered > self.words).then_some(self.words)
    }
}

/// White space as the validator defines it at the ends of a column: Unicode white space and four
/// control characters. Within a column only Unicode white space counts.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}
