//! The checks of `Checks::metadata`: the comments of a sentence, and the match of its words and its text.
//!
//! These are the rules of level 2 of the UD validator for comments. They run only if level 1 found no fault in
//! the sentence, so that every comment is before the first row.

use crate::{
    bytes_examined,
    check::is_space,
    earlier_sentences::SeenIds,
    fault::FaultKind,
    id::Id,
    quote::Quote,
    row::{Column, RowKind, TokenRow},
    sentence::Sentence,
    values::{SPACE_AFTER_NO, split_items},
};

/// Checks one sentence. `report` receives how many lines below the sentence's first one the fault is,
/// that line, the byte in it, and the fault.
pub(crate) fn check<'a>(
    sentence: &Sentence<'a>,
    seen: &mut SeenIds,
    mut report: impl FnMut(u32, &'a str, usize, FaultKind),
) {
    let Some(first) = sentence.rows.first() else { return };
    let mut comments = Comments { sentence, first: *first, report: &mut report };
    comments.sent_id(seen);
    comments.parallel_id(seen);
    let breaks = [
        comments.check_single_comment("newdoc", is_break),
        comments.check_single_comment("newpar", is_break),
    ];
    if let Some(at) = breaks.into_iter().flatten().min()
        && seen.joined
    {
        comments.report_comment(at, FaultKind::SpaceAfterBreak);
    }
    match comments.check_single_comment("text", |comment, key| comment_value(comment, key).is_some()) {
        Some(at)
            if comments
                .comments_with_key("text", |comment, key| comment_value(comment, key).is_some())
                .count()
                == 1 =>
        {
            let text = comment_value(sentence.comments[at], "text").unwrap_or_default();
            if text.is_empty() {
                return comments.report_comment(at, FaultKind::TextEmpty);
            }
            if text.ends_with(is_space) {
                comments.report_comment(at, FaultKind::TextEdgeSpace);
            }
            compare_text_with_forms(sentence, text, seen, &mut report);
        }
        Some(_) => {}
        None => comments.report_missing(FaultKind::TextMissing),
    }
}

/// The comments of a sentence.
struct Comments<'s, 'a, R> {
    sentence: &'s Sentence<'a>,
    first: TokenRow<'a>,
    report: R,
}

impl<'a, R: FnMut(u32, &'a str, usize, FaultKind)> Comments<'_, 'a, R> {
    fn report_comment(&mut self, at: usize, kind: FaultKind) {
        (self.report)(at as u32, self.sentence.comments[at], 0, kind);
    }

    fn report_missing(&mut self, kind: FaultKind) {
        (self.report)(self.first.below, self.first.text, 0, kind);
    }

    /// Returns the places of the comments with this key.
    fn comments_with_key(
        &self,
        key: &'static str,
        is: fn(&str, &str) -> bool,
    ) -> impl Iterator<Item = usize> + use<'_, 'a, R> {
        let comments = self.sentence.comments.iter().enumerate();
        comments.filter(move |(_, comment)| is(comment, key)).map(|(at, _)| at)
    }

    /// Returns the place of the first comment with this key; reports a second one.
    fn check_single_comment(&mut self, key: &'static str, is: fn(&str, &str) -> bool) -> Option<usize> {
        let (first, second) = {
            let mut all = self.comments_with_key(key, is);
            (all.next(), all.next())
        };
        if let Some(second) = second {
            self.report_comment(second, FaultKind::CommentRepeated { key });
        }
        first
    }

    /// Reports the comments that start like the key without having its form; whether there are any.
    fn report_malformed(
        &mut self,
        key: &'static str,
        form: &'static str,
        is: fn(&str, &str) -> bool,
    ) -> bool {
        let mut any = false;
        for (at, &comment) in self.sentence.comments.iter().enumerate() {
            let named = comment.strip_prefix('#').map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
            if named.is_some_and(|rest| rest.starts_with(key)) && !is(comment, key) {
                let found = Quote::new(comment);
                (self.report)(at as u32, comment, 0, FaultKind::IdForm { found, form });
                any = true;
            }
        }
        any
    }

    fn sent_id(&mut self, seen: &mut SeenIds) {
        const KEY: &str = "sent_id";
        let is = |comment: &str, key: &str| comment_value(comment, key).is_some_and(is_solid);
        let malformed = self.report_malformed(KEY, "sent_id = ID", is);
        let Some(at) = self.check_single_comment(KEY, is) else {
            if !malformed {
                self.report_missing(FaultKind::SentIdMissing);
            }
            return;
        };
        if self.comments_with_key(KEY, is).count() > 1 {
            return;
        }
        let id = comment_value(self.sentence.comments[at], KEY).unwrap_or_default();
        if let Some(&line) = seen.sent_ids.get(id) {
            self.report_comment(at, FaultKind::IdTaken { key: KEY, found: Quote::new(id), line });
        } else {
            seen.sent_ids.insert(id.into(), self.sentence.line + at);
        }
        if id.bytes().filter(|&byte| byte == b'/').count() > 1 {
            self.report_comment(at, FaultKind::SentIdSlashes { found: Quote::new(id) });
        }
    }

