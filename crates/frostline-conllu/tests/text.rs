//! Running text over an alphabet of odd characters: the output passes `check` and contains the text.

use frostline_conllu::{Checks, Column, SentenceSplit, TextLine, TextSplit, WordSplit, read_lenient};
use proptest::{collection::vec, prelude::*, sample::select};

/// Characters that a space, a word or a sentence may end with or begin with: gaps of all kinds, control
/// characters, marks, joiners, format characters, fillers, signs of several scripts, and ends of sentences.
const ODD: &[char] = &[
    ' ',
    '\t',
    '\u{b}',
    '\u{c}',
    '\r',
    '\u{1c}',
    '\u{1d}',
    '\u{1e}',
    '\u{1f}',
    '\u{85}',
    '\u{a0}',
    '\u{1680}',
    '\u{2003}',
    '\u{2028}',
    '\u{2029}',
    '\u{202f}',
    '\u{205f}',
    '\u{3000}',
    '\0',
    '\u{7}',
    '\u{1b}',
    '\u{7f}',
    '\u{ad}',
    '\u{300}',
    '\u{301}',
    '\u{34f}',
    '\u{5b0}',
    '\u{600}',
    '\u{61c}',
    '\u{70f}',
    '\u{93f}',
    '\u{94d}',
    '\u{e34}',
    '\u{f71}',
    '\u{1039}',
    '\u{115f}',
    '\u{17b4}',
    '\u{180e}',
    '\u{200b}',
    '\u{200c}',
    '\u{200d}',
    '\u{200e}',
    '\u{200f}',
    '\u{202e}',
    '\u{2060}',
    '\u{2066}',
    '\u{20dd}',
    '\u{2800}',
    '\u{3099}',
    '\u{3164}',
    '\u{e000}',
    '\u{fe0f}',
    '\u{feff}',
    '\u{fff9}',
    '\u{fffd}',
    '\u{ffff}',
    '\u{1f1e6}',
    '\u{1f468}',
    '\u{1f3fd}',
    '\u{e0041}',
    '\u{e0101}',
    'a',
    'B',
    'é',
    '1',
    '_',
    '#',
    '=',
    '|',
    '"',
    '\'',
    '.',
    '!',
    '?',
    ',',
    ':',
    '-',
    'א',
    'ب',
    'ท',
    'ལ',
    '日',
    'カ',
    '。',
    '…',
    '한',
    'ß',
    'ﬁ',
];

/// Returns the characters that the rules count as a gap.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// Returns a text with each gap as one space, and none at its ends.
fn normalise_gaps(text: &str) -> String {
    text.split(is_gap).filter(|run| !run.is_empty()).collect::<Vec<_>>().join(" ")
}

fn write_line(line: &str, split: TextSplit) -> String {
    let mut out = Vec::new();
    for part in TextLine::new(line.to_owned(), 3, split) {
        part.write(&mut out, |_, _| vec![(Column::Upos, "X")]).expect("written");
    }
    String::from_utf8(out).expect("text")
}

/// Returns the text of the rows, after comparing it with the text of the comments.
fn read_back(conllu: &str) -> Result<String, TestCaseError> {
    let mut text = String::new();
    for sentence in read_lenient(conllu.as_bytes(), Checks::default()) {
        prop_assert_eq!(sentence.faults().first(), None, "{:?}", conllu);
        let mut of_rows = String::new();
        for row in sentence.words() {
            of_rows.push_str(row.form());
            if row.misc() != "SpaceAfter=No" {
                of_rows.push(' ');
            }
        }
        prop_assert_eq!(sentence.text(), Some(of_rows.trim_end_matches(' ')));
        text.push_str(&of_rows);
    }
    Ok(text.trim_end_matches(' ').to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_passes_check_and_gives_the_text_back(
        characters in vec(select(ODD), 0..24),
        by_lines in any::<bool>(),
        by_spaces in any::<bool>(),
        part in 1..9_usize,
        context in 0..4_usize,
    ) {
        let line: String = characters.into_iter().collect();
        let sentences = if by_lines { SentenceSplit::Lines } else { SentenceSplit::Unicode };
        let words = if by_spaces { WordSplit::Spaces } else { WordSplit::Unicode };
        let whole = write_line(&line, TextSplit { sentences, words, part: 1000, context });
        prop_assert_eq!(read_back(&whole)?, normalise_gaps(&line), "{:?}", line);
        prop_assert_eq!(write_line(&line, TextSplit { sentences, words, part, context }), whole);
    }
}

/// Every character of Unicode, after a space and before a word.
#[test]
fn every_character_passes_after_a_gap() {
    let split =
        TextSplit { sentences: SentenceSplit::Unicode, words: WordSplit::Unicode, part: 100, context: 0 };
    let mut count = 0;
    for c in ('\0'..=char::MAX).filter(|c| *c != '\n') {
        let line = format!("ice {c}melts. {c}Snow {c} falls {c}");
        assert_eq!(read_back(&write_line(&line, split)).expect("passes"), normalise_gaps(&line), "{c:?}");
        count += 1;
    }
    assert_eq!(count, 0x11_0000 - 0x800 - 1);
}
