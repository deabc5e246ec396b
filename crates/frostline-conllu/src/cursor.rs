//! Walks over bytes and builds one sentence after another.
//!
//! Slices and streams, strict and lenient reading all use this one parser. It never stops early: each byte ends
//! up in the raw bytes of some sentence.

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::{
    bytes_examined,
    check::{Checks, RowOrder, bad_id, check_white_space, is_space, report_empty_columns},
    earlier_sentences::SeenIds,
    fault::{Fault, FaultKind},
    id::Id,
    metadata,
    nfc::find_denormalised,
    quote::CodePoints,
    row::{RowKind, TokenRow},
    scan::{RowShape, Scanner, TABS},
    sentence::Sentence,
    value_checks,
};

/// Bytes of a byte order mark.
const BOM: usize = '\u{feff}'.len_utf8();

/// A position in a text, with facts about the bytes after it.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    scanner: Scanner<'a>,
    /// Bytes that are valid UTF-8, and their start.
    valid: (&'a str, usize),
    at: usize,
    line: usize,
    /// Bytes of the text before `bytes`.
    before: usize,
    checks: Checks,
    /// Capacity for rows: about as many as the previous sentence had.
    likely: usize,
    /// Facts about the sentences before.
    pub(crate) seen: SeenIds,
}

/// A sentence being read.
struct Draft<'a> {
    sentence: Sentence<'a>,
    order: RowOrder,
    lines: u32,
    /// The row of the range that ends last, for the fault that shows only at the sentence's end.
    furthest: Option<usize>,
    /// Whether some line was not UTF-8, and so may have been a row.
    unreadable: bool,
}

impl<'a> Cursor<'a> {
    /// Over all of a text (`line` 1, `before` 0) or over a piece of one.
    pub(crate) fn new(bytes: &'a [u8], line: usize, before: usize, checks: Checks) -> Self {
        let scanner = Scanner::new(bytes);
        Cursor {
            bytes,
            scanner,
            valid: ("", 0),
            at: 0,
            line,
            before,
            checks,
            likely: 8,
            seen: SeenIds::default(),
        }
    }

    /// Creates a cursor over a text that is valid UTF-8.
    pub(crate) fn of_str(text: &'a str, checks: Checks) -> Self {
        Cursor { valid: (text, 0), ..Cursor::new(text.as_bytes(), 1, 0, checks) }
    }

    /// Returns the line reached, from 1.
    pub(crate) fn line_number(&self) -> usize {
        self.line
    }

