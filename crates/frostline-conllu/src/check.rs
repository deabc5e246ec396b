//! What level 1 of the UD validator asks of a row and of the order of rows.
//!
//! Owns the rules, not the walking: `cursor` calls it line by line. It refuses to correct anything.

use std::collections::BTreeMap;

use crate::{
    fault::{FaultKind, Quote},
    id::Id,
    row::{Column, Row},
    work,
};

/// What to check beyond level 1, which is always checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checks {
    /// Also the values of UPOS, FEATS, HEAD, DEPS and MISC.
    pub typed: bool,
    /// Also that every line is in Unicode normal form C.
    pub nfc: bool,
}

/// A fault within a line: where it starts, in bytes from the line's start, and what it is.
pub(crate) type Found = (usize, FaultKind);

/// Checks the characters of a ten-column row that holds something other than plain ASCII.
pub(crate) fn spaces(row: &Row<'_>, mut tell: impl FnMut(Found)) {
    for column in Column::ALL {
        let value = row.get(column).unwrap_or_default();
        let at = value.as_ptr() as usize - row.text.as_ptr() as usize;
        if let Some((offset, kind)) = space(column, value, row.is_range()) {
            tell((at + offset, kind));
        }
    }
}

/// The first white-space fault of a column, the gravest kind first.
fn space(column: Column, value: &str, range: bool) -> Option<Found> {
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

/// The empty columns of a row.
pub(crate) fn empties(row: &Row<'_>, mut tell: impl FnMut(Found)) {
    for column in Column::ALL {
        if let Some("") = row.get(column) {
            let at = if column == Column::Id { 0 } else { row.tabs[column as usize - 1] as usize + 1 };
            tell((at, FaultKind::EmptyColumn { column }));
        }
    }
}

/// Follows the IDs of one sentence.
#[derive(Default)]
pub(crate) struct Order {
    /// The last word seen.
    words: u32,
    /// The highest word that a range covers.
    covered: u32,
    /// The last empty node after the word `words`.
    minor: u32,
    /// Whether a row before may have been any word: the next one is taken at its word.
    lost: bool,
    /// The range seen since the last word, if any.
    open: Option<(u32, u32)>,
    /// First to last word of every range seen; filled only once ranges come out of order.
    ranges: BTreeMap<u32, u32>,
}

impl Order {
    /// The fault of `id` at this place, if any; the walk goes on from `id` either way, so that one
    /// gap is one fault. `rows` are those before it.
    #[inline]
    pub(crate) fn step(&mut self, id: Id, rows: &[Row<'_>]) -> Option<FaultKind> {
        match id {
            Id::Word(found) => {
                let expected = self.words.saturating_add(1);
                self.words = found;
                self.minor = 0;
                self.open = None;
                let lost = std::mem::take(&mut self.lost) && found > expected;
                (found != expected && !lost).then_some(FaultKind::WordOrder { found, expected })
            }
            Id::Range(first, last) => self.range(first, last, rows),
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

    /// A row could not be read: what it was is not known.
    pub(crate) fn lose(&mut self) {
        self.lost = true;
    }

    fn range(&mut self, first: u32, last: u32, rows: &[Row<'_>]) -> Option<FaultKind> {
        if last < first {
            return Some(FaultKind::RangeReversed { first, last });
        }
        self.open = Some((first, last));
        let before = self.overlapped(first, last, rows);
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

    /// A range before this one that shares a word with it.
    fn overlapped(&mut self, first: u32, last: u32, rows: &[Row<'_>]) -> Option<(u32, u32)> {
        if first > self.covered && self.ranges.is_empty() {
            return None;
        }
        if self.ranges.is_empty() {
            work::add(rows.len());
            let ids = rows.iter().filter(|row| row.is_range()).filter_map(Row::key);
            self.ranges.extend(ids.filter_map(|id| match id {
                Id::Range(first, last) if first <= last => Some((first, last)),
                _ => None,
            }));
        }
        let before = self.ranges.range(..=last).next_back().map(|(&a, &b)| (a, b));
        self.ranges.insert(first, last);
        before.filter(|&(_, end)| end >= first)
    }

    /// The last word that a range covers.
    pub(crate) fn covered(&self) -> u32 {
        self.covered
    }

    /// Whether some range reaches past the last word; asked at the end of the sentence.
    pub(crate) fn unfinished(&self) -> Option<u32> {
        (self.covered > self.words).then_some(self.words)
    }
}

/// White space as the validator sees it at the ends of a column: what Unicode says, and four more
/// control characters. Within a column it goes by Unicode alone.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}
