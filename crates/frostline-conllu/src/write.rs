//! Writing: sentences as they were read, with some columns changed, or column by column.
//!
//! The writer normalises nothing: unchanged columns are written exactly as they were read.

use std::io::{self, Write};

use thiserror::Error;

use crate::{
    quote::Quote,
    row::{Column, TokenRow},
    scan::{Scanner, TABS},
    sentence::Sentence,
};

/// Why something was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The output failed.
    #[error("the output failed: {0}")]
    Io(#[from] io::Error),
    /// A value that would break the line into more columns or lines.
    #[error("{column} is {found}, expected a value without tab or line feed; escape or replace it")]
    Breaks {
        /// The column it was meant for.
        column: Column,
        /// The value.
        found: Quote,
    },
    /// A comment that would not be read back as one comment.
    #[error("the comment is {found}, expected one line that starts with \"#\"; write one comment per line")]
    Comment {
        /// The comment.
        found: Quote,
    },
    /// More or fewer values than words.
    #[error("{found} values for {column} of a sentence with {words} words; give one per word")]
    Values {
        /// The column they were meant for.
        column: Column,
        /// How many values were given.
        found: usize,
        /// How many words the sentence has.
        words: usize,
    },
}

/// Writes sentences. It does not buffer: wrap a slow output in a `BufWriter`.
pub struct Writer<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Returns a writer to `out`.
    pub fn new(out: W) -> Self {
        Writer { out, line: Vec::new() }
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Writes a sentence as it was read, byte for byte.
    ///
    /// # Errors
    /// If the output fails.
    pub fn sentence(&mut self, sentence: &Sentence<'_>) -> Result<(), WriteError> {
        Ok(self.out.write_all(sentence.raw)?)
    }

    /// Writes a sentence and changes the columns for which `edit` returns a value. Every other byte is written
    /// as it was read, including unusual line ends and unreadable lines.
    ///
    /// # Errors
    /// If the output fails, or a value contains a tab or a line feed.
    pub fn edited<'a, S: AsRef<str>>(
        &mut self,
        sentence: &Sentence<'a>,
        mut edit: impl FnMut(&TokenRow<'a>, Column) -> Option<S>,
    ) -> Result<(), WriteError> {
        self.line.clear();
        let raw = sentence.raw;
        let mut done = 0;
        for row in sentence.rows() {
            for column in Column::ALL {
                let Some(old) = row.get(column) else { break };
                let Some(new) = edit(row, column) else { continue };
                let new = new.as_ref();
                check_value(column, new)?;
                let at = old.as_ptr() as usize - raw.as_ptr() as usize;
                self.line.extend_from_slice(&raw[done..at]);
                self.line.extend_from_slice(new.as_bytes());
                done = at + old.len();
            }
        }
        self.line.extend_from_slice(&raw[done..]);
        Ok(self.out.write_all(&self.line)?)
    }

    /// Writes a sentence with whole columns replaced: one value for each of its words (the rows
    /// whose ID is an integer). Ranges, empty nodes and every other byte are written as they were
    /// read. A leniently read row that ends before a replaced column stays as it is.
    ///
    /// # Errors
    /// See [`Writer::edited`], and if a column has more or fewer values than there are words.
    pub fn replaced<S: AsRef<str>>(
        &mut self,
        sentence: &Sentence<'_>,
        columns: &[(Column, &[S])],
    ) -> Result<(), WriteError> {
        let words = sentence.words().count();
        if let Some(&(column, values)) = columns.iter().find(|(_, values)| values.len() != words) {
            return Err(WriteError::Values { column, found: values.len(), words });
        }
        let mut begun = 0;
        self.edited(sentence, |row, column| {
            // `edited` visits the ID of each row first.
            begun += usize::from(row.is_word() && column == Column::Id);
            let values = columns.iter().find(|(replaced, _)| *replaced == column && row.is_word());
            values.map(|(_, values)| values[begun - 1].as_ref())
        })
    }

    /// Writes a comment line.
    ///
    /// # Errors
    /// If the output fails, or the comment does not start with `#` or contains a line feed.
    pub fn comment(&mut self, comment: &str) -> Result<(), WriteError> {
        if !comment.starts_with('#') || memchr::memchr(b'\n', comment.as_bytes()).is_some() {
            return Err(WriteError::Comment { found: Quote::new(comment) });
        }
        self.line.clear();
        self.line.extend_from_slice(comment.as_bytes());
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }

    /// Writes a row of ten columns.
    ///
    /// # Errors
    /// If the output fails, or a value contains a tab or a line feed.
    pub fn row(&mut self, columns: &[&str; 10]) -> Result<(), WriteError> {
        self.line.clear();
        self.line.reserve(columns.iter().map(|column| column.len() + 1).sum());
        for column in columns {
            self.line.extend_from_slice(column.as_bytes());
            self.line.push(b'\t');
        }
        let last = self.line.len() - 1;
        self.line[last] = b'\n';
        let shape = Scanner::new(&self.line).scan_line(0, &mut [0; TABS]);
        if shape.is_none_or(|shape| shape.end != last || shape.tabs != Column::ALL.len() - 1) {
            for (column, value) in Column::ALL.into_iter().zip(columns) {
                check_value(column, value)?;
            }
        }
        Ok(self.out.write_all(&self.line)?)
    }

    /// Writes the blank line that ends a sentence.
    ///
    /// # Errors
    /// If the output fails.
    pub fn end(&mut self) -> Result<(), WriteError> {
        Ok(self.out.write_all(b"\n")?)
    }
}

/// Checks that a value stays within its column.
///
/// # Errors
/// If it contains a tab or a line feed.
fn check_value(column: Column, value: &str) -> Result<(), WriteError> {
    match memchr::memchr2(b'\t', b'\n', value.as_bytes()) {
        None => Ok(()),
        Some(_) => Err(WriteError::Breaks { column, found: Quote::new(value) }),
    }
}
