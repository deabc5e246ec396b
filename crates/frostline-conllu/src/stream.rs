//! Reading from any `BufRead`, one sentence in memory at a time.
//!
//! Keeps a buffer and finds the end of the next sentence in it. Each sentence's bytes are then parsed
//! by the same cursor as a slice.

use std::io::{self, BufRead};

use memchr::memchr;

use crate::{
    bytes_examined,
    check::{Checks, is_space},
    cursor::Cursor,
    earlier_sentences::SeenIds,
    fault::Fault,
    sentence::Sentence,
};

/// Reads sentences one after another, holding one at a time.
///
/// Memory use is bounded by the longest sentence (text between blank lines), however long the input. Only
/// [`Checks::metadata`] also keeps the sentences' ids.
pub struct Reader<R> {
    input: R,
    checks: Checks,
    buffer: Vec<u8>,
    /// The start of the next sentence in `buffer`.
    start: usize,
    /// Start of the first line that has not been checked for being blank.
    line_start: usize,
    /// Bytes already searched for a line end.
    searched: usize,
    ended: bool,
    seen: SeenIds,
    /// Lines and bytes of the input before `buffer[start]`.
    lines: usize,
    bytes: usize,
}

impl<R: BufRead> Reader<R> {
    /// Returns a reader over `input` that applies level 1 and the given checks.
    pub fn new(input: R, checks: Checks) -> Self {
        Reader {
            input,
            checks,
            buffer: Vec::new(),
            start: 0,
            line_start: 0,
            searched: 0,
            ended: false,
            seen: SeenIds::default(),
            lines: 0,
            bytes: 0,
        }
    }

    /// Returns the next sentence with all readable rows and every fault found; `None` at the end.
    ///
    /// # Errors
    /// If reading from the input fails. Faults of the text are in [`Sentence::faults`].
    pub fn next_sentence(&mut self) -> io::Result<Option<Sentence<'_>>> {
        let end = loop {
            match self.end() {
                Some(end) => break end,
                None if self.ended => break self.buffer.len(),
                None => self.fill_buffer()?,
            }
        };
        let (start, line, before) = (self.start, self.lines + 1, self.bytes);
        self.start = end;
        self.bytes += end - start;
        let mut cursor = Cursor::new(&self.buffer[start..end], line, before, self.checks);
        cursor.seen = std::mem::take(&mut self.seen);
        let sentence = cursor.sentence();
        self.seen = std::mem::take(&mut cursor.seen);
        debug_assert!(
            sentence.as_ref().is_none_or(|s| s.raw.len() == end - start),
            "one search, one sentence"
        );
        self.lines = cursor.line_number() - 1;
        Ok(sentence)
    }

    /// Returns the next sentence, or its first fault; reading may continue after a fault.
    ///
    /// # Errors
    /// The outer error is a failure of the input, the inner one the sentence's first [`Fault`].
    pub fn next_strict(&mut self) -> io::Result<Option<Result<Sentence<'_>, Fault>>> {
        Ok(self.next_sentence()?.map(Sentence::strict))
    }

    /// If the sentence at `start` ends, if the buffer holds all of it. Examines each byte once.
    fn end(&mut self) -> Option<usize> {
        loop {
            let found = memchr(b'\n', &self.buffer[self.searched..]);
            bytes_examined::add(found.unwrap_or(self.buffer.len() - self.searched));
            let Some(length) = found else {
                self.searched = self.buffer.len();
                return None;
            };
            let (from, end) = (self.line_start, self.searched + length);
            self.searched = end + 1;
            self.line_start = end + 1;
            if from == end || is_blank(&self.buffer[from..end]) {
                return Some(end + 1);
            }
        }
    }

    /// Reads more. Consumed bytes are dropped first, once they are the larger part of the buffer, so
    /// that moving the rest costs no more than reading did.
    fn fill_buffer(&mut self) -> io::Result<()> {
        if self.start > self.buffer.len() / 2 {
            bytes_examined::add(self.buffer.len() - self.start);
            self.buffer.drain(..self.start);
            self.line_start -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        let more = self.input.fill_buf()?;
        let read = more.len();
        self.buffer.extend_from_slice(more);
        self.input.consume(read);
        self.ended = read == 0;
        Ok(())
    }
}

/// Returns whether a line contains only white space; `cursor` uses the same definition.
fn is_blank(line: &[u8]) -> bool {
    let first = line.first().copied().unwrap_or(b' ');
    bytes_examined::add(line.len());
    let white = first <= b' ' || first >= 0x80;
    white && std::str::from_utf8(line).is_ok_and(|text| text.chars().all(is_space))
}
