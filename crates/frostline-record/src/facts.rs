//! What a task's data are, split by split, and what its train split says of the others.
//!
//! Shares and means follow from these counts; they are computed where they are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Unit;

/// What a task is and what it has learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFacts {
    /// What carries its labels.
    pub unit: Unit,
    /// The tag set: the sorted tags of train, and of the train split of a task that shares its
    /// head.
    pub tags: Vec<String>,
    /// What was learned from.
    pub train: SplitFacts,
    /// What chose the epoch.
    pub dev: SplitFacts,
    /// What was scored at the end, where it was.
    pub test: Option<SplitFacts>,
}

/// One split of a task, as the model saw it: cut, lowercased and truncated as the settings say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitFacts {
    /// Sentences.
    pub sentences: u64,
    /// Their labelled words; the sentences themselves where these are labelled.
    pub words: u64,
    /// Their subwords, specials included, after truncation.
    pub subwords: u64,
    /// Labelled words lost to truncation.
    pub truncated: u64,
    /// Labelled words that yielded no subword.
    pub vanished: u64,
    /// What words became as subwords.
    pub spelled: Spelled,
    /// How often each tag occurs.
    pub tags: BTreeMap<String, u64>,
    /// What train knows of its words.
    pub forms: Forms,
    /// Sentences whose words are, one by one, those of a train sentence; in train itself, those of
    /// an earlier one.
    pub repeated: u64,
    /// Sentences of dev or test that are a train sentence but for case and punctuation; missing for train, and in records of
    /// before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like_train: Option<Overlap>,
    /// The same between test and dev; missing for train and dev.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like_dev: Option<Overlap>,
    /// Sentences without any label.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlabelled: u64,
    /// Words of [`Forms::words`] whose form is `_`: treebanks that may not publish their text have such forms.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blank: u64,
    /// Subwords of the longest sentence, specials included, before truncation; 0 in records of before it was counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longest: u64,
}

/// Sentences that two splits share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlap {
    /// Such sentences.
    pub sentences: u64,
    /// Their words among [`Forms::words`].
    pub words: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Words, labelled or not, of which at least one subword is left after truncation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spelled {
    /// Such words.
    pub words: u64,
    /// Their subwords, without specials.
    pub subwords: u64,
}

/// A split's forms: of its labelled words, or of all words where sentences are labelled. Two words
/// have the same form where they are spelled alike, after lowercasing where the settings ask for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forms {
    /// Words, every occurrence.
    pub words: u64,
    /// Different forms.
    pub types: u64,
    /// Words whose form train lacks.
    pub unknown_words: u64,
    /// Forms that train lacks.
    pub unknown_types: u64,
    /// Words whose form has several tags in train.
    pub ambiguous_words: u64,
    /// Forms that have several tags in train.
    pub ambiguous_types: u64,
}

impl TaskFacts {
    /// Its splits by name: train, dev, and test where it was scored.
    pub fn splits(&self) -> impl Iterator<Item = (&'static str, &SplitFacts)> {
        let all = [("train", Some(&self.train)), ("dev", Some(&self.dev)), ("test", self.test.as_ref())];
        all.into_iter().filter_map(|(name, split)| Some((name, split?)))
    }

    /// Tags of a split that train lacks, each with the number of its words or sentences.
    pub fn missing_in_train<'a>(&'a self, split: &'a SplitFacts) -> impl Iterator<Item = (&'a str, u64)> {
        let missing = split.tags.iter().filter(|(tag, _)| !self.train.tags.contains_key(*tag));
        missing.map(|(tag, count)| (tag.as_str(), *count))
    }
}

impl Spelled {
    /// Subwords of a word, as a mean; nothing where there is no word.
    #[must_use]
    pub fn subwords_per_word(&self) -> Option<f64> {
        (self.words > 0).then(|| self.subwords as f64 / self.words as f64)
    }
}

/// What an encoder is, as its config says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderFacts {
    /// Its family: `distilbert`, `bert` or `roberta`.
    pub family: String,
    /// Transformer blocks.
    pub blocks: u64,
    /// Hidden size.
    pub hidden: u64,
    /// The most subwords of a sentence that it has positions for, specials included.
    pub longest_input: u64,
}

impl EncoderFacts {
    /// The family's name as papers write it.
    #[must_use]
    pub fn family_name(&self) -> &str {
        match self.family.as_str() {
            "distilbert" => "DistilBERT",
            "bert" => "BERT",
            "roberta" => "RoBERTa",
            other => other,
        }
    }
}

/// What a cell is predicted to cost on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// The cell's id.
    pub cell: String,
    /// Steps of training, of all stages.
    pub steps: u64,
    /// Seconds of training, of scoring dev, and of computing constant prefixes that are then read; nothing where nobody
    /// timed steps on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Parameters that learn at the end, and all.
    #[serde(default)]
    pub parameters: [u64; 2],
    /// Bytes of parameters, gradients, moments and activations at the longest batch.
    pub bytes: u64,
    /// The same if its steps were taken in more parts, as far as that takes less.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_parts: Vec<InParts>,
}

/// What a cell would need with another `train.accumulate`: activations are those of a part of a step, or a second set of gradients
/// where that is more; all else stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InParts {
    /// The setting.
    pub accumulate: u64,
    /// Bytes, as in [`Forecast::bytes`].
    pub bytes: u64,
}

/// The data of a cell, and of all cells after it that learn from the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellFacts {
    /// The first such cell's id.
    pub cell: String,
    /// By task.
    pub tasks: BTreeMap<String, TaskFacts>,
}
