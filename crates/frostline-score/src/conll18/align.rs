//! The alignment of gold words with system words.
//!
//! Outside multiword tokens, words match if they cover the same characters. A stretch of characters
//! with multiword tokens on either side is aligned by the longest common subsequence of its words'
//! forms, ignoring case. Both texts must be equal, which `same_text` has checked.

use super::corpus::{CorpusWord, is_space};

/// Pairs of matching words, and the lookup in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// (gold word, system word), ascending on both sides; words are numbered from 0 over all
    /// sentences.
    pub pairs: Vec<(usize, usize)>,
    /// Per gold word, its system word.
    pub system_of: Vec<Option<usize>>,
    /// Per system word, its gold word.
    pub gold_of: Vec<Option<usize>>,
}

impl Alignment {
    fn new(gold: usize, system: usize) -> Self {
        Self {
            pairs: Vec::with_capacity(gold.min(system)),
            system_of: vec![None; gold],
            gold_of: vec![None; system],
        }
    }

    fn add_pair(&mut self, gold: usize, system: usize) {
        self.pairs.push((gold, system));
        self.system_of[gold] = Some(system);
        self.gold_of[system] = Some(gold);
    }
}

pub fn align_words(gold: &[CorpusWord], system: &[CorpusWord]) -> Alignment {
    let mut alignment = Alignment::new(gold.len(), system.len());
    let (mut g, mut s) = (0, 0);
    while g < gold.len() && s < system.len() {
        let (ours, theirs) = (&gold[g], &system[s]);
        if ours.multiword || theirs.multiword {
            let stretch = WordOverlap::at(gold, system, g, s);
            stretch.align(gold, system, &mut alignment);
            (g, s) = (stretch.gold_end, stretch.system_end);
        } else if ours.span == theirs.span {
            alignment.add_pair(g, s);
            (g, s) = (g + 1, s + 1);
        } else if ours.span.start <= theirs.span.start {
            g += 1;
        } else {
            s += 1;
        }
    }
    alignment
}

/// The words of both sides that cover one minimal stretch of overlapping multiword tokens.
struct WordOverlap {
    gold_start: usize,
    gold_end: usize,
    system_start: usize,
    system_end: usize,
}

impl WordOverlap {
    /// Returns the stretch that begins with the multiword token at `g` or `s`.
    fn at(gold: &[CorpusWord], system: &[CorpusWord], mut g: usize, mut s: usize) -> Self {
        // A plain word that begins before the multiword token extends beyond the stretch. The
        // official scorer skips only one such word, and equal scores need the same alignment.
        let mut end = if gold[g].multiword {
            s += usize::from(!system[s].multiword && system[s].span.start < gold[g].span.start);
            gold[g].span.end
        } else {
            g += usize::from(gold[g].span.start < system[s].span.start);
            system[s].span.end
        };
        let (gold_start, system_start) = (g, s);
        while is_inside(gold, g, end) || is_inside(system, s, end) {
            let gold_first = match (gold.get(g), system.get(s)) {
                (Some(ours), Some(theirs)) => ours.span.start <= theirs.span.start,
                (ours, _) => ours.is_some(),
            };
            let word = if gold_first { &gold[g] } else { &system[s] };
            if word.multiword {
                end = end.max(word.span.end);
            }
            g += usize::from(gold_first);
            s += usize::from(!gold_first);
        }
        Self { gold_start, gold_end: g, system_start, system_end: s }
    }

    /// Pairs the words of a longest common subsequence, the earliest one in gold.
    fn align(&self, gold: &[CorpusWord], system: &[CorpusWord], alignment: &mut Alignment) {
        let forms = |words: &[CorpusWord]| words.iter().map(comparable_form).collect::<Vec<String>>();
        let ours = forms(&gold[self.gold_start..self.gold_end]);
        let theirs = forms(&system[self.system_start..self.system_end]);
        let common = Common::longest_common(&ours, &theirs);
        let (mut g, mut s) = (0, 0);
        while g < ours.len() && s < theirs.len() {
            if ours[g] == theirs[s] {
                alignment.add_pair(self.gold_start + g, self.system_start + s);
                (g, s) = (g + 1, s + 1);
            } else if common.at(g, s) == common.at(g + 1, s) {
                g += 1;
            } else {
                s += 1;
            }
        }
    }
}

/// Returns the form for comparison. Spaces are removed only from words that are tokens: the official scorer
/// keeps the spaces of words inside a multiword token, whose forms are not part of the text.
fn comparable_form(word: &CorpusWord) -> String {
    let form = word.row.form;
    if word.multiword || !form.contains(is_space) {
        form.to_lowercase()
    } else {
        form.replace(is_space, "").to_lowercase()
    }
}

/// Returns whether the word at `index` exists and is in a stretch that ends at `end`. A multiword token only
/// has to begin in it, since it extends the stretch.
fn is_inside(words: &[CorpusWord], index: usize, end: usize) -> bool {
    words.get(index).is_some_and(
        |word| {
            if word.multiword { word.span.start < end } else { word.span.end <= end }
        },
    )
}

/// Lengths of the longest common subsequences of all pairs of suffixes.
struct Common {
    lengths: Vec<u32>,
    width: usize,
}

impl Common {
    fn longest_common(a: &[String], b: &[String]) -> Self {
        let width = b.len() + 1;
        let mut lengths = vec![0u32; (a.len() + 1) * width];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                lengths[i * width + j] = if a[i] == b[j] {
                    lengths[(i + 1) * width + j + 1] + 1
                } else {
                    lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
                };
            }
        }
        Self { lengths, width }
    }

    fn at(&self, i: usize, j: usize) -> u32 {
        self.lengths[i * self.width + j]
    }
}
