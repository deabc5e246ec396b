//! How many words of each sentence a file of predictions has right. `StageWords` has those of all
//! stages and tasks but the headline at its end, whose words several topics need.

use std::collections::BTreeMap;

use frostline_record::Score;
use frostline_score::linear::ClassCount;

use crate::study::prediction_file::{PredictionFile, PredictionKey};
use crate::study::predictions::{Items, TextName};
use crate::study::scores::entity_counts;
use crate::study::tagged::{Expected, PredictedTags, SplitText, Tagged};

/// What a file has right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CorrectCounts {
    pub text: TextName,
    /// The number of labelled words of each sentence; 1 if sentences are labelled.
    pub lengths: Vec<u32>,
    /// How many of them are right.
    pub words: Vec<u32>,
    /// Entities of each sentence, if the task is scored by their F1.
    pub entities: FileEntities,
    /// Tags of each sentence, if the macro F1 of tags is compared.
    pub tags: Option<Vec<Vec<ClassCount>>>,
}

/// The entities of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileEntities {
    /// The task is scored by another metric.
    NotScored,
    /// Counts of each sentence.
    Counted(Vec<Vec<ClassCount>>),
    /// The file has other entities than its record counts.
    Unlike,
}

/// A text's name, which does not depend on what train contains of its words.
pub(crate) fn name(text: &SplitText, tags: &[String]) -> TextName {
    let (mut shape, mut whole) = (String::new(), String::new());
    for (sentence, range) in text.ranges() {
        shape += "\n";
        whole += &format!("{}\n", sentence.id);
        for word in &text.words[range] {
            let gold = &tags[usize::from(word.gold)];
            shape += &format!("{gold}\n");
            whole += &format!("{}\t{gold}\n", word.form);
        }
    }
    TextName::new(&shape, &whole, text.has_words)
}

impl CorrectCounts {
    /// Counts right words; `text` is the name of `words`.
    pub fn of_words(text: TextName, words: &SplitText, predictions: &PredictedTags) -> Self {
        let is_right = |at: &usize| predictions.predicted[*at] == Some(words.words[*at].gold);
        Self {
            text,
            lengths: words.ranges().map(|(_, range)| range.len() as u32).collect(),
            words: words.ranges().map(|(_, range)| range.filter(is_right).count() as u32).collect(),
            entities: FileEntities::NotScored,
            tags: None,
        }
    }

    /// The same with its entities, if the record counts them.
    pub fn with_entities(
        self,
        text: &SplitText,
        tags: &[String],
        predictions: &PredictedTags,
        score: &Score,
    ) -> Self {
        let Some(recorded) = score.entities else { return self };
        let counts = entity_counts(text, tags, predictions);
        let sum =
            |get: fn(&ClassCount) -> u16| counts.iter().flatten().map(|one| u64::from(get(one))).sum::<u64>();
        let same = sum(|one| one.part) == 2 * recorded.correct
            && sum(|one| one.whole) == recorded.gold + recorded.predicted;
        let entities = if same { FileEntities::Counted(counts) } else { FileEntities::Unlike };
        Self { entities, ..self }
    }

    /// The same with its tags.
    pub fn with_tags(self, counts: Vec<Vec<ClassCount>>) -> Self {
        Self { tags: Some(counts), ..self }
    }

    /// Counts right sentences.
    pub fn of_sentences(items: &Items) -> Self {
        Self {
            text: items.text.clone(),
            lengths: vec![1; items.right.len()],
            words: items.right.iter().map(|&right| u32::from(right)).collect(),
            entities: FileEntities::NotScored,
            tags: None,
        }
    }
}

/// What was right after every stage in tasks that label words.
#[derive(Default)]
pub(crate) struct StageWords {
    found: BTreeMap<PredictionKey, CorrectCounts>,
}

impl StageWords {
    /// Adds a file if its record has a score for it.
    ///
    /// # Errors
    /// It has other columns, or other counts than its record.
    pub fn add(&mut self, file: &PredictionFile<'_>, text: &str) -> Result<(), String> {
        let Some(score) = file.score else { return Ok(()) };
        let expected = Expected::of(score, file.facts, file.split);
        let (tags, text, predictions) = Tagged::one(text, &file.facts.tags, expected)?;
        let text = SplitText { has_words: file.has_words(), ..text };
        let right = CorrectCounts::of_words(name(&text, &tags), &text, &predictions);
        self.found.insert(file.key(), right.with_entities(&text, &tags, &predictions, score));
        Ok(())
    }

    /// What a cell had right after a stage.
    pub fn get(&self, key: &PredictionKey) -> Option<&CorrectCounts> {
        self.found.get(key)
    }
}
