//! The optional check that text is in Unicode normal form C. It never normalises text.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark, is_nfc};

/// Where `text` first departs from its normal form C, in bytes, and the character there with the
/// marks on it; `None` where it does not.
pub(crate) fn departure(text: &str) -> Option<(usize, &str)> {
    if text.is_ascii() || is_nfc(text) {
        return None;
    }
    let at = first_change(text);
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.char_indices().skip(1).find(|&(_, c)| !is_combining_mark(c));
    Some((at, &rest[..end.map_or(rest.len(), |(end, _)| end)]))
}

fn first_change(text: &str) -> usize {
    let mut places = text.char_indices();
    for normal in text.nfc() {
        match places.next() {
            Some((_, c)) if c == normal => {}
            Some((at, _)) => return at,
            None => break,
        }
    }
    places.next().map_or(text.len(), |(at, _)| at)
}
