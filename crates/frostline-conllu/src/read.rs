//! Reading from memory: strict and lenient iterators over a slice.
//!
//! Owns the two ways to meet a fault: strict gives it instead of the sentence, lenient gives the
//! sentence with its faults. Both see the same faults, and both go on to the next sentence.

use crate::{check::Checks, cursor::Cursor, fault::Fault, sentence::Sentence};

/// Sentences, or the first fault of each one that has any; see [`parse`].
pub struct Strict<'a>(Cursor<'a>);

/// Sentences, each with its faults; see [`parse_lenient`].
pub struct Lenient<'a>(Cursor<'a>);

/// Reads strictly: a sentence with a fault is given as its first fault, and reading goes on with
/// the next. Collect into a `Result` to stop at the first fault.
///
/// # Errors
/// Each item is the first [`Fault`] of its sentence where it has one: whatever the UD validator
/// rejects at level 1.
pub fn parse(text: &str) -> Strict<'_> {
    Strict(Cursor::of_str(text, Checks::default()))
}

/// Reads leniently: every sentence is given with whatever could be kept and every fault found.
pub fn parse_lenient(text: &str) -> Lenient<'_> {
    Lenient(Cursor::of_str(text, Checks::default()))
}

/// [`parse`] for bytes and with chosen checks.
///
/// # Errors
/// As [`parse`]; bytes that are not UTF-8 are a fault of their sentence.
pub fn read_strict(bytes: &[u8], checks: Checks) -> Strict<'_> {
    Strict(Cursor::new(bytes, 1, 0, checks))
}

/// [`parse_lenient`] for bytes and with chosen checks. A line that is not UTF-8 is in its
/// sentence's raw bytes and among its faults, but not among its rows.
pub fn read_lenient(bytes: &[u8], checks: Checks) -> Lenient<'_> {
    Lenient(Cursor::new(bytes, 1, 0, checks))
}

impl<'a> Iterator for Strict<'a> {
    type Item = Result<Sentence<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.sentence().map(Sentence::strict)
    }
}

impl<'a> Iterator for Lenient<'a> {
    type Item = Sentence<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.sentence()
    }
}
