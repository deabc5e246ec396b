//! Sentences of any length as slices of a bounded number of words, in groups that are read together.

use std::ops::Range;

use frostline_align::AlignError;

use crate::answer::{PART_WORDS, Part, SentenceError};

/// About how many words are aligned before the model reads them.
const GROUP_WORDS: usize = 4 * PART_WORDS;

/// A part of at most [`PART_WORDS`] own words, as it is aligned.
pub(crate) struct Slice<'a> {
    /// The index of the part that it belongs to.
    pub part: usize,
    /// Index of the slice's first word in the part.
    pub first: usize,
    pub words: &'a [&'a str],
    /// Which of the words are its own.
    pub own: Range<usize>,
    /// How many own words of the part are in earlier slices.
    pub done: usize,
}

impl Slice<'_> {
    /// Returns the error of a word, whose place is counted from the part's first word.
    pub fn sentence_error(&self, mut error: AlignError) -> SentenceError {
        if let AlignError::Word { word, .. } = &mut error {
            *word += self.first;
        }
        SentenceError { sentence: self.part, source: error }
    }
}

/// Returns the parts, with long ones cut further. Each slice has so many words of context on either side.
pub(crate) fn cut_slices<'a>(
    parts: &'a [Part<'a>],
    context: usize,
) -> impl Iterator<Item = Slice<'a>> + use<'a> {
    parts.iter().enumerate().flat_map(move |(part, Part { words, own })| {
        let end = own.end;
        own.clone().step_by(PART_WORDS).map(move |from| {
            let to = (from + PART_WORDS).min(end);
            let first = from.saturating_sub(context);
            let words = &words[first..(to + context).min(words.len())];
            Slice { part, first, words, own: from - first..to - first, done: from - own.start }
        })
    })
}

/// Returns the slices in groups that have [`GROUP_WORDS`] words or little more.
pub(crate) fn group_slices<'a, 'b>(slices: &'a [Slice<'b>]) -> impl Iterator<Item = &'a [Slice<'b>]> {
    let mut rest = slices;
    std::iter::from_fn(move || {
        let mut words = 0;
        let enough = |slice: &Slice<'_>| {
            words += slice.words.len();
            words >= GROUP_WORDS
        };
        let count = rest.iter().position(enough).map_or(rest.len(), |last| last + 1);
        let (group, later) = rest.split_at(count);
        rest = later;
        Some(group).filter(|group| !group.is_empty())
    })
}

/// Returns whole sentences as parts.
pub(crate) fn whole_sentences<'a, S: AsRef<[W]>, W: AsRef<str> + 'a>(sentences: &'a [S]) -> Vec<Part<'a>> {
    let part = |words: &'a S| {
        let words: Vec<&str> = words.as_ref().iter().map(AsRef::as_ref).collect();
        Part { own: 0..words.len(), words }
    };
    sentences.iter().map(part).collect()
}
