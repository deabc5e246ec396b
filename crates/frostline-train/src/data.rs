//! Sentences as examples: subword ids, label positions and labels.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};

use frostline_align::{Aligned, Aligner};
use frostline_model::Vocabulary;
use frostline_record::Unit;
use frostline_score::{Prediction, WordOutcome};
use rayon::prelude::*;

use crate::TrainError;

/// A sentence with a tag for every word, or with one label; `_` says that there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaggedSentence<'a> {
    /// Its words.
    pub words: Vec<&'a str>,
    /// Their tags, or the sentence's one label.
    pub tags: Vec<&'a str>,
}

/// A split to work on.
#[derive(Clone, Debug)]
pub struct Split<'a> {
    /// `train`, `dev`, `test`.
    pub name: &'a str,
    /// Its sentences.
    pub sentences: &'a [TaggedSentence<'a>],
    /// What carries a label in them.
    pub unit: Unit,
}

/// A sentence as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Subword ids of the full vocabulary, specials included.
    pub ids: Vec<u32>,
    /// Compact rows of the ids, see [`Vocabulary`]; set by [`Dataset::compact`].
    pub rows: Vec<u32>,
    /// The label position of each labelled word (or of the sentence); where a word has none, what became
    /// of it.
    pub words: Vec<Result<u32, Prediction>>,
    /// The gold tag's index per word; nothing where train lacks the tag.
    pub gold: Vec<Option<u32>>,
}

/// A split as examples.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its sentences, in order.
    pub examples: Vec<Example>,
    /// The tags train lacks, sorted.
    pub unseen_tags: Vec<String>,
}

/// The sorted tags of some sentences.
#[must_use]
pub fn tag_set<'a>(sentences: impl IntoIterator<Item = &'a TaggedSentence<'a>>) -> Vec<String> {
    let tags: BTreeSet<&str> = sentences.into_iter().flat_map(|s| s.tags.iter().copied()).collect();
    tags.into_iter().filter(|&tag| tag != "_").map(String::from).collect()
}

impl Dataset {
    /// Aligns a split and makes examples of it, see [`Dataset::from_aligned`].
    ///
    /// # Errors
    /// Where a sentence cannot be aligned or has no subword, or there is none.
    pub fn build(split: &Split<'_>, aligner: &Aligner, tags: &[String]) -> Result<Self, TrainError> {
        let align = |(number, sentence): (usize, &TaggedSentence<'_>)| {
            aligner.align(&sentence.words).map_err(|source| TrainError::Align {
                split: split.name.into(),
                number: number + 1,
                source,
            })
        };
        let aligned = split.sentences.par_iter().enumerate().map(align);
        Self::from_aligned(split, &aligned.collect::<Result<Vec<Aligned>, _>>()?, tags)
    }

    /// Makes examples of a split whose sentences are aligned already, one alignment per sentence. Words tagged
    /// `_` stay in the text but have no label and no score.
    ///
    /// # Errors
    /// Where a sentence has no subword, or there is none.
    ///
    /// # Panics
    /// Where there are not as many alignments as sentences.
    pub fn from_aligned<A: Borrow<Aligned> + Sync>(
        split: &Split<'_>,
        aligned: &[A],
        tags: &[String],
    ) -> Result<Self, TrainError> {
        assert_eq!(split.sentences.len(), aligned.len(), "one alignment per sentence");
        let empty = aligned.iter().position(|aligned| aligned.borrow().ids.is_empty());
        if let Some(at) = empty {
            return Err(TrainError::NoSubword { split: split.name.into(), number: at + 1 });
        }
        if aligned.is_empty() {
            return Err(TrainError::EmptySplit { split: split.name.into() });
        }
        let index: HashMap<&str, u32> = tags.iter().zip(0..).map(|(tag, i)| (tag.as_str(), i)).collect();
        let pairs = split.sentences.par_iter().zip(aligned);
        let examples =
            pairs.map(|(sentence, aligned)| example(sentence, aligned.borrow(), &index, split.unit));
        let all: BTreeSet<&str> = split.sentences.iter().flat_map(|s| s.tags.iter().copied()).collect();
        let unseen = all.into_iter().filter(|tag| *tag != "_" && !index.contains_key(tag));
        Ok(Self { examples: examples.collect(), unseen_tags: unseen.map(String::from).collect() })
    }

    /// The same with every subword of a labelled word as a label position of its own, with the word's tag. A word then counts
    /// as often as it has subwords, so this is for what is learned from.
    ///
    /// # Panics
    /// Where there are not as many alignments as sentences.
    #[must_use]
    pub fn with_all_subwords<A: Borrow<Aligned>>(mut self, aligned: &[A]) -> Self {
        assert_eq!(self.examples.len(), aligned.len(), "one alignment per sentence");
        for (example, aligned) in self.examples.iter_mut().zip(aligned) {
            let word_ids = &aligned.borrow().word_ids;
            let parts = |position: u32| {
                let word = word_ids[position as usize];
                let same = word_ids[position as usize..].iter().take_while(move |id| **id == word).count();
                (position..position + same as u32).map(Ok)
            };
            let mut all = (Vec::new(), Vec::new());
            for (word, gold) in example.words.iter().zip(&example.gold) {
                match word {
                    Ok(position) => all.extend(parts(*position).map(|part| (part, *gold))),
                    Err(lost) => all.extend([(Err(*lost), *gold)]),
                }
            }
            (example.words, example.gold) = all;
        }
        self
    }

