//! What level 1 of the UD validator asks of a row and of the order of rows.
//!
//! Owns the rules, not the walking: `cursor` calls it line by line. It refuses to correct anything.

use crate::{
    fault::{FaultKind, Quote},
    id::Id,
    row::{Column, Row},
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
        if let Some((offset, kind)) = space(column, value) {
            tell((at + offset, kind));
        }
    }
}

/// The first white-space fault of a column, the gravest kind first.
fn space(column: Column, value: &str) -> Option<Found> {
    let first = value.find(char::is_whitespace)?;
    let found = Quote::new(value);
    if !matches!(column, Column::Form | Column::Lemma | Column::Misc) {
        return Some((first, FaultKind::Space { column, found }));
    }
    if first == 0 {
        return Some((0, FaultKind::EdgeSpace { column, found }));
    }
    let trimmed = value.trim_end_matches(char::is_whitespace);
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
    /// The last word covered by a range.
    covered: u32,
    /// The last empty node after the word `words`.
    minor: u32,
}

impl Order {
    /// The fault of `id` at this place, if any; the walk goes on from `id` either way, so that one
    /// gap is one fault.
    #[inline]
    pub(crate) fn step(&mut self, id: Id) -> Option<FaultKind> {
        match id {
            Id::Word(found) => {
                let expected = self.words.saturating_add(1);
                self.words = found;
                self.minor = 0;
                (found != expected).then_some(FaultKind::WordOrder { found, expected })
            }
            Id::Range(first, last) => self.range(first, last),
            Id::Empty(major, minor) => {
                let (expected_major, expected_minor) = (self.words, self.minor.saturating_add(1));
                self.minor = minor;
                (major != expected_major || minor != expected_minor).then_some(FaultKind::EmptyNodeOrder {
                    major,
                    minor,
                    expected_major,
                    expected_minor,
                })
            }
        }
    }

    fn range(&mut self, first: u32, last: u32) -> Option<FaultKind> {
        let expected = self.words.saturating_add(1);
        let previous = self.covered;
        if last <= first {
            return Some(FaultKind::RangeReversed { first, last });
        }
        self.covered = self.covered.max(last);
        if first <= previous {
            Some(FaultKind::RangeOverlap { first, last, previous })
        } else if first != expected {
            Some(FaultKind::RangeMisplaced { first, last, expected })
        } else {
            None
        }
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
