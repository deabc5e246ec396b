//! One sentence: its comments, its rows and its original bytes.
//!
//! This is the read-only view that callers work with. It borrows everything from the text.

use std::slice;

use nom::{
    IResult, Parser,
    bytes::complete::tag,
    character::complete::{char, space0},
    combinator::rest,
    sequence::preceded,
};

use crate::{fault::Fault, row::TokenRow};

/// A sentence that borrows from the text it was read from.
#[derive(Debug, Clone, Default)]
pub struct Sentence<'a> {
    pub(crate) raw: &'a [u8],
    pub(crate) line: usize,
    pub(crate) byte: usize,
    /// The comment lines, including `#`, without their line ends.
    pub comments: Vec<&'a str>,
    pub(crate) rows: Vec<TokenRow<'a>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) warnings: Vec<Fault>,
}

impl<'a> Sentence<'a> {
    /// The bytes it was read from, including its final blank line. Concatenating the raw bytes of
    /// all sentences that lenient reading yields gives the file.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Returns the number of its first line in the text, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the sentence's start in the text, in bytes from 0.
    pub fn byte(&self) -> usize {
        self.byte
    }

    /// Returns every row, in order: words, ranges and empty nodes. Lenient reading also yields rows whose ID
    /// has none of the three forms.
    pub fn rows(&self) -> slice::Iter<'_, TokenRow<'a>> {
        self.rows.iter()
    }

    /// Returns the syntactic words: rows whose ID is an integer.
    pub fn words(&self) -> impl Iterator<Item = &TokenRow<'a>> + Clone {
        self.rows.iter().filter(|row| row.is_word())
    }

    /// Returns the multiword ranges.
    pub fn ranges(&self) -> impl Iterator<Item = &TokenRow<'a>> + Clone {
        self.rows.iter().filter(|row| row.is_range())
    }

    /// Returns the empty nodes.
    pub fn empty_nodes(&self) -> impl Iterator<Item = &TokenRow<'a>> + Clone {
        self.rows.iter().filter(|row| row.is_empty_node())
    }

    /// Returns whether it has no rows. Lenient reading yields a surplus blank line, or comments without words,
    /// as such a sentence, so that no byte is lost.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the line number of a row of this sentence in the text, from 1.
    pub fn line_of(&self, row: &TokenRow<'_>) -> usize {
        self.line + row.below as usize
    }

    /// Returns the value of `# sent_id = `.
    pub fn sent_id(&self) -> Option<&'a str> {
        self.meta("sent_id").map(str::trim_end)
    }

    /// Returns the value of `# text = `.
    pub fn text(&self) -> Option<&'a str> {
        self.meta("text")
    }

    /// Returns the value of the first comment `# key = value`.
    pub fn meta(&self, key: &str) -> Option<&'a str> {
        self.comments.iter().find_map(|comment| value_of(comment, key))
    }

    /// Returns every fault found in it, in text order; always empty for a strictly read sentence.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Returns suspect characters that are no faults, in text order: U+FFFD.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// Returns the sentence, or its first fault.
    ///
    /// # Errors
    /// The first of [`Sentence::faults`], if there is one.
    pub fn strict(mut self) -> Result<Self, Fault> {
        if self.faults.is_empty() { Ok(self) } else { Err(self.faults.swap_remove(0)) }
    }
}

/// Returns the value of `# key = value`.
pub(crate) fn value_of<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let start = (char('#'), space0, tag(key), space0, char('='), space0);
    let parsed: IResult<_, _> = preceded(start, rest).parse(comment);
    parsed.ok().map(|(_, value)| value)
}