    /// Returns the next sentence with its faults; `None` at the end.
    pub(crate) fn sentence(&mut self) -> Option<Sentence<'a>> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let start = self.at;
        let mut draft = Draft {
            sentence: Sentence { line: self.line, byte: self.before + start, ..Sentence::default() },
            order: RowOrder::default(),
            lines: 0,
            furthest: None,
            unreadable: false,
        };
        draft.sentence.rows.reserve(self.likely);
        let mut closed = false;
        let mut tabs = [0; TABS];
        while let Some(shape) = self.scanner.scan_line(self.at, &mut tabs) {
            let from = self.at;
            self.at = shape.next;
            self.line += 1;
            let blank = self.add_line(&mut draft, from, shape, &tabs);
            draft.lines += 1;
            if blank {
                closed = true;
                break;
            }
        }
        draft.sentence.raw = &self.bytes[start..self.at];
        self.likely = (draft.sentence.rows.len() + 4).min(64);
        self.finish(&mut draft, closed);
        Some(draft.sentence)
    }

    /// Adds one line to the draft; returns true for the blank line that ends the sentence.
    #[inline]
    fn add_line(&mut self, draft: &mut Draft<'a>, from: usize, shape: RowShape, tabs: &[u32; TABS]) -> bool {
        let Some(text) = self.text(from, shape.end) else {
            self.not_utf8(draft, from, shape.end);
            return false;
        };
        let first = text.as_bytes().first().copied().unwrap_or(b'\n');
        if first == b'#' {
            self.add_comment(draft, from, text, shape.odd);
            return false;
        }
        if first == b'\n' {
            return true;
        }
        if shape.odd || shape.empty {
            return self.odd_line(draft, from, text, shape, *tabs);
        }
        self.row(draft, from, text, shape.tabs, tabs);
        false
    }

    /// Handles a line with white space, non-ASCII characters or an empty column.
    fn odd_line(
        &self,
        draft: &mut Draft<'a>,
        mut from: usize,
        mut text: &'a str,
        shape: RowShape,
        mut tabs: [u32; TABS],
    ) -> bool {
        bytes_examined::add(text.len());
        if text.chars().all(is_space) {
            self.report_blank_line(draft, from, text, shape);
            return true;
        }
        if from == 0
            && self.before == 0
            && let Some(rest) = text.strip_prefix('\u{feff}')
        {
            self.record_fault(draft, from, text, 0, FaultKind::ByteOrderMark);
            (from, text) = (from + BOM, rest);
            tabs = tabs.map(|at| at.wrapping_sub(BOM as u32));
            if text.starts_with('#') {
                self.add_comment(draft, from, text, true);
                return false;
            }
        }
        text = self.without_return(draft, from, text);
        self.row(draft, from, text, shape.tabs, &tabs);
        let row = *draft.sentence.rows.last().expect("just pushed");
        if row.columns == 10 {
            bytes_examined::add(text.len());
            let mut found = Vec::new();
            report_empty_columns(&row, |fault| found.push(fault));
            check_white_space(&row, |fault| found.push(fault));
            for (at, kind) in found {
                self.record_fault(draft, from, text, at, kind);
            }
        }
        self.check_characters(draft, from, text);
        false
    }

    /// Reports a line of white space. One if a sentence should start is reported at its end.
    #[cold]
    fn report_blank_line(&self, draft: &mut Draft<'a>, from: usize, text: &'a str, shape: RowShape) {
        let surplus =
            draft.sentence.rows.is_empty() && draft.sentence.comments.is_empty() && !draft.unreadable;
        let kind = match (text, shape.next > shape.end) {
            ("\r", true) => FaultKind::CarriageReturn,
            _ if surplus => return,
            (_, true) => FaultKind::BlankWithSpace,
            (_, false) => FaultKind::FinalSpace,
        };
        self.record_fault(draft, from, text, 0, kind);
    }

    fn add_comment(&self, draft: &mut Draft<'a>, from: usize, mut text: &'a str, odd: bool) {
        if odd {
            text = self.without_return(draft, from, text);
            self.check_characters(draft, from, text);
        }
        if !draft.sentence.rows.is_empty() {
            self.record_fault(draft, from, text, 0, FaultKind::CommentInside);
        }
        draft.sentence.comments.push(text);
    }

    /// Pushes a row, and reports faults of its number of columns and its ID.
    #[inline]
    fn row(&self, draft: &mut Draft<'a>, from: usize, text: &'a str, count: usize, tabs: &[u32; TABS]) {
        let mut row = TokenRow {
            text,
            tabs: *tabs,
            below: draft.lines,
            columns: (count + 1).min(11) as u8,
            kind: RowKind::Unknown,
        };
        if text.len() > u32::MAX as usize {
            row.columns = 1;
            draft.sentence.rows.push(row);
            return self.record_fault(draft, from, text, 0, FaultKind::LineTooLong { bytes: text.len() });
        }
        let id = Id::parse(row.id());
        bytes_examined::add(row.id().len());
        match id {
            Some(id) => {
                row.kind = match id {
                    Id::Word(_) => RowKind::Word,
                    Id::Range(..) => RowKind::Range,
                    Id::Empty(..) => RowKind::Empty,
                };
                let covered = draft.order.last_covered_word();
                if let Some(kind) = draft.order.check_next_id(id, &draft.sentence.rows) {
                    self.record_fault(draft, from, text, 0, kind);
                }
                if draft.order.last_covered_word() > covered {
                    draft.furthest = Some(draft.sentence.rows.len());
                }
            }
            // A line with only the byte order mark, which has been reported.
            None if text.is_empty() => draft.order.mark_unreadable_row(),
            None => {
                let (at, kind) = bad_id(&row);
                self.record_fault(draft, from, text, at, kind);
                draft.order.mark_unreadable_row();
            }
        }
        if row.columns != 10 && (id.is_some() || row.columns > 1) {
            let kind = FaultKind::ColumnCount { found: count + 1 };
            self.record_fault(draft, from, text, 0, kind);
        }
        draft.sentence.rows.push(row);
    }

    /// Reports the faults that show only at the end of a sentence, and sets `sent_id` in all faults.
    #[inline]
    fn finish(&mut self, draft: &mut Draft<'a>, closed: bool) {
        if draft.sentence.rows.is_empty() && !draft.unreadable {
            self.without_rows(draft, closed);
        } else if !closed {
            self.report_missing_end(draft);
        }
        if let (Some(words), Some(index)) = (draft.order.words_before_open_range(), draft.furthest) {
            let row = draft.sentence.rows[index];
            if let Some(Id::Range(first, last)) = row.key() {
                let from = self.offset_of(row.text);
                draft.lines = row.below;
                self.record_fault(
                    draft,
                    from,
                    row.text,
                    0,
                    FaultKind::RangeUnfinished { first, last, words },
                );
            }
        }
        if self.checks.typed || self.checks.metadata {
            self.level_2(draft);
        }
        if !draft.sentence.faults.is_empty() {
            late_comments(&mut draft.sentence);
            draft.sentence.faults.sort_by_key(|fault| (fault.line, fault.byte));
        }
        if !draft.sentence.faults.is_empty() || !draft.sentence.warnings.is_empty() {
            let id: Option<Arc<str>> = draft.sentence.sent_id().map(Into::into);
            let Sentence { faults, warnings, .. } = &mut draft.sentence;
            for fault in faults.iter_mut().chain(warnings) {
                fault.sent_id.clone_from(&id);
            }
        }
    }

    /// Reports a sentence that has no rows: a surplus blank line, or comments alone.
    #[cold]
    fn without_rows(&self, draft: &mut Draft<'a>, closed: bool) {
        let kind = match (draft.sentence.comments.is_empty(), closed) {
            (true, true) => FaultKind::ExtraBlankLine,
            (false, true) => FaultKind::NoWords,
            (false, false) => FaultKind::CommentsAtEnd,
            (true, false) => return,
        };
        draft.lines = 0;
        self.record_fault(draft, draft.sentence.byte - self.before, "", 0, kind);
    }

    /// Reports a missing blank line at the end of the text, at the place where it should be.
    #[cold]
    fn report_missing_end(&self, draft: &mut Draft<'a>) {
        if draft.sentence.rows.iter().all(|row| row.text.is_empty()) && !draft.unreadable {
            return; // only a byte order mark, which has been reported
        }
        let tail = draft.sentence.raw.rsplit(|&b| b == b'\n').next().unwrap_or_default();
        bytes_examined::add(tail.len());
        let line = if tail.is_empty() { self.line } else { self.line - 1 };
        let column = String::from_utf8_lossy(tail).chars().count() + 1;
        let missing = 1 + u8::from(!tail.is_empty());
        let (byte, kind) = (self.before + self.bytes.len(), FaultKind::NoFinalBlankLine { missing });
        draft.sentence.faults.push(Fault { line, column, byte, sent_id: None, kind });
    }

    /// Runs the optional checks of level 2, once all lines are read. Checks that compare lines are skipped if a
    /// fault of level 1 makes the lines uncertain.
    fn level_2(&mut self, draft: &mut Draft<'a>) {
        let of_characters = |fault: &Fault| matches!(fault.kind, FaultKind::NotNfc { .. });
        let sound = draft.sentence.faults.iter().all(of_characters);
        let mut found = Vec::new();
        if self.checks.typed {
            value_checks::check(&draft.sentence, sound, &mut self.seen, |index, (at, kind)| {
                let row = &draft.sentence.rows[index];
                found.push((row.below, row.text, at, kind));
            });
        }
        if self.checks.metadata && sound {
            metadata::check(&draft.sentence, &mut self.seen, |below, line, at, kind| {
                found.push((below, line, at, kind));
            });
        }
        for (below, line, at, kind) in found {
            draft.lines = below;
            self.record_fault(draft, self.offset_of(line), line, at, kind);
        }
    }

    /// Returns the offset of a piece of the bytes.
    fn offset_of(&self, piece: &str) -> usize {
        piece.as_ptr() as usize - self.bytes.as_ptr() as usize
    }

    /// Returns the line as text, or `None` if it is not UTF-8.
    #[inline]
    fn text(&mut self, from: usize, end: usize) -> Option<&'a str> {
        let (text, start) = self.valid;
        if end <= start + text.len() && from >= start {
            return text.get(from - start..end - start);
        }
        self.extend_valid_utf8(from);
        let (text, start) = self.valid;
        text.get(from - start..end - start)
    }

    /// Finds how far the bytes from `from` on are UTF-8. Each call starts where the previous one
    /// stopped or on the next line, so that all calls together read each byte about once.
    #[cold]
    fn extend_valid_utf8(&mut self, from: usize) {
        let rest = &self.bytes[from..];
        let text = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => {
                let (valid, _) = rest.split_at(error.valid_up_to());
                std::str::from_utf8(valid).unwrap_or_default()
            }
        };
        bytes_examined::add(text.len());
        self.valid = (text, from);
    }

    #[cold]
    fn not_utf8(&self, draft: &mut Draft<'a>, from: usize, end: usize) {
        let line = &self.bytes[from..end];
        bytes_examined::add(line.len());
        let bad = std::str::from_utf8(line).map_or_else(|e| e.valid_up_to(), |_| 0);
        let text = std::str::from_utf8(&line[..bad]).unwrap_or_default();
        let byte = self.before + from + bad;
        draft.unreadable = true;
        draft.order.mark_unreadable_row();
        self.record_fault(draft, from, text, bad, FaultKind::NotUtf8 { byte });
    }

    /// Removes a carriage return from the line's end, and reports one anywhere on the line.
    fn without_return(&self, draft: &mut Draft<'a>, from: usize, text: &'a str) -> &'a str {
        bytes_examined::add(text.len());
        if let Some(at) = memchr::memchr(b'\r', text.as_bytes()) {
            let last = at + 1 == text.len() && self.bytes.get(from + at + 1) == Some(&b'\n');
            let kind = if last { FaultKind::CarriageReturn } else { FaultKind::LoneCarriageReturn };
            self.record_fault(draft, from, text, at, kind);
        }
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// Checks a line for U+FFFD and, if that check is on, for normal form C.
    #[inline]
    fn check_characters(&self, draft: &mut Draft<'a>, from: usize, text: &'a str) {
        bytes_examined::add(text.len());
        if let Some(at) = find_replacement_character(text) {
            self.record_fault(draft, from, text, at, FaultKind::ReplacementCharacter);
        }
        bytes_examined::add(text.len());
        if self.checks.nfc
            && let Some((at, piece)) = find_denormalised(text)
        {
            let (found, expected) = (CodePoints::new(piece.chars()), CodePoints::new(piece.nfc()));
            self.record_fault(draft, from, text, at, FaultKind::NotNfc { found, expected });
        }
    }

    /// Records a fault at byte `at` of the line that starts at `from`.
    #[cold]
    fn record_fault(&self, draft: &mut Draft<'a>, from: usize, text: &str, at: usize, kind: FaultKind) {
        bytes_examined::add(at);
        let fault = Fault {
            line: draft.sentence.line + draft.lines as usize,
            column: text.get(..at).map_or(0, |head| head.chars().count()) + 1,
            byte: self.before + from + at,
            sent_id: None,
            kind,
        };
        if fault.kind.is_warning() {
            draft.sentence.warnings.push(fault);
        } else {
            draft.sentence.faults.push(fault);
        }
    }
}

/// Returns the place of the first U+FFFD of a line.
#[inline]
fn find_replacement_character(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(0xef, bytes).find(|&at| bytes[at..].starts_with("\u{fffd}".as_bytes()))
}

/// Gives the comments after the last row their own fault: what to do about them differs.
#[cold]
fn late_comments(sentence: &mut Sentence<'_>) {
    let last = sentence.rows.last().map_or(0, |row| sentence.line + row.below as usize);
    for fault in &mut sentence.faults {
        if fault.line > last && fault.kind == FaultKind::CommentInside {
            fault.kind = FaultKind::CommentAfter;
        }
    }
}
