//! IOB2 layers as Universal NER writes them: `number TAB form TAB tag TAB more`.
//!
//! Reads such a layer and checks that its tags are well formed. Callers join the layer to a
//! treebank: they match sentences by `sent_id` and words by position.

use std::sync::Arc;

use crate::{
    fault::{Fault, FaultKind},
    quote::Quote,
};

/// One word of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iob2Row<'a> {
    /// The word's number, from 1.
    pub id: &'a str,
    /// The word form.
    pub form: &'a str,
    /// `O`, `B-TYPE` or `I-TYPE`.
    pub tag: &'a str,
    /// The columns after the tag, unparsed; empty if there are none.
    pub rest: &'a str,
}

/// One sentence of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Iob2Sentence<'a> {
    /// The comment lines, including `#`.
    pub comments: Vec<&'a str>,
    /// The words.
    pub rows: Vec<Iob2Row<'a>>,
    /// The number of its first line in the text, from 1.
    pub line: usize,
    /// The bytes it was read from, including the blank line.
    pub raw: &'a str,
}

impl<'a> Iob2Sentence<'a> {
    /// Returns the value of `# sent_id = `.
    pub fn sent_id(&self) -> Option<&'a str> {
        self.meta("sent_id").map(str::trim_end)
    }

    /// Returns the value of `# text = `.
    pub fn text(&self) -> Option<&'a str> {
        self.meta("text")
    }

    /// Returns the entities, in order.
    pub fn entities(&self) -> impl Iterator<Item = Entity<'a>> + '_ {
        self.rows.iter().enumerate().filter_map(|(start, row)| {
            let kind = row.tag.strip_prefix("B-")?;
            let inside = self.rows[start + 1..].iter().take_while(|row| row.tag.starts_with("I-"));
            Some(Entity { kind, start, end: start + 1 + inside.count() })
        })
    }

    /// Returns the value of the first comment `# key = value`.
    pub fn meta(&self, key: &str) -> Option<&'a str> {
        self.comments.iter().find_map(|comment| crate::sentence::value_of(comment, key))
    }
}

/// A named entity: words `start..end`, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entity<'a> {
    /// The entity's type, the part of the tag after `B-`, such as `LOC`.
    pub kind: &'a str,
    /// The first word's index in the sentence's rows.
    pub start: usize,
    /// One past the last word's index.
    pub end: usize,
}

/// Sentences of a layer; see [`parse_iob2`].
pub struct Iob2Sentences<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

/// Reads an IOB2 layer strictly.
///
/// # Errors
/// An item is the first [`Fault`] of its sentence if there is one: a byte order mark, fewer than three
/// columns, an empty column, a number out of order, a tag that is not `O`, `B-TYPE` or `I-TYPE`, an `I-`
/// tag that continues no entity of its type, a comment after the first word, or a sentence without words.
pub fn parse_iob2(text: &str) -> Iob2Sentences<'_> {
    Iob2Sentences { text, at: 0, line: 1 }
}

impl<'a> Iterator for Iob2Sentences<'a> {
    type Item = Result<Iob2Sentence<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let mut sentence = Iob2Sentence { line: self.line, ..Iob2Sentence::default() };
        let mut fault = None;
        let start = self.at;
        for line in rest.split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            if !text.is_empty() && fault.is_none() {
                fault = sentence.add_line(text, self.line == 1).err().map(|(at, kind)| Fault {
                    line: self.line,
                    column: text[..at].chars().count() + 1,
                    byte: self.at + at,
                    sent_id: None,
                    kind,
                });
            }
            self.at += line.len();
            self.line += 1;
            if text.is_empty() {
                break;
            }
        }
        sentence.raw = &self.text[start..self.at];
        if sentence.rows.is_empty() && fault.is_none() {
            let (line, kind) = (sentence.line, FaultKind::NoWords);
            fault = Some(Fault { line, column: 1, byte: start, sent_id: None, kind });
        }
        let sent_id: Option<Arc<str>> = sentence.sent_id().map(Into::into);
        Some(fault.map_or(Ok(sentence), |fault| Err(Fault { sent_id, ..fault })))
    }
}

impl<'a> Iob2Sentence<'a> {
    fn add_line(&mut self, text: &'a str, is_first: bool) -> Result<(), (usize, FaultKind)> {
        if is_first && text.starts_with('\u{feff}') {
            return Err((0, FaultKind::ByteOrderMark));
        }
        // A row starts with its number, so a line that starts with `#` is a comment even if it has tabs.
        if text.starts_with('#') {
            self.comments.push(text);
            return if self.rows.is_empty() { Ok(()) } else { Err((0, FaultKind::CommentInside)) };
        }
        let mut columns = text.splitn(4, '\t');
        let (Some(id), Some(form), Some(tag)) = (columns.next(), columns.next(), columns.next()) else {
            let found = text.split('\t').count();
            return Err((0, FaultKind::Iob2Columns { found }));
        };
        let tag_at = id.len() + 1 + form.len() + 1;
        if let Some(at) = memchr::memchr(b'\r', text.as_bytes()) {
            return Err((at, FaultKind::CarriageReturn));
        }
        let expected = self.rows.len() + 1;
        if id.parse() != Ok(expected) || id.starts_with(['0', '+']) {
            return Err((0, FaultKind::Iob2Number { found: Quote::new(id), expected }));
        }
        if form.is_empty() {
            return Err((id.len() + 1, FaultKind::Iob2Form));
        }
        let before = self.rows.last().map_or("O", |row| row.tag);
        match tag.split_once('-') {
            _ if tag == "O" => {}
            Some(("B", kind)) if !kind.is_empty() => {}
            Some(("I", kind)) if !kind.is_empty() => {
                if before.split_once('-').is_none_or(|(_, open)| open != kind) {
                    let (found, before) = (Quote::new(tag), Quote::new(before));
                    return Err((tag_at, FaultKind::Iob2Orphan { found, before }));
                }
            }
            _ => return Err((tag_at, FaultKind::Iob2Tag { found: Quote::new(tag) })),
        }
        self.rows.push(Iob2Row { id, form, tag, rest: columns.next().unwrap_or_default() });
        Ok(())
    }
}
