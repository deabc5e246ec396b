//! Facts about a task's data, split by split, and about the overlap of train with the other splits.
//!
//! Shares and means follow from these counts; they are computed when they are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Unit;

/// A task and the data that it was trained on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskFacts {
    /// The unit that has a label.
    pub unit: Unit,
    /// The tag set: the sorted tags of train, and of the train split of a task that shares its
    /// head.
    pub tags: Vec<String>,
    /// The split that was trained on.
    pub train: SplitFacts,
    /// The split that selected the epoch.
    pub dev: SplitFacts,
    /// The split that was scored at the end, if any.
    pub test: Option<SplitFacts>,
}

/// One split of a task as the model saw it: cut, lowercased and truncated by the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitFacts {
    /// Sentences.
    pub sentences: u64,
    /// Number of labelled words, or of sentences if these are labelled.
    pub words: u64,
    /// Number of subwords after truncation, including special tokens.
    pub subwords: u64,
    /// Labelled words lost to truncation.
    pub truncated: u64,
    /// Labelled words that yielded no subword.
    pub vanished: u64,
    /// The words' subwords.
    pub spelled: Spelled,
    /// How often each tag occurs.
    pub tags: BTreeMap<String, u64>,
    /// The familiarity of the words from train.
    pub forms: Forms,
    /// Sentences whose words equal the words of a train sentence; in train itself, of an earlier sentence.
    pub repeated: u64,
    /// Sentences of dev or test that are a train sentence but for case and punctuation; missing for train, and in records of
    /// before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like_train: Option<Overlap>,
    /// Sentences that occur in both test and dev; missing for train and dev.
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
    /// Number of their words among [`Forms::words`].
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
    /// Number of their subwords, without special tokens.
    pub subwords: u64,
}

/// A split's forms: of its labelled words, or of all words if sentences are labelled. Two words have the same
/// form if they are spelled alike, after lowercasing if the settings require it.
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
    /// Returns the splits by name: train, dev, and test if it was scored.
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
    /// Subwords of a word, as a mean; nothing if there is no word.
    #[must_use]
    pub fn subwords_per_word(&self) -> Option<f64> {
        (self.words > 0).then(|| self.subwords as f64 / self.words as f64)
    }
}

/// The encoder as described in its config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderFacts {
    /// The family, such as `distilbert`, `bert`, `roberta` or `modernbert`.
    pub family: String,
    /// Transformer blocks.
    pub blocks: u64,
    /// Hidden size.
    pub hidden: u64,
    /// The most subwords of a sentence that it has positions for, specials included.
    pub longest_input: u64,
}

impl EncoderFacts {
    /// Returns the family's name as papers write it.
    #[must_use]
    pub fn family_name(&self) -> &str {
        match self.family.as_str() {
            "distilbert" => "DistilBERT",
            "bert" => "BERT",
            "roberta" => "RoBERTa",
            "electra" => "ELECTRA",
            "modernbert" => "ModernBERT",
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
    /// Seconds of training, of scoring dev, and of computing constant prefixes that are then read; missing if
    /// no steps were timed on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Numbers of parameters that are trainable at the end, and of all.
    #[serde(default)]
    pub parameters: [u64; 2],
    /// Bytes of parameters, gradients, moments and activations at the longest batch.
    pub bytes: u64,
    /// The memory with steps in more parts, as long as it decreases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_parts: Vec<InParts>,
}

/// Memory of a cell with another `train.accumulate`: activations of a part of a step, or a second set of
/// gradients if it is larger; all else is equal.
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
