//! Running text: lines are split into sentences and words, and written as CoNLL-U.
//!
//! A gap between words is white space in the sense of `udvalidate`. No word contains a gap, or begins with a
//! character that belongs to the gap before it, so the output passes the checks of level 1. A sentence can be
//! as long as its line, so it comes in parts of a bounded number of words.

use std::collections::VecDeque;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::check::is_space;
use crate::row::Column;
use crate::write::{WriteError, Writer};

/// How a line is split into sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentenceSplit {
    /// By the rules of Unicode (UAX #29).
    Unicode,
    /// Not at all: each line is a sentence.
    Lines,
}

/// How a sentence is split into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordSplit {
    /// By the rules of Unicode (UAX #29) between gaps.
    Unicode,
    /// At gaps only.
    Spaces,
}

/// How text is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextSplit {
    /// How a line is split into sentences.
    pub sentences: SentenceSplit,
    /// How a sentence is split into words.
    pub words: WordSplit,
    /// The most words of a part, at least one. A longer sentence has several parts.
    pub part: usize,
    /// How many words of the sentence a part has as context, before and after its own.
    pub context: usize,
}

/// The sentences of a line, part by part. It keeps the line and the words of one part.
#[derive(Debug)]
pub struct TextLine {
    text: Arc<String>,
    number: usize,
    split: TextSplit,
    /// The start of the next sentence.
    at: usize,
    /// How many sentences have begun.
    begun: usize,
    open: Option<OpenSentence>,
}

/// A sentence that is being split.
#[derive(Debug)]
struct OpenSentence {
    range: Range<usize>,
    /// The unsplit rest of the sentence, and the end of its first run without gaps.
    at: usize,
    run_end: usize,
    /// The words that the next part needs and that have been found.
    words: VecDeque<Range<usize>>,
    /// How many of them were in an earlier part.
    before: usize,
    /// How many words were in earlier parts.
    done: usize,
}

/// A sentence, or a part of a long one.
#[derive(Debug, Clone)]
pub struct TextPart {
    text: Arc<String>,
    id: [usize; 2],
    sentence: Range<usize>,
    words: Vec<Range<usize>>,
    own: Range<usize>,
    /// How many words of the sentence are in earlier parts.
    done: usize,
    is_last: bool,
}

impl TextLine {
    /// Splits a line, whose number becomes part of its sentences' ids.
    pub fn new(text: String, number: usize, split: TextSplit) -> Self {
        Self { text: Arc::new(text), number, split, at: 0, begun: 0, open: None }
    }

    /// Starts the next sentence that has a word.
    fn open(&mut self) -> Option<OpenSentence> {
        loop {
            let range = self.at..self.at + self.sentence_len()?;
            self.at = range.end;
            if !self.text[range.clone()].chars().all(is_space) {
                self.begun += 1;
                let (at, run_end) = (range.start, range.start);
                return Some(OpenSentence { range, at, run_end, words: VecDeque::new(), before: 0, done: 0 });
            }
        }
    }

    /// Returns the length of the next sentence in bytes; `None` at the end of the line.
    fn sentence_len(&self) -> Option<usize> {
        let rest = &self.text[self.at..];
        if self.split.sentences == SentenceSplit::Lines {
            return Some(rest.len()).filter(|&len| len > 0);
        }
        let sentence = rest.split_sentence_bounds().next()?;
        let before = sentence.trim_end_matches(joins_the_gap);
        let is_inside = before.len() < sentence.len()
            && before.ends_with(is_space)
            && rest[sentence.len()..].starts_with(|next| !is_space(next));
        // Marks after the gap begin the first word of the next sentence.
        Some(if is_inside { before.len() } else { sentence.len() })
    }
}

impl Iterator for TextLine {
    type Item = TextPart;

    fn next(&mut self) -> Option<TextPart> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open()?,
        };
        let TextSplit { part, context, .. } = self.split;
        let part = part.max(1);
        // One extra word shows whether the sentence continues.
        while open.words.len() < open.before + part + context.max(1) {
            let Some(word) = open.next_word(&self.text, self.split.words) else { break };
            open.words.push_back(word);
        }
        let end = open.words.len().min(open.before + part);
        let is_last = end == open.words.len();
        let made = TextPart {
            text: self.text.clone(),
            id: [self.number, self.begun],
            sentence: open.range.clone(),
            words: open.words.iter().take(end + context).cloned().collect(),
            own: open.before..end,
            done: open.done,
            is_last,
        };
        if !is_last {
            open.done += end - open.before;
            open.before = end.min(context);
            open.words.drain(..end - open.before);
            self.open = Some(open);
        }
        Some(made)
    }
}

