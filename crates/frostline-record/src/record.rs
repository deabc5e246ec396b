//! Records: the results of a cell, split into results that must repeat bit for bit and values that cannot.
//!
//! # To add a stored quantity
//!
//! (such as a word's probability). Measured in `crates/frostline-train/src/evaluate.rs` or its callers, kept in
//! `WordOutcome` (`crates/frostline-score/src/tally.rs`) or a record's type
//! (`crates/frostline-record/src/record.rs`), written by `crates/frostline-cell/src/outcome.rs`, read by
//! `crates/frostline-report/src/study/`, described in `docs/records.md`. If a file's meaning changes, increment
//! `SCHEMA`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Baseline, Cell, EncoderFacts, Load, Precision, SavedFiles, Score, TaskFacts, sha256};

/// One finished or failed cell on disk, `record.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// [`crate::SCHEMA`].
    pub schema: u32,
    /// The cell that was run.
    pub cell: Cell,
    /// The results, equal bit for bit when the same binary repeats the cell on the same instruction set.
    /// Missing if the cell failed.
    pub result: Option<Outcome>,
    /// The times, which never repeat exactly. Missing if the cell failed.
    pub timing: Option<Timing>,
    /// The program and machine that made the record.
    pub made_by: MadeBy,
    /// Why the cell failed, in words.
    pub error: Option<String>,
}

/// The part of a record that repeats bit for bit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The task whose scores are the headline.
    pub headline: String,
    /// The data of each task, including the headline.
    pub tasks: BTreeMap<String, TaskFacts>,
    /// The encoder; missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<EncoderFacts>,
    /// The predicted cost of a training step of the last stage.
    pub cost: Cost,
    /// Optimiser steps taken, in all stages.
    pub steps: u64,
    /// One row per epoch, of all stages.
    pub epochs: Vec<EpochRow>,
    /// Mean train loss over each stretch of `train.log_every` steps.
    pub train_loss: Vec<LossPoint>,
    /// Dev after every `eval.every_steps` steps, of all stages; empty if only epochs are scored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dev_points: Vec<DevPoint>,
    /// Scores without training the encoder, by task, then by name. Empty with `eval.baselines = "off"`.
    pub baselines: BTreeMap<String, BTreeMap<String, Baseline>>,
    /// The outcome of each stage; at least one.
    pub stages: Vec<StageOutcome>,
    /// The change of the encoder from its starting weights, with `save.changes`: the embeddings, then each
    /// block.
    pub changes: Vec<Change>,
    /// The models and features in the cell's folder.
    #[serde(default, skip_serializing_if = "SavedFiles::is_empty")]
    pub files: SavedFiles,
}

/// The change of a part of the encoder from its starting weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// `embeddings`, `block 0`, ...
    pub group: String,
    /// Norm of the difference of its parameters, relative to their norm at the start.
    pub relative: f64,
    /// Linear CKA between its outputs before and after, over the headline's dev split; 1 is no change.
    pub cka: f64,
}

/// The outcome of a stage: the parameters of its selected epoch, with which the next stage starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageOutcome {
    /// The name of the stage.
    pub name: String,
    /// The policy at its end.
    pub policy: String,
    /// Parameters, learning and frozen, at its end.
    pub accounts: Accounts,
    /// Optimiser steps taken in it.
    pub steps: u64,
    /// The selected epoch, counted from 1 over all stages; if the stage had none, the last one before.
    pub selected_epoch: u32,
    /// Scores and predictions, by task.
    pub tasks: BTreeMap<String, TaskOutcome>,
    /// Whether frozen parameters stayed and trainable ones moved, from its start.
    pub freezing: FreezeCheck,
    /// The groups that froze during the stage, from the input up, if the policy is adaptive.
    pub settled: Vec<Settled>,
    /// The last epoch, counted from 1 over all stages, if `train.patience` ended the stage before
    /// `train.epochs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_early: Option<u32>,
}

/// A part of the encoder that froze during a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settled {
    /// `embeddings`, `block 0`, ...
    pub group: String,
    /// The stage's step, counted from 1, after which it did.
    pub step: u64,
}

/// Scores of a task, by split: `dev`, and `test` if it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskOutcome {
    /// The counts.
    pub scores: BTreeMap<String, Score>,
    /// The predictions behind them.
    pub predictions: BTreeMap<String, StoredFile>,
}

impl Outcome {
    /// Returns the last stage: the cell's result.
    ///
    /// # Panics
    /// If there is no stage, which no runner writes.
    #[must_use]
    pub fn last(&self) -> &StageOutcome {
        self.stages.last().expect("a cell has at least one stage")
    }

    /// Returns the headline task's scores at the end, by split.
    #[must_use]
    pub fn scores(&self) -> &BTreeMap<String, Score> {
        &self.last().tasks[&self.headline].scores
    }

    /// Returns the predictions behind [`Outcome::scores`].
    #[must_use]
    pub fn predictions(&self) -> &BTreeMap<String, StoredFile> {
        &self.last().tasks[&self.headline].predictions
    }

