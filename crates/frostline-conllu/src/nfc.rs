//! The opt-in question whether text is in Unicode normal form C.
//!
//! Owns the asking alone: it never normalises.

use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Where `text` first departs from its normal form C, in bytes; `None` where it does not.
pub(crate) fn departure(text: &str) -> Option<usize> {
    if text.is_ascii() || is_nfc(text) {
        return None;
    }
    let mut places = text.char_indices();
    for normal in text.nfc() {
        match places.next() {
            Some((_, c)) if c == normal => {}
            Some((at, _)) => return Some(at),
            None => break,
        }
    }
    Some(places.next().map_or(text.len(), |(at, _)| at))
}