impl OpenSentence {
    /// Returns the next word of the sentence.
    fn next_word(&mut self, text: &str, split: WordSplit) -> Option<Range<usize>> {
        let mut marks = 0;
        if self.at == self.run_end {
            let rest = &text[self.at..self.range.end];
            let run = rest.trim_start_matches(is_space);
            self.at = self.range.end - run.len();
            self.run_end = self.at + run.find(is_space).unwrap_or(run.len());
            let run = &text[self.at..self.run_end];
            marks = run.len() - run.trim_start_matches(joins_the_gap).len();
        }
        let start = self.at;
        let rest = &text[start + marks..self.run_end];
        self.at = match split {
            WordSplit::Spaces => self.run_end,
            WordSplit::Unicode => start + marks + rest.split_word_bounds().next().map_or(0, str::len),
        };
        Some(start..self.at).filter(|word| !word.is_empty())
    }
}

/// Returns whether the rules of Unicode add a character to the space before it: marks, joiners, format
/// characters. A word begins with such characters when it follows them without another gap.
fn joins_the_gap(c: char) -> bool {
    let mut pair = [b' '; 5];
    let len = 1 + c.encode_utf8(&mut pair[1..]).len();
    let pair = std::str::from_utf8(&pair[..len]).unwrap_or_default();
    !c.is_ascii() && pair.split_word_bounds().nth(1).is_none() && !is_space(c)
}

impl TextPart {
    /// Returns the number of the line, from 1.
    pub fn line(&self) -> usize {
        self.id[0]
    }

