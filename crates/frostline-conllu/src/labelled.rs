//! Labelled sentences: `sentence TAB label`, one to a line, as in GLUE's SST-2.
//!
//! Reads such a file and checks the form of its lines. Sentences are returned unchanged (GLUE's end
//! with a space, which is kept), and labels are not interpreted.

use crate::{
    fault::{Fault, FaultKind},
    quote::Quote,
};

/// Names of a header's columns, in any case: GLUE has `sentence` and `label`, other sources have `text` and so
/// on. We know no file whose first sentence is one of these words with such a label.
const SENTENCE_COLUMN: [&str; 4] = ["sentence", "text", "utterance", "content"];
const LABEL_COLUMN: [&str; 5] = ["label", "labels", "class", "category", "target"];

fn is_header(line: &str) -> bool {
    let is_one = |names: &[&str], column: &str| names.iter().any(|name| name.eq_ignore_ascii_case(column));
    line.split_once('\t')
        .is_some_and(|(sentence, label)| is_one(&SENTENCE_COLUMN, sentence) && is_one(&LABEL_COLUMN, label))
}

/// The first line of GLUE's files without labels.
const UNLABELLED: &str = "index\tsentence";

/// One sentence and its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelledSentence<'a> {
    /// The sentence, including white space at its ends.
    pub text: &'a str,
    /// The label, such as `1`.
    pub label: &'a str,
    /// The number of its line in the text, from 1.
    pub line: usize,
    /// The bytes it was read from, including the line feed.
    pub raw: &'a str,
}

/// Sentences of a file; see [`parse_labelled`].
pub struct LabelledSentences<'a> {
    text: &'a str,
    header: &'a str,
    at: usize,
    line: usize,
}

/// Reads labelled sentences strictly. A first line such as `sentence TAB label` or `text TAB label` is the
/// file's header, not a sentence. The header and the raw bytes of all sentences, concatenated, are the text.
///
/// # Errors
/// An item is the [`Fault`] of its line, if there is one: a byte order mark, a carriage return, a blank line,
/// more or fewer than two columns, a sentence that is empty or white space, a label that is empty or has white
/// space at its ends, or the header of a GLUE file without labels.
pub fn parse_labelled(text: &str) -> LabelledSentences<'_> {
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    let is_header = is_header(first.strip_suffix('\n').unwrap_or(first));
    let header = if is_header { first } else { "" };
    LabelledSentences { text, header, at: header.len(), line: 1 + usize::from(is_header) }
}

impl<'a> LabelledSentences<'a> {
    /// Returns the header line, including its line feed; empty if there is none.
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
        let read = split_line(text, line == 1);
        Some(read.map(|(text, label)| LabelledSentence { text, label, line, raw }).map_err(|(at, kind)| {
            let column = text[..at].chars().count() + 1;
            Fault { line, column, byte: start + at, sent_id: None, kind }
        }))
    }
}

/// Returns the sentence and label of a line, or its fault and the fault's byte.
fn split_line(line: &str, is_first: bool) -> Result<(&str, &str), (usize, FaultKind)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_no_sentence_whatever_its_columns_are_called() {
        for header in ["sentence\tlabel", "text\tlabel", "Text\tLabel", "utterance\tclass"] {
            let text = format!("{header}\nice is good\tpos\n");
            let sentences = parse_labelled(&text);
            assert_eq!(sentences.header(), format!("{header}\n"));
            assert_eq!(sentences.count(), 1, "{header}");
        }
        for line in ["text\tpos", "label\ttext", "a text\tlabel"] {
            let text = format!("{line}\nice is good\tpos\n");
            assert_eq!(parse_labelled(&text).count(), 2, "{line}");
        }
    }
}
