//! How many words of each sentence a file of predictions has right. Files of tasks that label words are read here for all
//! stages and tasks but the headline at its end, whose words several topics need.

use std::collections::BTreeMap;

use frostline_record::{Cell, Score, StoredFile, Unit};
use frostline_score::linear::ClassCount;

use crate::study::cells::{CellView, SPLITS};
use crate::study::predictions::{Items, checked};
use crate::study::scores::entity_counts;
use crate::study::tagged::{Expected, Said, Tagged, Text};
use crate::study::text_name::TextName;

/// What a file has right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    pub text: TextName,
    /// The number of labelled words of each sentence; 1 where sentences are labelled.
    pub lengths: Vec<u32>,
    /// How many of them are right.
    pub words: Vec<u32>,
    /// Entities of each sentence, where the task is scored by their F1.
    pub entities: EntityCounts,
    /// Tags of each sentence, where the macro F1 of tags is compared.
    pub tags: Option<Vec<Vec<ClassCount>>>,
}

/// The entities of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntityCounts {
    /// The task is scored by another metric.
    NotScored,
    /// Of each sentence.
    Counted(Vec<Vec<ClassCount>>),
    /// The file has other entities than its record counts.
    Unlike,
}

/// A text's name, which does not depend on what train contains of its words.
pub(crate) fn name(text: &Text, tags: &[String]) -> TextName {
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

impl Right {
    /// Of words; `text` is the name of `words`.
    pub fn of_words(text: TextName, words: &Text, said: &Said) -> Self {
        let is_right = |at: &usize| said.predicted[*at] == Some(words.words[*at].gold);
        Self {
            text,
            lengths: words.ranges().map(|(_, range)| range.len() as u32).collect(),
            words: words.ranges().map(|(_, range)| range.filter(is_right).count() as u32).collect(),
            entities: EntityCounts::NotScored,
            tags: None,
        }
    }

    /// The same with its entities, where the record counts them.
    pub fn with_entities(self, text: &Text, tags: &[String], said: &Said, score: &Score) -> Self {
        let Some(recorded) = score.entities else { return self };
        let counts = entity_counts(text, tags, said);
        let sum =
            |get: fn(&ClassCount) -> u16| counts.iter().flatten().map(|one| u64::from(get(one))).sum::<u64>();
        let same = sum(|one| one.part) == 2 * recorded.correct
            && sum(|one| one.whole) == recorded.gold + recorded.predicted;
        let entities = if same { EntityCounts::Counted(counts) } else { EntityCounts::Unlike };
        Self { entities, ..self }
    }

    /// The same with its tags.
    pub fn with_tags(self, counts: Vec<Vec<ClassCount>>) -> Self {
        Self { tags: Some(counts), ..self }
    }

    /// Of sentences.
    pub fn of_sentences(items: &Items) -> Self {
        Self {
            text: items.text.clone(),
            lengths: vec![1; items.right.len()],
            words: items.right.iter().map(|&right| u32::from(right)).collect(),
            entities: EntityCounts::NotScored,
            tags: None,
        }
    }
}

/// A cell's id, a stage, a task and a split.
type Key = (String, usize, String, &'static str);

/// What was right after every stage in tasks that label words.
#[derive(Default)]
pub(crate) struct StageWords {
    of: BTreeMap<Key, Right>,
    /// Files that were left out, each with why.
    pub left_out: Vec<String>,
}

impl StageWords {
    /// Reads the files of all cells; `text` gives a file of a cell.
    pub fn read(cells: &[CellView], text: &mut impl FnMut(&Cell, &StoredFile) -> Option<String>) -> Self {
        let mut read = Self::default();
        for view in cells {
            let Some(done) = view.done() else { continue };
            let result = &done.result;
            for (stage, outcome) in result.stages.iter().enumerate() {
                let is_end = stage + 1 == result.stages.len();
                for (task, outcome) in &outcome.tasks {
                    let facts = &result.tasks[task];
                    if facts.unit != Unit::Words || (is_end && *task == result.headline) {
                        continue;
                    }
                    for split in SPLITS {
                        let scored = (outcome.predictions.get(split), outcome.scores.get(split));
                        let (Some(file), Some(score)) = scored else { continue };
                        let found = text(&view.cell, file).ok_or_else(|| "it is not there".to_string());
                        let found = found.and_then(|text| checked(text, file));
                        match found.and_then(|text| {
                            Tagged::one(&text, &facts.tags, Expected::of(score, facts, split))
                        }) {
                            Ok((tags, text, said)) => {
                                let text = Text { has_words: file.without_words.is_none(), ..text };
                                let right = Right::of_words(name(&text, &tags), &text, &said);
                                let right = right.with_entities(&text, &tags, &said, score);
                                read.of.insert((view.cell.id.clone(), stage, task.clone(), split), right);
                            }
                            Err(why) => {
                                read.left_out.push(format!("{}/{}: {why}", view.cell.folder(), file.file));
                            }
                        }
                    }
                }
            }
        }
        read
    }

    /// What a cell had right after a stage.
    pub fn get(&self, cell: &Cell, stage: usize, task: &str, split: &'static str) -> Option<&Right> {
        self.of.get(&(cell.id.clone(), stage, task.into(), split))
    }
}
