//! The stored predictions of words: which tag each word of a split got, in every cell. Cells that scored the same
//! split share its words. A file that does not give its record's counts again is left out.

use std::collections::{BTreeMap, HashMap};

use frostline_record::{Cell, Score, TaskFacts};
use frostline_score::{Familiarity, WordOutcome};

use crate::study::prediction_file::PredictionFile;
use crate::study::predictions::is_nothing;

/// A tag's place in [`Tagged::tags`].
pub(crate) type TagIndex = u16;

/// The predictions of every cell that were read.
#[derive(Default)]
pub(crate) struct Tagged {
    pub tags: Vec<String>,
    pub texts: Vec<SplitText>,
    /// The place of each tag.
    places: HashMap<String, TagIndex>,
    of: BTreeMap<(String, &'static str), PredictedTags>,
}

/// The words of a split, with what is the same in every cell that scored it.
#[derive(PartialEq, Eq)]
pub(crate) struct SplitText {
    /// Whether the forms are from the treebank: published records have none.
    pub has_words: bool,
    pub sentences: Vec<SentenceSpan>,
    pub words: Vec<LabelledWord>,
}

/// A sentence: its id and where its words start.
#[derive(PartialEq, Eq)]
pub(crate) struct SentenceSpan {
    pub id: String,
    pub start: usize,
}

/// A labelled word.
#[derive(PartialEq, Eq)]
pub(crate) struct LabelledWord {
    pub form: String,
    pub gold: TagIndex,
    pub known: Familiarity,
}

/// What one cell predicted for a text.
pub(crate) struct PredictedTags {
    /// Index in [`Tagged::texts`].
    pub text: usize,
    /// A tag per word, or nothing.
    pub predicted: Vec<Option<TagIndex>>,
}

impl Tagged {
    /// Adds a file of the headline at the end of a cell.
    ///
    /// # Errors
    /// It has other columns, or other counts than its record.
    pub fn add(&mut self, file: &PredictionFile<'_>, text: &str) -> Result<(), String> {
        let expected = file.score.map(|score| Expected::of(score, file.facts, file.split));
        let (text, predicted) = self.parse(text, &file.facts.tags, expected)?;
        let text = self.share(SplitText { has_words: file.has_words(), ..text });
        self.of.insert((file.cell.id.clone(), file.split), PredictedTags { text, predicted });
        Ok(())
    }

    /// The predictions of a single file, with the names of its tags.
    pub fn one(
        text: &str,
        train: &[String],
        expected: Expected,
    ) -> Result<(Vec<String>, SplitText, PredictedTags), String> {
        let mut read = Self::default();
        let (text, predicted) = read.parse(text, train, Some(expected))?;
        Ok((read.tags, text, PredictedTags { text: 0, predicted }))
    }

    /// What a cell predicted on a split.
    pub fn get(&self, cell: &Cell, split: &'static str) -> Option<&PredictedTags> {
        self.of.get(&(cell.id.clone(), split))
    }