    /// Every id that occurs.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.examples.iter().flat_map(|example| example.ids.iter().copied())
    }

    /// Sets the rows of a compact vocabulary.
    ///
    /// # Panics
    /// Where the vocabulary lacks an id of this dataset.
    pub fn compact(&mut self, vocabulary: &Vocabulary) {
        for example in &mut self.examples {
            let row = |&id| vocabulary.row(id).expect("the vocabulary carries every id of the data");
            example.rows = example.ids.iter().map(row).collect();
        }
    }

    /// The number of subwords before each sentence.
    #[must_use]
    pub fn starts(&self) -> Vec<usize> {
        let lengths = self.examples.iter().map(|example| example.ids.len());
        lengths.scan(0, |at, length| Some(std::mem::replace(at, *at + length))).collect()
    }

    /// Subwords in all, specials included.
    #[must_use]
    pub fn subwords(&self) -> usize {
        self.examples.iter().map(|example| example.ids.len()).sum()
    }

    /// The subwords of a sentence, by its number.
    pub(crate) fn lengths(&self) -> impl Fn(&usize) -> usize {
        |&sentence| self.examples[sentence].ids.len()
    }
}

fn example(
    sentence: &TaggedSentence<'_>,
    aligned: &Aligned,
    index: &HashMap<&str, u32>,
    unit: Unit,
) -> Example {
    let mut words = match unit {
        Unit::Words => vec![Err(Prediction::Vanished); sentence.words.len()],
        Unit::Sentences => vec![Ok(0)],
    };
    if unit == Unit::Words {
        for &word in &aligned.truncated {
            words[word as usize] = Err(Prediction::Truncated);
        }
        for &(position, word) in &aligned.label_positions {
            words[word as usize] = Ok(position);
        }
    }
    let tagged = sentence.tags.iter().map(|&tag| tag != "_");
    let kept: Vec<usize> = tagged.enumerate().filter_map(|(word, tagged)| tagged.then_some(word)).collect();
    Example {
        ids: aligned.ids.clone(),
        rows: Vec::new(),
        words: kept.iter().map(|&word| words[word]).collect(),
        gold: kept.iter().map(|&word| index.get(sentence.tags[word]).copied()).collect(),
    }
}

impl Example {
    /// What became of each word, given the predictions at the label positions in order.
    pub(crate) fn outcomes<'a>(
        &'a self,
        mut predicted: impl Iterator<Item = u32> + 'a,
    ) -> impl Iterator<Item = WordOutcome> + 'a {
        self.words.iter().zip(&self.gold).map(move |(word, gold)| WordOutcome {
            gold: gold.map(|tag| tag as usize),
            predicted: match word {
                Ok(_) => {
                    Prediction::Tag(predicted.next().expect("one prediction per label position") as usize)
                }
                Err(lost) => *lost,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use frostline_align::VocabOptions;

    use super::*;

    #[test]
    fn every_subword_of_a_word_can_be_learned_from() {
        let vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##c\n##d\n";
        let aligner = Aligner::from_vocab(vocabulary, &VocabOptions::default()).expect("a vocabulary");
        // Two and one subword, a word without a tag, three subwords, a word of which nothing is left.
        let sentence = TaggedSentence {
            words: vec!["ac", "b", "bc", "acd", "\u{200b}"],
            tags: vec!["X", "Y", "_", "X", "Y"],
        };
        let tags = ["X", "Y"].map(String::from);
        let aligned = [aligner.align(&sentence.words).expect("an alignment")];
        let sentences = [sentence];
        let split = Split { name: "train", sentences: &sentences, unit: Unit::Words };
        let first = Dataset::from_aligned(&split, &aligned, &tags).expect("a dataset");
        let positions = |set: &Dataset| -> Vec<(Option<u32>, Option<u32>)> {
            let example = &set.examples[0];
            example.words.iter().map(|word| word.ok()).zip(example.gold.iter().copied()).collect()
        };
        let of_first = [(Some(1), Some(0)), (Some(3), Some(1)), (Some(6), Some(0)), (None, Some(1))];
        assert_eq!(positions(&first), of_first);
        let all = first.with_all_subwords(&aligned);
        let expected = [
            (Some(1), Some(0)),
            (Some(2), Some(0)),
            (Some(3), Some(1)),
            (Some(6), Some(0)),
            (Some(7), Some(0)),
            (Some(8), Some(0)),
            (None, Some(1)),
        ];
        assert_eq!(positions(&all), expected);
    }
}
