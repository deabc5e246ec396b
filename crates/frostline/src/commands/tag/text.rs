//! Splits running text into sentences and words, by the rules of Unicode or at white space.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Sentences, Words};

/// A sentence of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextSentence {
    /// The number of its line and its number in the line, as `3.1`.
    pub id: String,
    /// Its text, with white space replaced by single spaces.
    pub text: String,
    /// Its words as ranges of the text; at least one.
    pub words: Vec<Range<usize>>,
    /// Whether the next sentence of the line follows without white space, as in Chinese.
    pub touches_next: bool,
}

impl TextSentence {
    /// Whether there is no white space between a word and the next one, which may be in the next sentence.
    pub(super) fn touches_next(&self, word: usize) -> bool {
        self.words.get(word + 1).map_or(self.touches_next, |next| next.start == self.words[word].end)
    }
}

/// The sentences of a line; empty if the line is blank.
pub(super) fn sentences(
    line: &str,
    number: usize,
    (sentences, words): (Sentences, Words),
) -> Vec<TextSentence> {
    let pieces: Vec<&str> = match sentences {
        Sentences::Unicode => line.split_sentence_bounds().collect(),
        Sentences::Lines => vec![line],
    };
    let (mut out, mut rest) = (Vec::<TextSentence>::new(), line);
    for piece in pieces {
        rest = &rest[piece.len()..];
        let touches_next =
            !piece.ends_with(char::is_whitespace) && rest.starts_with(|next: char| !next.is_whitespace());
        let text = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = places(&text, words);
        if !words.is_empty() {
            let id = format!("{number}.{}", out.len() + 1);
            out.push(TextSentence { id, text, words, touches_next });
        }
    }
    out
}

/// The ranges of the words in a text.
fn places(text: &str, words: Words) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut place = |piece: &str, between: usize| {
        let start = at;
        at += piece.len() + between;
        start..start + piece.len()
    };
    match words {
        Words::Unicode => {
            let all = text.split_word_bounds().map(|piece| (place(piece, 0), piece));
            all.filter(|(_, piece)| !piece.trim().is_empty()).map(|(range, _)| range).collect()
        }
        Words::Spaces => text.split(' ').filter(|word| !word.is_empty()).map(|word| place(word, 1)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, how: (Sentences, Words)) -> Vec<String> {
        let word = |sentence: &TextSentence, at: usize| {
            let glue = if sentence.touches_next(at) { "+" } else { "" };
            format!("{}{glue}", &sentence.text[sentence.words[at].clone()])
        };
        let show = |sentence: &TextSentence| {
            let words: Vec<String> = (0..sentence.words.len()).map(|at| word(sentence, at)).collect();
            format!("{}: {}", sentence.id, words.join(" "))
        };
        sentences(line, 7, how).iter().map(show).collect()
    }

    #[test]
    fn text_becomes_sentences_and_words() {
        let unicode = (Sentences::Unicode, Words::Unicode);
        assert_eq!(
            shown("  The ice\u{a0}melts\t(fast). Can't it?  ", unicode),
            ["7.1: The ice melts (+ fast+ )+ .", "7.2: Can't it+ ?"]
        );
        assert_eq!(shown("Ice. Snow.", (Sentences::Lines, Words::Spaces)), ["7.1: Ice. Snow."]);
        assert_eq!(shown("Ice. Snow.", (Sentences::Lines, Words::Unicode)), ["7.1: Ice+ . Snow+ ."]);
        assert_eq!(shown("日本語 3.5", unicode), ["7.1: 日+ 本+ 語 3.5"]);
        assert_eq!(shown(" \t\u{a0} ", unicode), Vec::<String>::new());
        assert_eq!(shown("", (Sentences::Lines, Words::Spaces)), Vec::<String>::new());
        // A gap between sentences is detected too.
        assert_eq!(shown("你好。再见。\n", unicode), ["7.1: 你+ 好+ 。+", "7.2: 再+ 见+ 。"]);
        assert_eq!(shown("Ice!Snow! Rain!\r\n", unicode), ["7.1: Ice+ !+", "7.2: Snow+ !", "7.3: Rain+ !"]);
    }
}
