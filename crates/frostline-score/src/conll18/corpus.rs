//! Sentences as spans over their concatenated characters.
//!
//! Computes spans, reduces FEATS and DEPREL to their universal part, and links heads and children.

use super::rows::{MultiwordToken, ScoredSentence, WordRow};
use crate::error::{ScoreError, SentenceFault};

/// The features that are compared; all others are language-specific.
const UNIVERSAL_FEATURES: [&str; 21] = [
    "Abbr", "Animacy", "Aspect", "Case", "Definite", "Degree", "Evident", "Foreign", "Gender", "Mood",
    "NumType", "Number", "Person", "Polarity", "Polite", "Poss", "PronType", "Reflex", "Tense", "VerbForm",
    "Voice",
];

/// The bytes `start..end` of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharSpan {
    pub start: usize,
    pub end: usize,
}

/// The syntactic head of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// The column does not contain a number.
    Unknown,
    Root,
    /// Index into [`Corpus::words`].
    Word(usize),
}

pub struct CorpusWord<'a> {
    pub row: WordRow<'a>,
    /// The word's own span, or the span of its whole multiword token.
    pub span: CharSpan,
    pub multiword: bool,
    /// Universal features, sorted.
    pub feats: Vec<&'a str>,
    /// DEPREL without its subtype.
    pub deprel: &'a str,
    pub parent: Parent,
    /// Children with a functional relation, in order.
    pub functional: Vec<usize>,
}

pub struct Corpus<'a> {
    /// The forms of all tokens, without spaces.
    pub text: String,
    pub tokens: Vec<CharSpan>,
    pub sentences: Vec<CharSpan>,
    pub words: Vec<CorpusWord<'a>>,
}

impl<'a> Corpus<'a> {
    pub fn new(side: &'static str, sentences: &[ScoredSentence<'a>]) -> Result<Self, ScoreError> {
        let mut corpus = Self {
            text: String::new(),
            tokens: Vec::new(),
            sentences: Vec::with_capacity(sentences.len()),
            words: Vec::new(),
        };
        for (index, sentence) in sentences.iter().enumerate() {
            corpus.push(sentence).map_err(|fault| ScoreError::Sentence {
                side,
                sentence: index + 1,
                fault,
            })?;
        }
        Ok(corpus)
    }

    /// Returns whether every word has a head, without which syntax cannot be scored.
    pub fn has_syntax(&self) -> bool {
        self.words.iter().all(|w| w.parent != Parent::Unknown)
    }

    fn push(&mut self, sentence: &ScoredSentence<'a>) -> Result<(), SentenceFault> {
        if sentence.words.is_empty() {
            return Err(SentenceFault::NoWords);
        }
        let (start, base) = (self.text.len(), self.words.len());
        let mut ranges = sentence.ranges.iter().peekable();
        let mut next = 1;
        while next <= sentence.words.len() {
            let range = ranges.next_if(|range| range.first == next);
            let (form, last) = match range {
                Some(range) => (range.form, fitting_last(range, sentence.words.len())?),
                None => (sentence.words[next - 1].form, next),
            };
            let span = self.push_token(form);
            if span.start == span.end {
                return Err(SentenceFault::EmptyForm { word: next });
            }
            for number in next..=last {
                let word = lay_out(sentence, number, base, span, range.is_some())?;
                self.words.push(word);
            }
            next = last + 1;
        }
        if let Some(range) = ranges.next() {
            return Err(range_fault(range, sentence.words.len()));
        }
        let end = self.text.len();
        self.sentences.push(CharSpan { start, end });
        self.link_functional_children(base);
        Ok(())
    }

    fn push_token(&mut self, form: &str) -> CharSpan {
        let start = self.text.len();
        self.text.extend(form.chars().filter(|&c| !is_space(c)));
        let span = CharSpan { start, end: self.text.len() };
        self.tokens.push(span);
        span
    }

    fn link_functional_children(&mut self, base: usize) {
        for child in base..self.words.len() {
            if let Parent::Word(parent) = self.words[child].parent
                && is_functional(self.words[child].deprel)
            {
                self.words[parent].functional.push(child);
            }
        }
    }

    /// Returns the number, from 1, of the sentence that contains byte `at` of the text.
    fn sentence_at(&self, at: usize) -> usize {
        self.sentences.partition_point(|s| s.end <= at) + 1
    }
}

