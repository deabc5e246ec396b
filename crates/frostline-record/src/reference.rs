//! Published figures that a report compares with a sweep's: their study, its settings, and the meaning of each
//! number.
//!
//! A plan names such a file with `reference = "PATH"`. It changes no cell; `sweep.json` keeps it whole, so that a
//! report can be written again without the plan's folder.
//!
//! # To add published figures of another paper
//!
//! A TOML file as in `configs/references/`, named by a plan with `reference`; `docs/records.md#references`
//! explains its keys. No code is needed. A new kind of figure is a field of `PublishedRun` in
//! `crates/frostline-record/src/reference.rs` and a column in `crates/frostline-report/src/topics/reference/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::paths::values_by_path;
use crate::toml_errors::explain_message;
use crate::{Plan, PlanError, Settings};

/// The version of a reference file's shape.
pub const REFERENCE_SCHEMA: u32 = 1;

/// A study's published figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The schema of this file, [`REFERENCE_SCHEMA`].
    pub schema: u32,
    /// One word for it in tables and sentences, such as `study`.
    pub name: String,
    /// Title and source of the figures, as in a citation.
    pub citation: String,
    /// A paragraph or more for the reader of the comparison, as Markdown.
    pub about: String,
    /// The accuracy with which the figures are compared.
    #[serde(default)]
    pub compare: CompareWith,
    /// Which words its accuracies count.
    #[serde(default)]
    pub counts: Counted,
    /// Explanations of figures whose names are not clear, by the figure's name.
    #[serde(default)]
    pub defined: BTreeMap<String, String>,
    /// The study's seeds; empty if unknown.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// The values of settings that are not listed.
    #[serde(default)]
    pub unlisted: Unlisted,
    /// The study's settings, in the same tables as a plan's `[settings]`.
    #[serde(default)]
    pub settings: toml::Table,
    /// Further notes about the differences, as Markdown.
    #[serde(default)]
    pub remarks: String,
    /// If its text differs from its own figures: one sentence each, as Markdown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text_differs: Vec<String>,
    /// All parameters of its model.
    #[serde(default)]
    pub total_parameters: Option<u64>,
    /// The study's results by the short name of a dataset in plans.
    pub lang: BTreeMap<String, ReferenceData>,
}

/// The accuracy with which a study's figures are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompareWith {
    /// The end of cells with the same policy.
    #[default]
    Cells,
    /// Every stage that had the same policy and learned.
    Stages,
}

/// Which words an accuracy counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// All words or sentences of the split.
    #[default]
    All,
    /// Label positions alone: words whose first subword survived truncation and whose tag train has.
    LabelPositions,
}

/// The values of settings that a reference does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlisted {
    /// The values are unknown.
    #[default]
    Unknown,
    /// The values are Frostline's defaults.
    Defaults,
}

/// A study's results on one dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceData {
    /// The name of the treebank or dataset, found in the place that a plan gives; not compared if it is absent.
    #[serde(default)]
    pub treebank: Option<String>,
    /// The labels, as a task's `labels`: only headlines with these labels are compared.
    pub labels: String,
    /// Sentences that were learned from.
    #[serde(default)]
    pub train_sentences: Option<u64>,
    /// Sentences of test.
    #[serde(default)]
    pub test_sentences: Option<u64>,
    /// Results by policy.
    pub policy: BTreeMap<String, PublishedRun>,
}