    /// The place of a text, new or not.
    fn share(&mut self, text: SplitText) -> usize {
        self.texts.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        })
    }

    /// Reads a file of predictions: its words in their sentences, and their predictions. `train` are the tags of train.
    /// `expected` is what the record has of the file.
    fn parse(
        &mut self,
        text: &str,
        train: &[String],
        expected: Option<Expected>,
    ) -> Result<(SplitText, Vec<Option<TagIndex>>), String> {
        let mut tag = |name: &str| {
            self.places.get(name).copied().unwrap_or_else(|| {
                let place = TagIndex::try_from(self.tags.len()).unwrap_or(TagIndex::MAX);
                self.tags.push(name.into());
                self.places.insert(name.into(), place);
                place
            })
        };
        let (mut sentences, mut words, mut predicted) = (Vec::<SentenceSpan>::new(), Vec::new(), Vec::new());
        // Records of before sentences were numbered have a column less.
        let is_numbered = text.lines().next().is_some_and(|head| head.ends_with("\tsentence"));
        let width = if is_numbered { 7 } else { 6 };
        let (mut last_sentence, mut last_word) = ("", 0);
        for (at, line) in text.lines().enumerate().skip(1) {
            let fault = |what: String| format!("line {} {what}", at + 1);
            let columns: Vec<&str> = line.split('\t').collect();
            let &[id, word, form, gold, label, known, ref rest @ ..] = columns.as_slice() else {
                return Err(fault(format!("has {} columns, not {width}", columns.len())));
            };
            if columns.len() != width {
                return Err(fault(format!("has {} columns, not {width}", columns.len())));
            }
            let word: u32 = word.parse().map_err(|_| fault(format!("has the number {word:?}")))?;
            let known = Familiarity::parse(known)
                .ok_or_else(|| fault(format!("has {known:?} in the column on train")))?;
            // Without numbers, sentences that have no id are told apart by their words, which start again.
            let sentence = rest.first().copied().unwrap_or(id);
            if sentences.is_empty() || sentence != last_sentence || (!is_numbered && word <= last_word) {
                sentences.push(SentenceSpan { id: id.into(), start: words.len() });
            }
            (last_sentence, last_word) = (sentence, word);
            words.push(LabelledWord { form: form.into(), gold: tag(gold), known });
            predicted.push((!is_nothing(label, train)).then(|| tag(label)));
        }
        if let Some(expected) = expected {
            let right = words.iter().zip(&predicted).filter(|(word, tag)| **tag == Some(word.gold)).count();
            expected.check(words.len(), right, sentences.len())?;
        }
        Ok((SplitText { has_words: true, sentences, words }, predicted))
    }
}

/// What a record has of a file of predictions.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    words: u64,
    correct: u64,
    /// Sentences that have a label.
    sentences: Option<u64>,
}

impl Expected {
    /// Returns what to expect of a split with this score and these facts.
    pub fn of(score: &Score, facts: &TaskFacts, split: &str) -> Self {
        let facts = facts.splits().find(|(name, _)| *name == split).map(|(_, facts)| facts);
        let sentences = facts.filter(|facts| facts.sentences > 0 && facts.sentences == score.sentences);
        let sentences = sentences.and_then(|facts| facts.sentences.checked_sub(facts.unlabelled));
        Self { words: score.words, correct: score.correct, sentences }
    }

    /// Checks what was read.
    fn check(&self, words: usize, right: usize, sentences: usize) -> Result<(), String> {
        let Self { words: all, correct, .. } = *self;
        if (all, correct) != (words as u64, right as u64) {
            return Err(format!("it has {right} of {words} words right, its record {correct} of {all}"));
        }
        match self.sentences {
            Some(recorded) if recorded != sentences as u64 => Err(format!(
                "it has {sentences} sentences with labels, its record {recorded}; without the column `sentence`, sentences that have \
                 no id of their own cannot always be told apart: run the cell again"
            )),
            _ => Ok(()),
        }
    }
}

impl SplitText {
    /// Every sentence with its words' places.
    pub fn ranges(&self) -> impl Iterator<Item = (&SentenceSpan, std::ops::Range<usize>)> {
        let ends = self.sentences.iter().skip(1).map(|next| next.start).chain([self.words.len()]);
        self.sentences.iter().zip(ends).map(|(sentence, end)| (sentence, sentence.start..end))
    }

    /// The tags of its words and predictions, sorted by name, and their numbers.
    pub fn tag_set<'a>(&self, predictions: &PredictedTags, tags: &'a [String]) -> Vec<(&'a str, TagIndex)> {
        let gold = self.words.iter().map(|word| word.gold);
        let mut there = vec![false; tags.len()];
        for tag in gold.chain(predictions.predicted.iter().copied().flatten()) {
            there[usize::from(tag)] = true;
        }
        let all = tags.iter().zip(0..).zip(there).filter(|(_, there)| *there);
        let mut named: Vec<(&str, TagIndex)> = all.map(|((name, tag), _)| (name.as_str(), tag)).collect();
        named.sort_unstable();
        named
    }
}

