//! Pieces of the text in messages: invisible characters are shown by their code points.

use std::fmt::{self, Write as _};

use unicode_normalization::char::{canonical_combining_class, compose, is_combining_mark};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// A piece of the text as quoted in a message: cut after forty characters, and with every character
/// that cannot be seen as its code point, such as `<U+200B>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote(Box<str>);

impl Quote {
    /// Characters of the text.
    const MAX_CHARS: usize = 40;
    /// Maximum number of bytes of a quote in which many characters are shown by code point.
    const MAX_BYTES: usize = 160;

    pub(crate) fn new(text: &str) -> Self {
        let mut shown = String::from("\"");
        let mut before = None;
        for (count, c) in text.chars().enumerate() {
            if count == Self::MAX_CHARS || shown.len() > Self::MAX_BYTES {
                shown.push_str("...");
                break;
            }
            match c {
                '"' | '\\' => shown.extend(['\\', c]),
                _ if is_hidden(before, c) => {
                    write!(shown, "<U+{:04X}>", u32::from(c)).expect("a string takes everything");
                }
                _ => shown.push(c),
            }
            before = Some(c);
        }
        shown.push('"');
        Quote(shown.into())
    }
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A piece of the text as code points, such as `U+0065 U+0301`, cut after eight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePoints(Box<str>);

impl CodePoints {
    const MAX: usize = 8;

    pub(crate) fn new(text: impl Iterator<Item = char>) -> Self {
        let mut shown = String::new();
        for (count, c) in text.enumerate() {
            if count == Self::MAX {
                shown.push_str(" ...");
                break;
            }
            let space = if count == 0 { "" } else { " " };
            write!(shown, "{space}U+{:04X}", u32::from(c)).expect("a string takes everything");
        }
        CodePoints(shown.into())
    }
}

impl fmt::Display for CodePoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Returns whether a reader cannot see `c`, or cannot distinguish it from another character: control and format
/// characters (zero width, direction), white space other than the space, characters without a glyph, U+FFFD,
/// and marks that look like part of the letter before them.
pub(crate) fn is_hidden(before: Option<char>, c: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Unassigned,
    };
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let category = c.general_category();
    let blank = matches!(
        category,
        Control | Format | LineSeparator | ParagraphSeparator | SpaceSeparator | PrivateUse | Unassigned
    );
    blank || c == char::REPLACEMENT_CHARACTER || is_blank_symbol(c) || is_loose_mark(before, c)
}

/// Letters, marks and symbols that have no ink: fillers, joiners, variation selectors.
fn is_blank_symbol(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180d}' | '\u{180f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns whether a mark is isolated, could be one character with the letter before it, or is attached above
/// or below any letter. Vowel signs, viramas and tone marks stay unchanged, since scripts such as Tamil and
/// Thai are unreadable without them.
fn is_loose_mark(before: Option<char>, c: char) -> bool {
    if !is_combining_mark(c) {
        return false;
    }
    let Some(base) = before else { return true };
    let alone = !(base.is_alphanumeric() || is_combining_mark(base));
    let diacritic = matches!(canonical_combining_class(c), 1..=6 | 10..=36 | 200..);
    let enclosing = c.general_category() == GeneralCategory::EnclosingMark;
    alone || diacritic || enclosing || compose(base, c).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown_by_code_point() {
        for (text, shown) in [
            ("a b", "\"a b\""),
            ("a\"\\b", "\"a\\\"\\\\b\""),
            ("a\tb\r\u{0}\u{7f}", "\"a<U+0009>b<U+000D><U+0000><U+007F>\""),
            ("a\u{a0}\u{3000}\u{2028}", "\"a<U+00A0><U+3000><U+2028>\""),
            ("\u{feff}1\u{200b}\u{200d}\u{2060}\u{ad}", "\"<U+FEFF>1<U+200B><U+200D><U+2060><U+00AD>\""),
            ("\u{202e}\u{2067}\u{61c}", "\"<U+202E><U+2067><U+061C>\""),
            ("\u{fffd}", "\"<U+FFFD>\""),
            ("e\u{301} \u{301}x\u{323}", "\"e<U+0301> <U+0301>x<U+0323>\""),
            ("\u{5d0}\u{5bc}", "\"\u{5d0}<U+05BC>\""),
            ("\u{fe0f}\u{e0041}\u{e000}\u{115f}\u{2800}", "\"<U+FE0F><U+E0041><U+E000><U+115F><U+2800>\""),
            ("é日本\u{ba4}\u{bae}\u{bbf}\u{bb4}\u{bcd}😀", "\"é日本\u{ba4}\u{bae}\u{bbf}\u{bb4}\u{bcd}😀\""),
            ("\u{bbf}", "\"<U+0BBF>\""),
            ("\u{e17}\u{e35}\u{e48}", "\"\u{e17}\u{e35}\u{e48}\""),
        ] {
            assert_eq!(Quote::new(text).to_string(), shown);
        }
    }

    #[test]
    fn quotes_are_short() {
        assert_eq!(Quote::new(&"é".repeat(41)).to_string(), format!("\"{}...\"", "é".repeat(40)));
        assert_eq!(Quote::new(&"é".repeat(40)).to_string(), format!("\"{}\"", "é".repeat(40)));
        for c in ['\u{0}', '\u{e0041}', '日', '\u{301}'] {
            assert!(Quote::new(&c.to_string().repeat(99)).to_string().len() < 180);
        }
        assert_eq!(CodePoints::new("e\u{301}".chars()).to_string(), "U+0065 U+0301");
        assert!(CodePoints::new("a\u{e0041}".repeat(9).chars()).to_string().ends_with("U+E0041 ..."));
    }
}