    /// Returns the headline task's data and tags.
    #[must_use]
    pub fn facts(&self) -> &TaskFacts {
        &self.tasks[&self.headline]
    }

    /// Parameters, learning and frozen, at the end.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.last().accounts
    }
}

/// Numbers of all and of trainable parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounts {
    /// All parameters of encoder and head.
    pub total: u64,
    /// Number of trainable parameters.
    pub trainable: u64,
    /// Per group (`embeddings`, `block 0`, ..., `head`): all and learning.
    pub groups: Vec<AccountRow>,
}

/// The account of one group of parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountRow {
    /// `embeddings`, `block 0`, ..., `head`.
    pub group: String,
    /// Parameters in it.
    pub total: u64,
    /// Number of trainable parameters.
    pub trainable: u64,
}

/// The work of an average training step, counted from shapes and the cell's own sentences, and
/// the speed-up that a cost model derives from it. Nothing here is measured; with the encoder's
/// config it can be computed again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Floating-point operations of a step's matrix products, in units of 10⁹.
    pub gflop_per_step: f64,
    /// How many times as fast a step should be as with the policy `none` on the same data.
    pub predicted_speedup: f64,
    /// The predicted speed-up if the constant prefix is read instead of computed; equal if there is none.
    pub predicted_speedup_cached: f64,
    /// Subwords of a step.
    pub subwords_per_step: f64,
    /// Subwords that a subword attends to, as a mean over subwords.
    pub context_subwords: f64,
    /// Label positions of a step: subwords whose row gives a word its label.
    pub speaking_per_step: f64,
    /// Rows that the trained word table carries.
    pub word_rows: u64,
    /// The predicted memory of a step on the longest sentences; missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<PredictedMemory>,
}

/// The predicted memory of a training step in addition to the model and the data, counted from shapes.
///
/// # Units
/// Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictedMemory {
    /// Gradients of trainable parameters.
    pub gradients: u64,
    /// AdamW's two moments of trainable parameters.
    pub moments: u64,
    /// Activations that backward needs; with `train.accumulate`, activations of a part of a step, or a second
    /// set of gradients if it is larger.
    pub activations: u64,
}

impl PredictedMemory {
    /// Returns all of it.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.gradients + self.moments + self.activations
    }
}

/// One epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochRow {
    /// Counted from 1, over all stages.
    pub epoch: u32,
    /// The stage, counted from 1.
    pub stage: u32,
    /// Optimiser steps taken so far.
    pub step: u64,
    /// Parameters that learned at its end.
    pub trainable: u64,
    /// Mean loss of the epoch's steps that have labels, in nats per label position, with dropout.
    pub train_loss_nats: f64,
    /// The headline task's dev split after this epoch.
    pub dev: Score,
    /// F1 of each label that its gold or its predictions have, in [0, 1].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dev_f1: BTreeMap<String, f64>,
    /// The score of every other task.
    pub others: BTreeMap<String, Score>,
}

impl EpochRow {
    /// Returns the mean of the labels' F1; nothing in records of before it was counted.
    #[must_use]
    pub fn dev_macro_f1(&self) -> Option<f64> {
        let labels = self.dev_f1.len();
        (labels > 0).then(|| self.dev_f1.values().sum::<f64>() / labels as f64)
    }

    /// F1 of the positive label: of two labels, the last in the order of the alphabet. Nothing if there are others.
    #[must_use]
    pub fn dev_positive_f1(&self) -> Option<f64> {
        self.dev_f1.last_key_value().filter(|_| self.dev_f1.len() == 2).map(|(_, f1)| *f1)
    }
}

/// A point of the train-loss curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossPoint {
    /// Optimiser steps taken so far.
    pub step: u64,
    /// Mean loss since the point before, in nats.
    pub loss_nats: f64,
    /// The learning rate of this step.
    pub lr: f64,
}

/// Dev within an epoch or at its end, after a multiple of `eval.every_steps` steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevPoint {
    /// Optimiser steps taken so far, in all stages.
    pub step: u64,
    /// The epoch of the point, counted from 1 over all stages.
    pub epoch: u32,
    /// The headline task's dev split.
    pub dev: Score,
    /// The dev split of every other task.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, Score>,
}

/// A file next to the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredFile {
    /// The file's name in the cell's folder.
    pub file: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// In a published record: SHA-256 of the copy without words, which is next to the record instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_words: Option<String>,
}

impl StoredFile {
    /// Returns a file with these bytes.
    #[must_use]
    pub fn new(file: impl Into<String>, bytes: &[u8]) -> Self {
        Self { file: file.into(), sha256: sha256(bytes), without_words: None }
    }
}

/// The check that every frozen parameter is bit-identical after training and every trainable one has moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreezeCheck {
    /// Frozen parameter tensors, all compared before and after.
    pub frozen: u64,
    /// Trainable parameter tensors that moved.
    pub moved: u64,
    /// Trainable parameter tensors that did not move, by path.
    pub unmoved: Vec<String>,
}

