//! Reading from memory: strict and lenient iterators over a slice.
//!
//! They differ in how they treat a fault: strict reading yields it instead of the sentence, lenient
//! reading yields the sentence with its faults. Both find the same faults, and both continue with
//! the next sentence.

use crate::{check::Checks, cursor::Cursor, fault::Fault, sentence::Sentence};

/// Sentences, or the first fault of each one that has any; see [`parse`].
pub struct Strict<'a>(Cursor<'a>);

/// Sentences, each with its faults; see [`parse_lenient`].
pub struct Lenient<'a>(Cursor<'a>);

/// Reads strictly: a sentence with a fault yields its first fault, and reading continues with the
/// next sentence. Collect into a `Result` to stop at the first fault.
///
/// # Errors
/// An item is the first [`Fault`] of its sentence, if there is one: everything that the UD validator rejects at
/// level 1.
pub fn parse(text: &str) -> Strict<'_> {
    Strict(Cursor::of_str(text, Checks::default()))
}

/// Reads leniently: yields every sentence with all readable rows and every fault found.
pub fn parse_lenient(text: &str) -> Lenient<'_> {
    Lenient(Cursor::of_str(text, Checks::default()))
}

/// [`parse`] for bytes and with chosen checks.
///
/// # Errors
/// See [`parse`]; bytes that are not UTF-8 are a fault of their sentence.
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
