//! Labelled sentences: `sentence TAB label`, one to a line, as in GLUE's SST-2.
//!
//! Owns reading such a file and checking the shape of its lines. It refuses to change a sentence
//! (GLUE's own end with a blank, and that stays) and to ask what a label means.

use crate::fault::{Fault, FaultKind, Quote};

/// The first line of GLUE's files with labels.
const HEADER: &str = "sentence\tlabel";

/// The first line of GLUE's files without labels.
const UNLABELLED: &str = "index\tsentence";

/// One sentence and what it is labelled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelledSentence<'a> {
    /// The sentence as it stands, white space at its ends included.
    pub text: &'a str,
    /// The label as it stands: `1`.
    pub label: &'a str,
    /// Its text line, from 1.
    pub line: usize,
    /// The bytes it was read from, line feed included.
    pub raw: &'a str,
}

/// Sentences of a file; see [`parse_labelled`].
pub struct LabelledSentences<'a> {
    text: &'a str,
    header: &'a str,
    at: usize,
    line: usize,
}

/// Reads labelled sentences strictly. A first line `sentence TAB label` is the file's header and
/// no sentence. The header and the raw bytes of all sentences, laid end to end, are the text.
///
/// # Errors
/// Each item is the [`Fault`] of its line where it has one: a byte order mark, a carriage return, a
/// blank line, more or fewer than two columns, a sentence that is empty or white space, a label
/// that is empty or has white space at its ends, GLUE's header of a file without labels.
pub fn parse_labelled(text: &str) -> LabelledSentences<'_> {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    let is_header = first.strip_suffix('\n').unwrap_or(first) == HEADER;
    let header = if is_header { first } else { "" };
    LabelledSentences { text, header, at: header.len(), line: 1 + usize::from(is_header) }
}

impl<'a> LabelledSentences<'a> {
    /// The header line, line feed included; empty where there is none.
    pub fn header(&self) -> &'a str {
        self.header
    }
}

impl<'a> Iterator for LabelledSentences<'a> {
    type Item = Result<LabelledSentence<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let raw = self.text[self.at..].split_inclusive('\n').next()?;
        let text = raw.strip_suffix('\n').unwrap_or(raw);
        let (line, start) = (self.line, self.at);
        self.at += raw.len();
        self.line += 1;
        let read = columns(text, line == 1);
        Some(read.map(|(text, label)| LabelledSentence { text, label, line, raw }).map_err(|(at, kind)| {
            let column = text[..at].chars().count() + 1;
            Fault { line, column, byte: start + at, sent_id: None, kind }
        }))
    }
}

/// Sentence and label of a line, or what is wrong with it and at which byte.
fn columns(line: &str, is_first: bool) -> Result<(&str, &str), (usize, FaultKind)> {
    if is_first && line.starts_with('\u{feff}') {
        return Err((0, FaultKind::ByteOrderMark));
    }
    if let Some(at) = memchr::memchr(b'\r', line.as_bytes()) {
        return Err((at, FaultKind::CarriageReturn));
    }
    if line.is_empty() {
        return Err((0, FaultKind::LabelledBlank));
    }
    if is_first && line == UNLABELLED {
        return Err((0, FaultKind::LabelledWithoutLabels));
    }
    let (text, label) = match line.split_once('\t') {
        Some((text, label)) if !label.contains('\t') => (text, label),
        _ => return Err((0, FaultKind::LabelledColumns { found: line.split('\t').count() })),
    };
    if text.trim().is_empty() {
        return Err((0, FaultKind::LabelledText));
    }
    let label_at = text.len() + 1;
    if label.is_empty() {
        return Err((label_at, FaultKind::LabelledLabel));
    }
    if label.trim() != label {
        return Err((label_at, FaultKind::LabelledSpace { found: Quote::new(label) }));
    }
    Ok((text, label))
}
