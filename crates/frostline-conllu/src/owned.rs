//! A sentence that owns its bytes, so that several sentences of a stream can be kept at a time.
//!
//! It stores a copy of the bytes and the positions of the rows in it. Nothing is parsed again: the
//! results of parsing are kept, and returned as the same borrowing view.

use std::ops::Range;

use crate::{
    fault::Fault,
    row::{RowKind, TokenRow},
    scan::TABS,
    sentence::Sentence,
};

/// A sentence with its own copy of its bytes; see [`Sentence::detach`].
#[derive(Debug, Clone)]
pub struct OwnedSentence {
    raw: Box<[u8]>,
    line: usize,
    byte: usize,
    comments: Vec<Range<usize>>,
    rows: Vec<TextPlace>,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

/// A row whose text is a range of the bytes.
#[derive(Debug, Clone)]
struct TextPlace {
    text: Range<usize>,
    tabs: [u32; TABS],
    below: u32,
    columns: u8,
    kind: RowKind,
}

impl Sentence<'_> {
    /// Returns a copy that outlives the text it was read from.
    pub fn detach(&self) -> OwnedSentence {
        let start = self.raw.as_ptr() as usize;
        let place = |text: &str| {
            let from = text.as_ptr() as usize - start;
            from..from + text.len()
        };
        let row = |row: &TokenRow<'_>| TextPlace {
            text: place(row.text),
            tabs: row.tabs,
            below: row.below,
            columns: row.columns,
            kind: row.kind,
        };
        OwnedSentence {
            raw: self.raw.into(),
            line: self.line,
            byte: self.byte,
            comments: self.comments.iter().map(|comment| place(comment)).collect(),
            rows: self.rows.iter().map(row).collect(),
            faults: self.faults.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

impl OwnedSentence {
    /// Returns the sentence as it was read.
    pub fn view(&self) -> Sentence<'_> {
        let text = |place: &Range<usize>| {
            std::str::from_utf8(&self.raw[place.clone()]).expect("rows and comments were read as text")
        };
        let row = |place: &TextPlace| TokenRow {
            text: text(&place.text),
            tabs: place.tabs,
            below: place.below,
            columns: place.columns,
            kind: place.kind,
        };
        Sentence {
            raw: &self.raw,
            line: self.line,
            byte: self.byte,
            comments: self.comments.iter().map(text).collect(),
            rows: self.rows.iter().map(row).collect(),
            faults: self.faults.clone(),
            warnings: self.warnings.clone(),
        }
    }
}
