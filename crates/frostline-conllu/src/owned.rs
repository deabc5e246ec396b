//! A sentence that owns its bytes, so that several of a stream can be held at a time.
//!
//! Owns a copy and where its rows lie in it. It reads nothing again: what was found once is kept,
//! and handed out as the same borrowing view.

use std::ops::Range;

use crate::{
    fault::Fault,
    row::{Kind, Row},
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
    rows: Vec<Place>,
    faults: Vec<Fault>,
}

/// A row, its text as a place in the bytes.
#[derive(Debug, Clone)]
struct Place {
    text: Range<usize>,
    tabs: [u32; TABS],
    below: u32,
    columns: u8,
    kind: Kind,
}

impl Sentence<'_> {
    /// A copy that outlives the text it was read from.
    pub fn detach(&self) -> OwnedSentence {
        let start = self.raw.as_ptr() as usize;
        let place = |text: &str| {
            let from = text.as_ptr() as usize - start;
            from..from + text.len()
        };
        let row = |row: &Row<'_>| Place {
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
        }
    }
}

impl OwnedSentence {
    /// The sentence as it was read.
    pub fn view(&self) -> Sentence<'_> {
        let text = |place: &Range<usize>| {
            std::str::from_utf8(&self.raw[place.clone()]).expect("rows and comments were read as text")
        };
        let row = |place: &Place| Row {
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
        }
    }
}