fn lay_out<'a>(
    sentence: &ScoredSentence<'a>,
    number: usize,
    base: usize,
    span: CharSpan,
    multiword: bool,
) -> Result<CorpusWord<'a>, SentenceFault> {
    let row = sentence.words[number - 1];
    let words = sentence.words.len();
    let parent = match row.head {
        None => Parent::Unknown,
        Some(0) => Parent::Root,
        Some(head) if head <= words => Parent::Word(base + head - 1),
        Some(head) => {
            return Err(SentenceFault::Head { word: number, head, words });
        }
    };
    Ok(CorpusWord {
        row,
        span,
        multiword,
        feats: universal_features(row.feats),
        deprel: universal_relation(row.deprel),
        parent,
        functional: Vec::new(),
    })
}

fn fitting_last(range: &MultiwordToken, words: usize) -> Result<usize, SentenceFault> {
    if range.last < range.first || range.last > words {
        return Err(range_fault(range, words));
    }
    Ok(range.last)
}

const fn range_fault(range: &MultiwordToken, words: usize) -> SentenceFault {
    SentenceFault::Range { first: range.first, last: range.last, words }
}

/// Checks that two corpora have the same text.
///
/// # Errors
/// If they differ, with the place of the first difference.
pub fn same_text(gold: &Corpus, system: &Corpus) -> Result<(), ScoreError> {
    if gold.text == system.text {
        return Ok(());
    }
    let pairs = gold.text.char_indices().zip(system.text.chars());
    let equal = pairs.take_while(|&((_, g), s)| g == s);
    let (shared, bytes) = equal.fold((0, 0), |(n, _), ((at, c), _)| (n + 1, at + c.len_utf8()));
    let ahead = |text: &str| text[bytes..].chars().take(20).collect::<String>();
    Err(ScoreError::Text {
        shared,
        gold: ahead(&gold.text),
        gold_sentence: gold.sentence_at(bytes).min(gold.sentences.len()),
        system: ahead(&system.text),
        system_sentence: system.sentence_at(bytes).min(system.sentences.len()),
    })
}

fn universal_features(feats: &str) -> Vec<&str> {
    let is_universal = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        UNIVERSAL_FEATURES.contains(&name)
    };
    let mut kept: Vec<&str> = feats.split('|').filter(is_universal).collect();
    kept.sort_unstable();
    kept
}

fn universal_relation(deprel: &str) -> &str {
    deprel.split(':').next().unwrap_or_default()
}

/// Relations of function words: they form one unit with their parent in MLAS.
pub fn is_functional(relation: &str) -> bool {
    matches!(relation, "aux" | "case" | "cc" | "clf" | "cop" | "det" | "mark")
}

/// Relations of content words, the only words that CLAS, MLAS and BLEX count. All other relations are
/// functional, punctuation, or not universal.
pub fn is_content(relation: &str) -> bool {
    matches!(
        relation,
        "acl"
            | "advcl"
            | "advmod"
            | "amod"
            | "appos"
            | "ccomp"
            | "compound"
            | "conj"
            | "csubj"
            | "dep"
            | "discourse"
            | "dislocated"
            | "expl"
            | "fixed"
            | "flat"
            | "goeswith"
            | "iobj"
            | "list"
            | "nmod"
            | "nsubj"
            | "nummod"
            | "obj"
            | "obl"
            | "orphan"
            | "parataxis"
            | "reparandum"
            | "root"
            | "vocative"
            | "xcomp"
    )
}

/// Unicode space separators (category Zs), which are not part of the compared text.
pub const fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}