    /// Returns the words, including the context.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        self.words.iter().map(|word| &self.text[word.clone()])
    }

    /// Returns the bytes of the line at which each word is, including the context.
    pub fn word_ranges(&self) -> &[Range<usize>] {
        &self.words
    }

    /// Which of the words are the part's own.
    pub fn own(&self) -> Range<usize> {
        self.own.clone()
    }

    /// Returns whether the part ends its sentence.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Writes the part's own words as rows of CoNLL-U. The first part of a sentence also writes its comments, the last
    /// one the blank line. `edit` gets the place of a word among the part's own words and its MISC, and returns the
    /// columns to fill.
    ///
    /// # Errors
    /// If the output fails, or a value contains a tab or a line feed.
    pub fn write<S: AsRef<str>>(
        &self,
        mut out: impl Write,
        mut edit: impl FnMut(usize, &str) -> Vec<(Column, S)>,
    ) -> Result<(), WriteError> {
        if self.done == 0 {
            self.write_comments(&mut out)?;
        }
        let mut writer = Writer::new(out);
        for (at, word) in self.words[self.own()].iter().enumerate() {
            let number = (self.done + at + 1).to_string();
            let misc = if self.touches_next(word) { "SpaceAfter=No" } else { "_" };
            let edits = edit(at, misc);
            let mut row = ["_"; 10];
            row[Column::Id as usize] = &number;
            row[Column::Form as usize] = &self.text[word.clone()];
            row[Column::Misc as usize] = misc;
            for (column, value) in &edits {
                row[*column as usize] = value.as_ref();
            }
            writer.row(&row)?;
        }
        if self.is_last { writer.end() } else { Ok(()) }
    }

    /// Writes `sent_id` and `text`, run by run, since the text can be as long as the line.
    fn write_comments(&self, out: &mut impl Write) -> Result<(), WriteError> {
        write!(out, "# sent_id = {}.{}\n# text =", self.id[0], self.id[1])?;
        for run in self.text[self.sentence.clone()].split(is_space).filter(|run| !run.is_empty()) {
            out.write_all(b" ")?;
            out.write_all(run.as_bytes())?;
        }
        Ok(out.write_all(b"\n")?)
    }

    /// Returns whether something other than a gap follows a word, which may be in the next sentence, as in
    /// Chinese.
    fn touches_next(&self, word: &Range<usize>) -> bool {
        self.text[word.end..].starts_with(|next| !is_space(next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: TextSplit =
        TextSplit { sentences: SentenceSplit::Unicode, words: WordSplit::Unicode, part: 100, context: 5 };

    fn describe_parts(line: &str, split: TextSplit) -> Vec<String> {
        let show = |part: TextPart| {
            let glue = |word: &Range<usize>| if part.touches_next(word) { "+" } else { "" };
            let words = part.words[part.own()].iter();
            let words: Vec<String> =
                words.map(|word| format!("{}{}", &part.text[word.clone()], glue(word))).collect();
            format!("{}.{}: {}", part.id[0], part.id[1], words.join(" "))
        };
        TextLine::new(line.to_owned(), 7, split).map(show).collect()
    }

    #[test]
    fn text_becomes_sentences_and_words() {
        let lines = TextSplit { sentences: SentenceSplit::Lines, ..UNICODE };
        let spaces = TextSplit { words: WordSplit::Spaces, ..lines };
        assert_eq!(
            describe_parts("  The ice\u{a0}melts\t(fast). Can't it?  ", UNICODE),
            ["7.1: The ice melts (+ fast+ )+ .", "7.2: Can't it+ ?"]
        );
        assert_eq!(describe_parts("Ice. Snow.", spaces), ["7.1: Ice. Snow."]);
        assert_eq!(describe_parts("Ice. Snow.", lines), ["7.1: Ice+ . Snow+ ."]);
        assert_eq!(describe_parts("日本語 3.5", UNICODE), ["7.1: 日+ 本+ 語 3.5"]);
        assert_eq!(describe_parts(" \t\u{a0}\u{1c} ", UNICODE), Vec::<String>::new());
        assert_eq!(describe_parts("", spaces), Vec::<String>::new());
        // A gap between sentences is detected too.
        assert_eq!(describe_parts("你好。再见。\n", UNICODE), ["7.1: 你+ 好+ 。+", "7.2: 再+ 见+ 。"]);
        assert_eq!(
            describe_parts("Ice!Snow! Rain!\r\n", UNICODE),
            ["7.1: Ice+ !+", "7.2: Snow+ !", "7.3: Rain+ !"]
        );
    }

    /// The rules of Unicode join such characters to the space before them; a FORM must not begin with it.
    #[test]
    fn marks_after_a_gap_begin_the_next_word() {
        for mark in
            ["\u{200e}", "\u{200f}", "\u{ad}", "\u{200d}", "\u{fe0f}", "\u{feff}", "\u{301}", "\u{e34}"]
        {
            let next = format!("7.1: ice {mark}melts");
            for gap in [" ", "\t", "\u{a0}", "  ", "\u{b}", "\u{1c}"] {
                assert_eq!(
                    describe_parts(&format!("ice{gap}{mark}melts"), UNICODE),
                    [&next[..]],
                    "{mark:?} {gap:?}"
                );
            }
            assert_eq!(describe_parts(&format!("{mark}ice"), UNICODE), [format!("7.1: {mark}ice")]);
            assert_eq!(
                describe_parts(&format!("ice {mark} melts"), UNICODE),
                [format!("7.1: ice {mark} melts")]
            );
            assert_eq!(
                describe_parts(&format!("Ice. {mark}Snow."), UNICODE),
                ["7.1: Ice+ .", &format!("7.2: {mark}Snow+ .")]
            );
        }
        for separator in '\u{1c}'..='\u{1f}' {
            let text = format!("ice {separator} melts{separator}now{separator}");
            assert_eq!(describe_parts(&text, UNICODE), ["7.1: ice melts now"]);
        }
    }

    #[test]
    fn the_parts_of_a_sentence_make_up_the_whole() {
        let line: String = (0..57).map(|word| format!("w{word}, ")).collect();
        let written = |split| {
            let mut out = Vec::new();
            for part in TextLine::new(line.clone(), 1, split) {
                let own = part.own();
                assert!(own.len() <= split.part && own.start <= split.context);
                assert!(part.words().len() - own.end <= split.context);
                part.write(&mut out, |_, _| Vec::<(Column, String)>::new()).expect("written");
            }
            String::from_utf8(out).expect("text")
        };
        let whole = written(TextSplit { part: 1000, ..UNICODE });
        assert_eq!(whole.lines().count(), 2 + 2 * 57 + 1);
        for (part, context) in [(1, 0), (1, 3), (2, 1), (7, 20), (113, 2), (114, 2), (115, 2)] {
            assert!(written(TextSplit { part, context, ..UNICODE }) == whole, "{part} {context}");
        }
    }
}