    fn parallel_id(&mut self, seen: &mut SeenIds) {
        const KEY: &str = "parallel_id";
        const FORM: &str = "parallel_id = corpus/sentence, then at most /altN, /partN or /altNpartN";
        let is = |comment: &str, key: &str| {
            comment_value(comment, key).is_some_and(|id| split_parallel_id(id).is_some())
        };
        self.report_malformed(KEY, FORM, is);
        let Some(at) = self.check_single_comment(KEY, is) else { return };
        let id = comment_value(self.sentence.comments[at], KEY).unwrap_or_default();
        let Some((name, suffixes)) = split_parallel_id(id) else { return };
        if self.comments_with_key(KEY, is).count() > 1 {
            return;
        }
        if let Some(&line) = seen.parallel_ids.get(id) {
            return self.report_comment(at, FaultKind::IdTaken { key: KEY, found: Quote::new(id), line });
        }
        seen.parallel_ids.insert(id.into(), self.sentence.line + at);
        let before = seen.suffixes.insert(name.into(), suffixes);
        for (index, key) in ["alt", "part"].into_iter().enumerate() {
            let expected = match before {
                Some(before) => before[index].map(|number| number.saturating_add(1)),
                None => suffixes[index].map(|_| 1),
            };
            if suffixes[index] != expected {
                let expected = match expected {
                    Some(number) => format!("{key}{number}"),
                    None => format!("no {key}, as in the sentence of this name before"),
                };
                let (found, expected) = (Quote::new(id), expected.into());
                self.report_comment(at, FaultKind::ParallelIdSuffix { found, key, expected });
            }
        }
    }
}

/// Returns the rest of a comment after this key.
fn text_after_key<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    comment.strip_prefix('#')?.trim_start().strip_prefix(key)
}

/// Returns the value of a comment `# key = value`.
fn comment_value<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    Some(text_after_key(comment, key)?.trim_start().strip_prefix('=')?.trim_start())
}

/// Returns whether a value is there and has no white space.
fn is_solid(value: &str) -> bool {
    !value.is_empty() && !value.contains(char::is_whitespace)
}

/// Returns whether a comment is the key, alone or with one word after it.
fn is_break(comment: &str, key: &str) -> bool {
    text_after_key(comment, key).is_some_and(|rest| {
        rest.is_empty() || (rest.starts_with(char::is_whitespace) && is_solid(rest.trim_start()))
    })
}

/// Returns a `parallel_id` without its suffixes, and the numbers of its suffixes `alt` and `part`.
fn split_parallel_id(id: &str) -> Option<(&str, [Option<u64>; 2])> {
    let (corpus, rest) = id.split_once('/')?;
    let (sentence, suffix) = match rest.split_once('/') {
        Some((sentence, suffix)) => (sentence, Some(suffix)),
        None => (rest, None),
    };
    let is_named = |part: &str, others: &[u8]| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || others.contains(&byte))
    };
    if !is_named(corpus, b"") || !is_named(sentence, b"-0123456789") {
        return None;
    }
    let name = &id[..corpus.len() + 1 + sentence.len()];
    let Some(suffix) = suffix else { return Some((name, [None, None])) };
    let (alt, rest) = number_after("alt", suffix)?;
    let (part, rest) = number_after("part", rest)?;
    (rest.is_empty() && (alt.is_some() || part.is_some())).then_some((name, [alt, part]))
}

/// Returns the number after `key` and the rest, or no number if `text` does not start with the key. A number
/// too large to be right is `u64::MAX`.
fn number_after<'a>(key: &str, text: &'a str) -> Option<(Option<u64>, &'a str)> {
    let Some(rest) = text.strip_prefix(key) else { return Some((None, text)) };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let digits = &rest[..end];
    if digits.is_empty() || digits.starts_with('0') {
        return None;
    }
    Some((Some(digits.parse().unwrap_or(u64::MAX)), &rest[end..]))
}

/// Compares the text with the forms of the words and ranges, and the spaces in it with `SpaceAfter=No`. Reports
/// only the first difference: later ones usually follow from it.
fn compare_text_with_forms<'a>(
    sentence: &Sentence<'a>,
    mut text: &'a str,
    seen: &mut SeenIds,
    report: &mut impl FnMut(u32, &'a str, usize, FaultKind),
) {
    let mut last = sentence.rows[0];
    let mut until = 0;
    for row in &sentence.rows {
        match row.key() {
            Some(Id::Range(_, end)) => until = end,
            Some(Id::Word(word)) if word > until => {}
            _ => continue,
        }
        bytes_examined::add(row.form().len());
        let form = row.form();
        let at = row.tabs[Column::Id as usize] as usize + 1;
        let Some(rest) = text.strip_prefix(form) else {
            let found = Quote::new(form);
            let kind = match text {
                "" => FaultKind::TextShort { found },
                _ => FaultKind::TextForm { found, text: Quote::new(text) },
            };
            return report(row.below, row.text, at, kind);
        };
        text = rest;
        last = *row;
        seen.joined = split_items(row.misc()).any(|(_, item)| item == SPACE_AFTER_NO);
        if !seen.joined {
            if !text.is_empty() && !text.starts_with(is_space) {
                let text = Quote::new(text);
                return report(row.below, row.text, at, FaultKind::SpaceAfterMissing { text });
            }
            text = text.trim_start_matches(is_space);
        }
    }
    debug_assert!(sentence.rows.iter().all(|row| row.kind != RowKind::Unknown), "no fault of level 1");
    if !text.is_empty() {
        let at = last.tabs[Column::Id as usize] as usize + 1;
        report(last.below, last.text, at, FaultKind::TextRest { text: Quote::new(text) });
    }
}
