//! A cell's data as training, scoring and the record use them.

use std::borrow::Cow;

use frostline_model::{EncoderConfig, HeadShape, Vocabulary};
use frostline_record::{Baseline, FileName, Sample, TaskFacts, TaskSettings, Unit};
use frostline_score::Familiarity;
use frostline_train::Dataset;

use crate::corpus::Portion;
use crate::document::Labelled;

/// A cell's data, aligned.
pub(crate) struct CellData {
    /// The key of the data.
    pub key: String,
    /// By name.
    pub tasks: Vec<TaskData>,
    /// The headline's place among them.
    pub headline: usize,
    pub heads: Vec<HeadShape>,
    pub vocabulary: Vocabulary,
    pub encoder: EncoderConfig,
    pub sample: Sample,
    /// The headline's sentences in train, dev and test.
    pub sentences: [u64; 3],
}

/// One task's data, aligned.
pub(crate) struct TaskData {
    pub name: FileName,
    /// A place in [`CellData::heads`].
    pub head: usize,
    pub settings: TaskSettings,
    pub tags: Vec<String>,
    pub train: Dataset,
    pub dev: EvaluationSplit,
    pub test: Option<EvaluationSplit>,
    /// Facts about the splits, for the record.
    pub facts: TaskFacts,
    /// The most-frequent-tag baseline, if baselines are enabled.
    pub most_frequent: Option<Baseline>,
}

/// A split that is scored: its examples, and its sentences as in the file.
pub(crate) struct EvaluationSplit {
    pub set: Dataset,
    pub sentences: Portion,
    /// Familiarity of each labelled word, sentence by sentence; empty if sentences are labelled.
    pub known: Vec<Vec<Familiarity>>,
}

/// A scored sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentenceKey<'a> {
    pub id: Cow<'a, str>,
    /// The labelled words; if the sentence is labelled, its whole text as one word.
    pub words: Vec<KeyWord<'a>>,
}

/// The labelled items of a scored sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyWord<'a> {
    pub number: &'a str,
    pub form: Cow<'a, str>,
    pub gold: &'a str,
}

impl CellData {
    /// Returns the task of the headline.
    pub fn main(&self) -> &TaskData {
        &self.tasks[self.headline]
    }
}

impl TaskData {
    /// Train, dev and test, as far as there is one.
    pub fn splits(&self) -> [Option<&Dataset>; 3] {
        [Some(&self.train), Some(&self.dev.set), self.test.as_ref().map(|test| &test.set)]
    }

    /// Returns dev and, if there is one, test, with their names.
    pub fn scored(&self) -> impl Iterator<Item = (&'static str, &EvaluationSplit)> {
        [("dev", Some(&self.dev)), ("test", self.test.as_ref())]
            .into_iter()
            .filter_map(|(name, scored)| Some((name, scored?)))
    }

    /// Returns the gold labels of a scored split of this task, sentence by sentence.
    pub fn keys<'a>(&'a self, scored: &'a EvaluationSplit) -> Vec<SentenceKey<'a>> {
        let sentences = scored.sentences.labelled(&self.settings.labels);
        sentences.into_iter().map(|sentence| SentenceKey::of(sentence, self.settings.unit())).collect()
    }
}

impl<'a> SentenceKey<'a> {
    /// Returns the labelled items of a sentence.
    pub fn of(sentence: Labelled<'a>, unit: Unit) -> Self {
        let Labelled { id, numbers, tagged } = sentence;
        let form = |at: usize| match unit {
            Unit::Sentences => Cow::Owned(tagged.words.join(" ")),
            Unit::Words => Cow::Borrowed(tagged.words[at]),
        };
        let labelled = numbers.iter().zip(&tagged.tags).enumerate().filter(|(_, (_, tag))| **tag != "_");
        let words = labelled.map(|(at, (&number, &gold))| KeyWord { number, form: form(at), gold });
        Self { id, words: words.collect() }
    }
}