/// A word's outcome; the file has no reason for a missing prediction, and nothing here needs it.
pub(crate) fn word_outcome(gold: usize, predicted: Option<usize>) -> WordOutcome {
    match predicted {
        Some(tag) => WordOutcome::tagged(Some(gold), tag),
        None => WordOutcome::truncated(Some(gold)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "sent_id\tid\tform\tgold\tpredicted\ttrain\n";

    fn parse(lines: &str, expected: Option<Expected>) -> Result<(SplitText, Vec<Option<TagIndex>>), String> {
        Tagged::default().parse(&format!("{HEAD}{lines}"), &[], expected)
    }

    #[test]
    fn sentences_end_where_the_id_changes_or_numbers_start_again() {
        let lines = "a\t1\tx\tN\tN\tunknown\na\t3\ty\tV\t_\tambiguous\nb\t4\tz\tN\tV\tunambiguous\n\
                     -\t1\tx\tN\tN\tunknown\n-\t1\tx\tN\tN\tunknown\n";
        let (text, predicted) = parse(lines, None).expect("good lines");
        let found: Vec<_> = text.ranges().map(|(sentence, range)| (sentence.id.as_str(), range)).collect();
        assert_eq!(found, [("a", 0..2), ("b", 2..3), ("-", 3..4), ("-", 4..5)]);
        assert_eq!(predicted, [Some(0), None, Some(1), Some(0), Some(0)]);
        assert_eq!((text.words[1].gold, text.words[1].known), (1, Familiarity::Ambiguous));
    }

    #[test]
    fn a_file_that_is_not_its_records_is_refused() {
        let told = |lines: &str| parse(lines, None).err();
        assert_eq!(told("a\t1\tx\tN\tN\n"), Some("line 2 has 5 columns, not 6".into()));
        assert_eq!(told("a\tone\tx\tN\tN\tunknown\n"), Some("line 2 has the number \"one\"".into()));
        assert_eq!(told("a\t1\tx\tN\tN\tseen\n"), Some("line 2 has \"seen\" in the column on train".into()));
        let expected = Expected { words: 1, correct: 0, sentences: None };
        let told = parse("a\t1\tx\tN\tN\tunknown\n", Some(expected)).err();
        assert_eq!(told, Some("it has 1 of 1 words right, its record 0 of 1".into()));
    }

    #[test]
    fn numbered_sentences_are_told_apart_whatever_their_ids_and_first_labels() {
        let head = HEAD.replace("train", "train\tsentence");
        // Only the number shows that the second word begins a sentence: it is the second of its own.
        let lines = "-\t1\tx\tN\tN\tunknown\t1\n-\t2\tx\tN\tN\tunknown\t2\n-\t3\tx\tN\tN\tunknown\t4\n";
        let parse = |text: &str, sentences| {
            let expected = Expected { words: 3, correct: 3, sentences: Some(sentences) };
            let found = Tagged::default().parse(text, &[], Some(expected));
            found.map(|(text, _)| text.sentences.len())
        };
        assert_eq!(parse(&format!("{head}{lines}"), 3), Ok(3));
        let told = parse(&format!("{head}{lines}"), 4).unwrap_err();
        assert!(told.starts_with("it has 3 sentences with labels, its record 4"), "{told}");
        // A record of before sentences were numbered, which would be compared as if they were one.
        let old: String =
            lines.lines().map(|line| format!("{}\n", line.rsplit_once('\t').unwrap().0)).collect();
        assert!(parse(&format!("{HEAD}{old}"), 3).unwrap_err().contains("run the cell again"));
    }

    #[test]
    fn a_dash_is_a_label_where_train_has_it() {
        let text = format!("{HEAD}a\t1\tx\t-\t-\tunknown\n");
        let parsed = |train: &[String]| {
            let (_, predictions) = Tagged::default().parse(&text, train, None).expect("a line");
            predictions
        };
        assert_eq!((parsed(&["-".into()]), parsed(&["N".into()])), (vec![Some(0)], vec![None]));
    }
}
