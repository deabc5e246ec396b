//! A cell compared with the cell of its seed in which everything learns, word by word, over the same words. No sentence of
//! test is shown, so that test is not used to choose changes.

use serde::Serialize;

use crate::study::place::placed;
use crate::study::tagged::{LabelledWord, PredictedTags, SentenceSpan, TagIndex, Tagged};
use crate::study::{BASELINE, CellGroup, CellView, SPLITS};

/// The most sentences that are shown of two policies.
const EXAMPLES: usize = 5;

/// Two cells that differ only in what is frozen, on a split.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Versus {
    /// The cell's place among the report's cells.
    #[serde(skip)]
    pub cell: usize,
    pub lang: String,
    pub policy: String,
    /// Values of the further axes, in their order.
    pub extras: Vec<String>,
    pub seed: u64,
    pub split: &'static str,
    pub words: u64,
    pub sentences: u64,
    /// Words that got another tag than from the baseline.
    pub other_words: u64,
    /// Sentences with at least one of them.
    pub other_sentences: u64,
    /// Words of these that both have wrong.
    pub both_wrong: u64,
    /// Words that only the baseline has right.
    pub only_none_right: u64,
    /// Words that only this cell has right.
    pub only_this_right: u64,
    #[serde(skip)]
    pub examples: Vec<DifferingSentence>,
}

/// A sentence in which two policies differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DifferingSentence {
    pub id: String,
    pub words: Vec<ShownWord>,
}

/// One of its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownWord {
    pub form: String,
    pub gold: String,
    /// The baseline's tag and the other policy's, if they differ; nothing if there is none.
    pub differs: Option<[Option<String>; 2]>,
}

placed!(struct Versus);

impl DifferingSentence {
    pub fn differing(&self) -> usize {
        self.words.iter().filter(|word| word.differs.is_some()).count()
    }
}

/// Every cell that has such a twin, in the order of groups, dev before test. Sentences are shown for the
/// first seed of a policy.
pub(super) fn compare_with_baseline(cells: &[CellView], groups: &[CellGroup], read: &Tagged) -> Vec<Versus> {
    let mut all: Vec<Versus> = Vec::new();
    for group in groups.iter().filter(|group| group.policy != BASELINE) {
        for split in SPLITS {
            let mut shows = split == "dev";
            for (cell, view) in cells.iter().enumerate().filter(|(_, view)| group.holds(view)) {
                let Some((mine, base)) = pair_predictions(cells, view, split, read) else { continue };
                let mut versus = Versus::new(cell, view, split, [base, mine], read);
                if shows && read.texts[mine.text].has_words {
                    versus.examples = find_examples([base, mine], read);
                }
                shows = false;
                all.push(versus);
            }
        }
    }
    all
}

/// The predictions of a cell and its baseline for the same words.
fn pair_predictions<'a>(
    cells: &[CellView],
    view: &CellView,
    split: &'static str,
    read: &'a Tagged,
) -> Option<(&'a PredictedTags, &'a PredictedTags)> {
    let is_base = |other: &&CellView| other.cell.settings.policy == BASELINE && other.is_twin_of(view);
    let mine = read.get(&view.cell, split)?;
    let base = cells.iter().filter(is_base).find_map(|base| read.get(&base.cell, split))?;
    (mine.text == base.text).then_some((mine, base))
}

impl Versus {
    fn new(
        cell: usize,
        view: &CellView,
        split: &'static str,
        [base, mine]: [&PredictedTags; 2],
        read: &Tagged,
    ) -> Self {
        let text = &read.texts[mine.text];
        let words = || text.words.iter().zip(base.predicted.iter().zip(&mine.predicted));
        let is_right = |tag: &Option<TagIndex>, gold: TagIndex| *tag == Some(gold);
        let only = |right: [bool; 2]| {
            let is = |(word, (a, b)): &(&LabelledWord, (&Option<TagIndex>, &Option<TagIndex>))| {
                [is_right(a, word.gold), is_right(b, word.gold)] == right
            };
            words().filter(is).count() as u64
        };
        let (only_none_right, only_this_right) = (only([true, false]), only([false, true]));
        let other_words = words().filter(|(_, (a, b))| a != b).count() as u64;
        let differ = |range: std::ops::Range<usize>| base.predicted[range.clone()] != mine.predicted[range];
        let settings = &view.cell.settings;
        Self {
            cell,
            lang: settings.lang.to_string(),
            policy: settings.policy.to_string(),
            extras: view.extras.clone(),
            seed: settings.seed,
            split,
            words: text.words.len() as u64,
            sentences: text.sentences.len() as u64,
            other_words,
            other_sentences: text.ranges().filter(|(_, range)| differ(range.clone())).count() as u64,
            both_wrong: other_words - only_none_right - only_this_right,
            only_none_right,
            only_this_right,
            examples: Vec::new(),
        }
    }
}

/// The sentences with the most words that differ; of equal ones the earlier.
fn find_examples([base, mine]: [&PredictedTags; 2], read: &Tagged) -> Vec<DifferingSentence> {
    let text = &read.texts[mine.text];
    let differs = |at: usize| base.predicted[at] != mine.predicted[at];
    let mut ranked: Vec<_> = text
        .ranges()
        .map(|(sentence, range)| (range.clone().filter(|&at| differs(at)).count(), sentence, range))
        .filter(|(count, ..)| *count > 0)
        .collect();
    ranked.sort_by_key(|(count, ..)| std::cmp::Reverse(*count));
    ranked.truncate(EXAMPLES);
    let name = |tag: TagIndex| read.tags[usize::from(tag)].clone();
    let shown = |at: usize| ShownWord {
        form: text.words[at].form.clone(),
        gold: name(text.words[at].gold),
        differs: differs(at).then(|| [base, mine].map(|cell| cell.predicted[at].map(name))),
    };
    let example = |(_, sentence, range): (usize, &SentenceSpan, std::ops::Range<usize>)| DifferingSentence {
        id: sentence.id.clone(),
        words: range.map(shown).collect(),
    };
    ranked.into_iter().map(example).collect()
}
