//! Text from files, so that it can only be read: labels, names and identifiers may contain anything. Each kind of
//! output escapes in one place, when it leaves this crate.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text in which each character that acts on a terminal or page instead of being seen shows its code point, as in
/// `[U+001B]`: control characters other than the line feed, marks of direction, and separators. Joiners, which words
/// of some languages need, stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_active(c) {
            write!(out, "[U+{:04X}]", u32::from(c)).expect("a string takes everything");
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_active(c: char) -> bool {
    let direction =
        matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    let separator = matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}');
    // Tags, which show nothing and may spell anything.
    let tag = matches!(c, '\u{E0000}'..='\u{E007F}');
    (c.is_control() && c != '\n') || direction || separator || tag
}

/// One line of it: a line feed shows its code point too.
pub(crate) fn line(text: &str) -> String {
    visible(text).replace('\n', "[U+000A]")
}

/// Markdown that contains no HTML: if a tag or a comment would begin, its first sign is escaped.
pub(super) fn markdown(text: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '<' && rest.peek().is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(*next)) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A cell of a Markdown table, which has one line and no bars.
pub(super) fn markdown_cell(text: &str) -> String {
    markdown(&text.replace(['\n', '\r'], " ")).replace('|', "\\|")
}

/// Text in an element or an attribute of XML.
pub(super) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // Not characters, which XML 1.0 cannot contain.
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('\u{FFFD}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::render::{csv, markdown as pages, terminal};
    use crate::table::{Quantity, Table, TableColumns};

    /// Text as an attacker would write it.
    fn hostile() -> impl Strategy<Value = String> {
        let pieces = prop_oneof![
            Just("|".to_string()),
            Just("\\|".into()),
            Just("<script>alert(1)</script>".into()),
            Just("<!--".into()),
            Just("\u{1b}]0;title\u{7}".into()),
            Just("\u{1b}[2J".into()),
            Just("\u{9b}31m".into()),
            Just("\r\n".into()),
            Just("\n# heading\n".into()),
            Just("```".into()),
            Just("\t".into()),
            Just("\u{202e}\u{2066}".into()),
            Just("\u{feff}\u{2028}".into()),
            Just("\",\"".into()),
            Just("' onload='x".into()),
            Just("\u{0}".into()),
            any::<String>(),
        ];
        proptest::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
    }

    fn table(cells: &[[String; 2]]) -> Table {
        let columns = TableColumns::default()
            .column("One", Quantity::Text, |row: &[String; 2]| row[0].clone())
            .column("Two", Quantity::Text, |row: &[String; 2]| row[1].clone());
        columns.table(cells.iter().cloned())
    }

    /// Bars that are not escaped.
    fn bars(line: &str) -> usize {
        let signs: Vec<char> = line.chars().collect();
        (0..signs.len()).filter(|&at| signs[at] == '|' && (at == 0 || signs[at - 1] != '\\')).count()
    }

    fn tags(text: &str) -> usize {
        let signs: Vec<char> = text.chars().collect();
        let begins = |at: usize| {
            signs.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(*next))
        };
        (0..signs.len())
            .filter(|&at| signs[at] == '<' && begins(at) && (at == 0 || signs[at - 1] != '\\'))
            .count()
    }

    proptest! {
        #[test]
        fn no_output_contains_what_acts(texts in proptest::collection::vec([hostile(), hostile()], 1..4)) {
            let found = table(&texts);
            let markdown = pages::write_table(&found);
            let shown = terminal::write_table(&found, 10_000);
            prop_assert!(!markdown.contains(is_active) && !shown.contains(is_active));
            // There are as many lines as rows, heads and rule, and as many cells as columns.
            prop_assert_eq!(markdown.lines().count(), texts.len() + 2);
            prop_assert_eq!(shown.lines().count(), texts.len() + 2);
            for line in markdown.lines() {
                prop_assert_eq!(bars(line), 3, "{}", line);
            }
            prop_assert_eq!(tags(&markdown), 0);
        }

        #[test]
        fn csv_reads_back(texts in proptest::collection::vec([hostile(), hostile()], 1..4)) {
            let text = csv::write_table(&table(&texts));
            let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
            let mut signs = text.chars().peekable();
            while let Some(c) = signs.next() {
                match c {
                    '"' if quoted && signs.peek() == Some(&'"') => field.push(signs.next().expect("a quote")),
                    '"' => quoted = !quoted,
                    ',' if !quoted => row.push(std::mem::take(&mut field)),
                    '\n' if !quoted => {
                        row.push(std::mem::take(&mut field));
                        rows.push(std::mem::take(&mut row));
                    }
                    c => field.push(c),
                }
            }
            let expected: Vec<Vec<String>> = texts.iter().map(|row| row.to_vec()).collect();
            prop_assert_eq!(&rows[1..], &expected[..]);
        }

        #[test]
        fn xml_has_one_element_with_the_text(text in hostile()) {
            let document = format!("<text title=\"{0}\" other='{0}'>{0}</text>", xml(&text));
            let parsed = roxmltree::Document::parse(&document);
            prop_assert!(parsed.is_ok(), "{:?}: {}", parsed, document);
            let parsed = parsed.expect("XML");
            prop_assert_eq!(parsed.root().descendants().filter(|node| node.is_element()).count(), 1);
            prop_assert!(!xml(&text).contains(is_active));
        }
    }

    #[test]
    fn code_is_not_ended_by_its_text() {
        use crate::page::code;
        assert_eq!(code("NOUN"), "`NOUN`");
        assert_eq!(code("``"), "``` `` ```");
        assert_eq!(code("a`b"), "`` a`b ``");
    }

    #[test]
    fn words_of_all_languages_stay_as_they_are() {
        for text in ["می\u{200c}خواهم", "क्\u{200d}ष", "naïve", "e\u{301}", "👩\u{200d}🔬", "a\nb"]
        {
            assert_eq!(visible(text), text);
        }
        assert_eq!(visible("a\u{1b}[31m\u{202e}"), "a[U+001B][31m[U+202E]");
        assert_eq!(markdown("a < b, <b>, 1<2 <!-- -->"), "a < b, \\<b>, 1<2 \\<!-- -->");
    }
}
