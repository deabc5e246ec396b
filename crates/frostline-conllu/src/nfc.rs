//! The optional check that text is in Unicode normal form C. It never normalises text.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark, is_nfc};

/// Returns the first byte at which `text` differs from its normal form C, and the character there with the
/// characters that may combine with it; `None` if there is no difference.
pub(crate) fn find_denormalised(text: &str) -> Option<(usize, &str)> {
    if text.is_ascii() || is_nfc(text) {
        return None;
    }
    let at = first_change(text);
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.char_indices().skip(1).find(|&(_, c)| !may_combine(c));
    Some((at, &rest[..end.map_or(rest.len(), |(end, _)| end)]))
}

/// Returns whether a character may combine with the ones before it: marks, and vowels and finals of Hangul.
fn may_combine(c: char) -> bool {
    is_combining_mark(c) || matches!(c, '\u{1161}'..='\u{1175}' | '\u{11a8}'..='\u{11c2}')
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_piece_is_what_changes() {
        for (text, at, piece) in [
            ("cafe\u{301}s", 3, "e\u{301}"),
            ("q\u{307}\u{323}a", 1, "\u{307}\u{323}"),
            ("a\u{1100}\u{1161}b", 1, "\u{1100}\u{1161}"),
            ("\u{ac00}\u{11a8}", 0, "\u{ac00}\u{11a8}"),
            ("\u{212b}", 0, "\u{212b}"),
            ("x\u{958}", 1, "\u{958}"),
            ("\u{344}", 0, "\u{344}"),
        ] {
            assert_eq!(find_denormalised(text), Some((at, piece)), "{text:?}");
            assert_ne!(piece.nfc().collect::<String>(), piece);
        }
        assert_eq!(find_denormalised("café \u{ba8}\u{bbf}"), None);
    }
}