/// The figures of one policy on one dataset. Accuracies and F1 are fractions of 1; lists start with epoch 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishedRun {
    /// The name in tables; empty means the policy's name.
    pub called: String,
    /// Accuracy on dev after each epoch.
    pub dev_accuracy: Vec<f64>,
    /// F1 of the positive label on dev after each epoch.
    pub dev_f1: Vec<f64>,
    /// Loss on dev after each epoch.
    pub dev_loss_nats: Vec<f64>,
    /// Train loss of each epoch.
    pub train_loss_nats: Vec<f64>,
    /// Accuracy on test at the end.
    pub test_accuracy: Option<f64>,
    /// F1 of the positive label on test at the end.
    pub test_f1: Option<f64>,
    /// Counts on test: a row per gold label, a column per predicted one, in the order of `labels`.
    pub confusion: Vec<Vec<u64>>,
    /// The labels of rows and columns of `confusion`.
    pub labels: Vec<String>,
    /// Parameters that learned.
    pub trainable: Option<u64>,
    /// Optimiser steps.
    pub steps: Option<u64>,
    /// Seconds of training.
    pub train_s: Option<f64>,
    /// Train sentences per second.
    pub samples_per_s: Option<f64>,
    /// Optimiser steps per second.
    pub steps_per_s: Option<f64>,
}

/// The largest file of published figures that is read.
///
/// # Units
/// Bytes.
const MOST_BYTES: u64 = 16 << 20;

/// The figures that [`Reference::defined`] can explain.
const FIGURES: [&str; 12] = [
    "dev_accuracy",
    "dev_f1",
    "dev_loss_nats",
    "train_loss_nats",
    "test_accuracy",
    "test_f1",
    "confusion",
    "trainable",
    "steps",
    "train_s",
    "samples_per_s",
    "steps_per_s",
];

/// Errors of reference files.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The file cannot be read.
    #[error(
        "{path}: the reference that the plan names cannot be read ({source}); its path is relative to the plan's file"
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The TOML does not parse or has a key that does not exist; the reason shows line and column.
    #[error("{path}: {reason}")]
    Syntax {
        /// The file's path as it was given.
        path: String,
        /// The parser's message with line, column and what was expected.
        reason: String,
    },
    /// The file was written for another version of this crate.
    #[error(
        "{path}: this reference has schema {found}, but this Frostline reads schema {REFERENCE_SCHEMA}; \
         configs/references/ holds examples"
    )]
    Schema {
        /// The file's path.
        path: String,
        /// The schema number found.
        found: u32,
    },
    /// A setting that does not exist, or whose value does not fit.
    #[error("{path}, [settings]: {source}")]
    Setting {
        /// The file's path.
        path: String,
        /// The fault.
        source: PlanError,
    },
    /// An explanation of a figure that does not exist.
    #[error("{path}, [defined]: there is no figure `{figure}`; there are: {}", FIGURES.join(", "))]
    Figure {
        /// The file's path.
        path: String,
        /// The name found.
        figure: String,
    },
    /// A confusion that is not as wide and high as it has labels.
    #[error(
        "{path}, lang.{lang}.policy.{policy}: `confusion` must have one row and one column for each of its {labels} `labels`"
    )]
    Confusion {
        /// The file's path.
        path: String,
        /// The dataset.
        lang: String,
        /// The policy.
        policy: String,
        /// How many labels there are.
        labels: usize,
    },
}

impl Reference {
    /// Reads a reference. `path` is only named in errors.
    ///
    /// # Errors
    /// A syntax error or unknown key with line and column, another schema, a setting or figure that does not exist,
    /// or a confusion without its labels.
    pub fn parse(text: &str, path: &str) -> Result<Self, ReferenceError> {
        let reference: Self = toml::from_str(text).map_err(|error| ReferenceError::Syntax {
            path: path.into(),
            reason: explain_message(error.to_string().trim_end(), REFERENCE_SCHEMA),
        })?;
        if reference.schema != REFERENCE_SCHEMA {
            return Err(ReferenceError::Schema { path: path.into(), found: reference.schema });
        }
        reference.as_settings().map_err(|source| ReferenceError::Setting { path: path.into(), source })?;
        if let Some(figure) = reference.defined.keys().find(|name| !FIGURES.contains(&name.as_str())) {
            return Err(ReferenceError::Figure { path: path.into(), figure: figure.clone() });
        }
        reference.check_confusions(path)?;
        Ok(reference)
    }