/// The part of a record that never repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Reading data, aligning it and setting up the model, in milliseconds.
    pub load_ms: f64,
    /// Training steps only, in milliseconds.
    pub train_ms: f64,
    /// Scoring splits, in milliseconds.
    pub eval_ms: f64,
    /// Fitting and scoring baselines, or finding an earlier cell's baselines, in milliseconds; part of no step.
    pub baselines_ms: f64,
    /// The whole cell, in milliseconds.
    pub total_ms: f64,
    /// Median time of a step, in milliseconds; the first three are not counted. On a GPU each step has the mean of the steps
    /// between two readings of losses.
    pub step_ms_median: f64,
    /// Train sentences per second of training time.
    pub samples_per_s: f64,
    /// Steps per second of training time.
    pub steps_per_s: f64,
    /// Subwords per second of training time.
    pub tokens_per_s: f64,
    /// Training and scoring time of each epoch, in milliseconds.
    pub epochs: Vec<EpochTiming>,
    /// Whether a constant prefix was computed once and read.
    pub prefix: PrefixUse,
    /// Peak resident memory of the worker so far, in MiB; 0 if the system does not report it.
    pub peak_rss_mib: f64,
    /// How busy the machine was with other work; missing in records of before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// The predicted time of a mean step on this machine, in milliseconds; missing if no steps were timed for
    /// the prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_step_ms: Option<f64>,
}

/// The use of a cell's constant prefix: embeddings and lowest blocks that never change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixUse {
    /// Number of its blocks; 0 also if only the embeddings are frozen.
    pub blocks: u32,
    /// Whether it was read.
    pub state: PrefixState,
    /// Time this cell spent on computing it or waiting for it, in milliseconds; part of no step.
    pub fill_ms: f64,
}

/// Whether a constant prefix was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrefixState {
    /// The policy leaves no constant prefix.
    #[default]
    None,
    /// The prefix could have been read, but dropout acts in it; `dropout.frozen = "off"` changes this.
    DropoutActs,
    /// The prefix could have been read, but the plan or the runner's caller disabled the cache.
    SwitchedOff,
    /// This cell computed it.
    Computed,
    /// An earlier cell had computed it.
    Shared,
}

impl PrefixState {
    /// Returns whether steps read the prefix instead of computing it.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Computed | Self::Shared)
    }

    /// Returns the name on disk.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::DropoutActs => "dropout-acts",
            Self::SwitchedOff => "switched-off",
            Self::Computed => "computed",
            Self::Shared => "shared",
        }
    }
}

/// Times of one epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochTiming {
    /// Training steps, in milliseconds.
    pub train_ms: f64,
    /// Scoring dev, in milliseconds.
    pub eval_ms: f64,
}

/// The program and machine that made a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeBy {
    /// Frostline's version.
    pub version: String,
    /// Hash of the code that computes results.
    pub code: String,
    /// Git revision with `+` if the tree had changes; empty outside a checkout.
    pub revision: String,
    /// `flex`, `amx`, `ndarray`, `cuda` or `wgpu`.
    pub backend: String,
    /// The device in words: a processor's or GPU's name.
    pub device: String,
    /// The instruction set the kernels ran on: `avx512`, `avx2`, `portable`, `gpu`, `stock`; then the
    /// precisions whose products are native, as in `avx512+bf16`. [`Self::computes_in`] returns the precision
    /// used for others.
    pub isa: String,
    /// The machines on which the result repeats bit for bit.
    #[serde(default, skip_serializing_if = "Bits::is_default")]
    pub bits: Bits,
    /// Threads of the worker.
    pub threads: usize,
    /// The machine's name in a cluster or in the system; empty if it has none, and in older records. In a
    /// published record it is a replacement that is the same for the same name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
}

/// On which machines the same cell gives the same result, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bits {
    /// On machines with the same instruction set or device.
    #[default]
    SameInstructions,
    /// On every processor.
    Reproducible,
}

impl Bits {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The prefix of a node name's replacement.
const STAND_IN: &str = "unnamed-";

impl MadeBy {
    /// Replaces the node's name, by the same text for the same name.
    pub(crate) fn forget_node(&mut self) {
        if !self.node.is_empty() && !self.node.starts_with(STAND_IN) {
            self.node =
                format!("{STAND_IN}{}", &sha256(format!("frostline node {}", self.node).as_bytes())[..8]);
        }
    }

    /// Returns whether it computed on a GPU, so that the memory of its process is not the memory of its steps.
    #[must_use]
    pub fn on_gpu(&self) -> bool {
        self.isa.starts_with("gpu")
    }

    /// Returns the precision in which this maker computes a cell with this setting. If bits are reproducible,
    /// products of bf16 are computed even without an instruction for them; otherwise such cells compute in f32.
    #[must_use]
    pub fn computes_in(&self, asked: Precision) -> Precision {
        let emulated = self.bits == Bits::Reproducible && asked == Precision::Bf16;
        if emulated || asked.is_native_in(&self.isa) { asked } else { Precision::F32 }
    }
}
