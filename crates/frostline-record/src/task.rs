//! Tasks: their labels, data and heads.
//!
//! # To add a kind of labels
//!
//! `WORD_LABELS` or `SENTENCE_LABELS` in `crates/frostline-record/src/task.rs`, their place in a parsed file in
//! `crates/frostline-cell/src/document.rs` (`Format`, `Labels`), and the format that contains them in `format_of`
//! (`crates/frostline-sweep/src/inputs.rs`).

use serde::{Deserialize, Serialize};

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSettings {
    /// A key of the plan's `[treebanks]`; empty means the cell's `lang`.
    pub data: String,
    /// The predicted labels. Of words: `upos`, `xpos`, `deprel`, `feats.NAME`, or `entity` (an IOB2 layer's
    /// tags). Of sentences: `label` (a labelled file's), or `genre` (the part of `sent_id` before the first
    /// `-`).
    pub labels: String,
    /// The kind of head on the encoder.
    pub head: HeadKind,
    /// The task whose head this one uses too, with the tags of both; empty means its own head.
    pub shares: String,
    /// The factor of the task's loss; 0 means that it is scored and not trained.
    pub weight: f64,
}

/// The kind of head on the encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadKind {
    /// Dropout and one linear layer, on each word's label position or on the first position.
    #[default]
    Linear,
    /// DistilBERT's for sentences: linear, ReLU, dropout, linear.
    Distilbert,
    /// BERT's for sentences: the pooler (linear, tanh), dropout, linear.
    Pooler,
}

/// In which order the batches of several tasks come. An epoch has as many steps as all tasks have
/// batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mixing {
    /// One batch of each task in turn, every batch once; remaining batches of a larger task come last.
    Turns,
    /// Every batch once, all shuffled.
    Proportional,
    /// Each step draws its task, more evenly than sizes would; a small task's batches come again.
    Temperature,
}

/// The unit that has a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Each word of a sentence.
    Words,
    /// The sentence.
    Sentences,
}

impl Default for TaskSettings {
    fn default() -> Self {
        Self {
            data: String::new(),
            labels: "upos".into(),
            head: HeadKind::Linear,
            shares: String::new(),
            weight: 1.0,
        }
    }
}

/// The labels of words that need no name behind them.
const WORD_LABELS: [&str; 4] = ["upos", "xpos", "deprel", "entity"];

/// The labels of sentences.
const SENTENCE_LABELS: [&str; 2] = ["label", "genre"];

impl TaskSettings {
    /// Returns the unit that has a label.
    #[must_use]
    pub fn unit(&self) -> Unit {
        if SENTENCE_LABELS.contains(&self.labels.as_str()) { Unit::Sentences } else { Unit::Words }
    }

    /// Why this task cannot be, looking at it alone.
    pub(crate) fn task_fault(&self) -> Option<String> {
        let labels = self.labels.as_str();
        let feature = labels.strip_prefix("feats.").is_some_and(|name| !name.is_empty());
        if !feature && !WORD_LABELS.contains(&labels) && !SENTENCE_LABELS.contains(&labels) {
            return Some(format!(
                "`labels = \"{labels}\"` is not known; there are: {}, feats.NAME, {}",
                WORD_LABELS.join(", "),
                SENTENCE_LABELS.join(", ")
            ));
        }
        if self.unit() == Unit::Words && self.head != HeadKind::Linear {
            return Some(format!(
                "`{labels}` labels words, which take the head `linear`; the others read whole sentences"
            ));
        }
        if !(self.weight >= 0.0 && self.weight.is_finite()) {
            return Some(format!("its weight is {}, but must be 0 or more", self.weight));
        }
        None
    }
}
