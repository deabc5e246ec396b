//! Tasks: what is learned from which data with which head, and whether settings can mean it.

use serde::{Deserialize, Serialize};

use crate::{PlanError, Settings};

/// One thing to learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskSettings {
    /// A key of the plan's `[treebanks]`; empty means the cell's `lang`.
    pub data: String,
    /// What is predicted. Of words: `upos`, `xpos`, `deprel`, `feats.NAME`, or `entity` (an IOB2
    /// layer's tags). Of sentences: `label` (a labelled file's), or `genre` (the part of `sent_id`
    /// before the first `-`).
    pub labels: String,
    /// What stands on the encoder.
    pub head: HeadKind,
    /// The task whose head this one uses too, with the tags of both; empty means its own head.
    pub shares: String,
    /// What its loss is multiplied with; 0 means that it is scored and not trained.
    pub weight: f64,
}

/// What stands on the encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadKind {
    /// Dropout and one linear layer, on each word's speaking position or on the first position.
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
    /// One of each in turn, every batch once; those of a larger task are left for the end.
    Turns,
    /// Every batch once, all shuffled.
    Proportional,
    /// Each step draws its task, more evenly than sizes would; a small task's batches come again.
    Temperature,
}

/// What carries a label.
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
    /// What carries its labels.
    #[must_use]
    pub fn unit(&self) -> Unit {
        if SENTENCE_LABELS.contains(&self.labels.as_str()) { Unit::Sentences } else { Unit::Words }
    }

    /// Why this task cannot be, looking at it alone.
    fn fault(&self) -> Option<String> {
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

impl Settings {
    /// The task whose score is the headline.
    #[must_use]
    pub fn headline(&self) -> &str {
        let first = || self.tasks.keys().next().map_or("", String::as_str);
        if self.eval.task.is_empty() { first() } else { &self.eval.task }
    }

    /// The dataset of a task, a key of the plan's `[treebanks]`.
    #[must_use]
    pub fn dataset_of<'a>(&'a self, task: &'a TaskSettings) -> &'a str {
        if task.data.is_empty() { &self.lang } else { &task.data }
    }

    /// The role of a dataset's split among a cell's inputs: `train`, or `NAME/train` where the
    /// dataset is not the cell's own.
    #[must_use]
    pub fn role(&self, dataset: &str, split: &str) -> String {
        if dataset == self.lang { split.into() } else { format!("{dataset}/{split}") }
    }

    /// Whether tasks, heads and the headline fit together.
    pub(crate) fn check_tasks(&self) -> Result<(), PlanError> {
        let fail = |task: &str, reason: String| Err(PlanError::Task { task: task.into(), reason });
        for (name, task) in &self.tasks {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(plain) {
                return fail(name, "a name has letters, digits, `-` and `_`".into());
            }
            if let Some(reason) = task.fault() {
                return fail(name, reason);
            }
            if task.shares.is_empty() {
                continue;
            }
            match self.tasks.get(&task.shares).filter(|_| task.shares != *name) {
                None => {
                    return fail(
                        name,
                        format!("it shares the head of `{}`, which is no other task", task.shares),
                    );
                }
                Some(other) if !other.shares.is_empty() => {
                    return fail(name, format!("`{}` has no head of its own to share", task.shares));
                }
                Some(other) if other.unit() != task.unit() => {
                    return fail(
                        name,
                        format!("it labels other units than `{}`, whose head it shares", task.shares),
                    );
                }
                Some(_) => {}
            }
        }
        let headline = self.headline();
        if !self.tasks.contains_key(headline) {
            let there: Vec<&str> = self.tasks.keys().map(String::as_str).collect();
            let known = if there.is_empty() { "none".into() } else { there.join(", ") };
            return fail(headline, format!("it is the headline (`eval.task`), but the tasks are: {known}"));
        }
        if self.train.epochs > 0 && self.tasks.values().all(|task| task.weight == 0.0) {
            return fail(
                headline,
                "every task has weight 0, so nothing would be learned; set train.epochs = 0".into(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_cannot_be_say_why() {
        let error = |text: &&str| {
            let settings: Settings = toml::from_str(text).expect("settings");
            settings.check().expect_err(text).to_string()
        };
        let errors = [
            "[tasks.a]\nlabels = 'pos'",
            "[tasks.a]\nlabels = 'feats.'",
            "[tasks.a]\nhead = 'pooler'",
            "[tasks.a]\nweight = -1",
            "[tasks.a]\nweight = 0",
            "[tasks.a]\nshares = 'b'",
            "[tasks.a]\nshares = 'a'",
            "[tasks.a]\n[tasks.b]\nshares = 'a'\nlabels = 'genre'",
            "[tasks.a]\n[tasks.b]\nshares = 'a'\n[tasks.c]\nshares = 'b'",
            "[tasks.'a b']",
            "[tasks.a]\n[eval]\ntask = 'b'",
            "[tasks]",
        ];
        insta::assert_snapshot!(errors.iter().map(error).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn the_usual_task_is_the_headline() {
        let settings = Settings::default();
        assert_eq!((settings.headline(), settings.tasks["upos"].unit()), ("upos", Unit::Words));
        assert_eq!([settings.role("en", "dev"), settings.role("ner", "dev")], ["dev", "ner/dev"]);
    }
}