    /// Reads the reference that a plan names, if any. `plan_path` is the path of the plan.
    ///
    /// # Errors
    /// If the file cannot be read, and all errors of [`Reference::parse`].
    pub fn of_plan(plan: &Plan, plan_path: &Path) -> Result<Option<Self>, ReferenceError> {
        if plan.reference.is_empty() {
            return Ok(None);
        }
        let path = plan_path.parent().unwrap_or(Path::new("")).join(&plan.reference);
        let text = frostline_files::read_text(&path, MOST_BYTES)
            .map_err(|error| ReferenceError::Io { path: path.clone(), source: error.reason })?;
        Self::parse(&text, &path.display().to_string()).map(Some)
    }

    /// Returns the study's settings over the defaults.
    ///
    /// # Errors
    /// If a setting does not exist or its value does not fit, which [`Reference::parse`] has checked.
    pub fn as_settings(&self) -> Result<Settings, PlanError> {
        let mut settings = Settings::default();
        for (path, value) in values_by_path(&self.settings) {
            settings.set(&path, value)?;
        }
        Ok(settings)
    }

    /// Returns the dotted paths of the settings that it lists.
    #[must_use]
    pub fn listed(&self) -> Vec<String> {
        values_by_path(&self.settings).into_iter().map(|(path, _)| path).collect()
    }

    fn check_confusions(&self, path: &str) -> Result<(), ReferenceError> {
        for (lang, data) in &self.lang {
            for (policy, run) in &data.policy {
                let labels = run.labels.len();
                if run.confusion.len() != labels || run.confusion.iter().any(|row| row.len() != labels) {
                    let (lang, policy) = (lang.clone(), policy.clone());
                    return Err(ReferenceError::Confusion { path: path.into(), lang, policy, labels });
                }
            }
        }
        Ok(())
    }
}

impl PublishedRun {
    /// Returns the name of this policy's run in tables.
    #[must_use]
    pub fn name<'a>(&'a self, policy: &'a str) -> &'a str {
        if self.called.is_empty() { policy } else { &self.called }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "schema = 1\nname = 'study'\ncitation = 'A title.'\nabout = 'Words.'\n";

    fn reference_error(more: &str) -> String {
        Reference::parse(&format!("{LEAST}{more}"), "their.toml").expect_err("a fault").to_string()
    }

    #[test]
    fn a_reference_lays_its_settings_over_the_defaults() {
        let text = format!(
            "{LEAST}[settings.train]\nepochs = 2\n[lang.en]\nlabels = 'upos'\n\
             [lang.en.policy.none]\ndev_accuracy = [0.5, 0.75]\n"
        );
        let found = Reference::parse(&text, "their.toml").expect("a reference");
        assert_eq!(found.listed(), ["train.epochs"]);
        assert_eq!(found.as_settings().expect("settings").train.epochs, 2);
        assert_eq!(found.lang["en"].policy["none"].name("none"), "none");
        let json = serde_json::to_string(&found).expect("JSON");
        assert_eq!(serde_json::from_str::<Reference>(&json).expect("the same"), found);
    }

    #[test]
    fn what_cannot_be_is_named_with_its_place() {
        let en = "[lang.en]\nlabels = 'upos'\n[lang.en.policy.none]\n";
        let unknown = reference_error(&format!("{en}accuracy = 0.5\n"));
        assert!(unknown.contains("line 8, column 1") && unknown.contains("`dev_accuracy`"), "{unknown}");
        assert_eq!(
            reference_error(&format!("[settings.train]\nepoch = 2\n{en}")).split("; here").next(),
            Some("their.toml, [settings]: there is no setting `train.epoch` (did you mean `train.epochs`?)")
        );
        assert!(
            reference_error(&format!("[defined]\nspeed = 'x'\n{en}")).contains("there is no figure `speed`")
        );
        assert!(reference_error(&format!("{en}confusion = [[1]]\n")).contains("each of its 0 `labels`"));
        let old = LEAST.replace("schema = 1", "schema = 9");
        let found = Reference::parse(&format!("{old}{en}"), "their.toml").expect_err("another schema");
        assert!(found.to_string().contains("schema 9"), "{found}");
    }
}
