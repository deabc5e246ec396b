//! The events that a worker writes; see [`Request`](crate::Request).

use serde::{Deserialize, Serialize};

use crate::record_check::too_large;
use crate::{Accounts, Answer, DevPoint, EpochRow, MadeBy};

/// The events that a worker reports while it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The worker is up.
    Ready(MadeBy),
    /// Data and model of a cell are in place.
    Loaded(Loaded),
    /// A cell's constant prefix is being computed, or waited for. No training step is taken yet.
    Prefix(PrefixEvent),
    /// A point of the train-loss curve.
    Step(StepEvent),
    /// An epoch ended.
    Epoch {
        /// The cell's id.
        id: String,
        /// The epoch's row.
        row: EpochRow,
    },
    /// Dev was scored after a multiple of `eval.every_steps` steps.
    Dev {
        /// The cell's id.
        id: String,
        /// The scores.
        point: DevPoint,
    },
    /// The cell's record is in place (with `verify`: the step was taken).
    Done {
        /// The cell's id.
        id: String,
    },
    /// The cell ended, but its record was not written: another process had recorded it before, or has the claim.
    Late {
        /// The cell's id.
        id: String,
    },
    /// The cell failed; its record with the error is in place (with `verify`: no record).
    Failed {
        /// The cell's id.
        id: String,
        /// Why, in words.
        error: String,
    },
    /// The answer to a request that runs no cell.
    Answer(Answer),
    /// A request that runs no cell cannot be answered.
    Refused {
        /// Why, in words.
        error: String,
    },
}

impl Event {
    /// Returns the event in a line of a cell's `metrics.jsonl`, which may come from anywhere. Nothing if it is
    /// no event, or has a number above 2^53, as no record has: with such numbers nothing can be computed.
    #[must_use]
    pub fn read_line(line: &str) -> Option<Self> {
        let value = serde_json::from_str(line).ok()?;
        too_large(&value).is_none().then(|| serde_json::from_value(value).ok())?
    }

    /// The id of the cell that the event is about, if it is about one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Ready(_) | Self::Answer(_) | Self::Refused { .. } => None,
            Self::Loaded(loaded) => Some(&loaded.id),
            Self::Prefix(prefix) => Some(&prefix.id),
            Self::Step(step) => Some(&step.id),
            Self::Epoch { id, .. }
            | Self::Dev { id, .. }
            | Self::Done { id }
            | Self::Late { id }
            | Self::Failed { id, .. } => Some(id),
        }
    }
}

/// Data and model of a cell are in place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    /// The cell's id.
    pub id: String,
    /// Steps the cell will take.
    pub steps: u64,
    /// Sentences in train, dev and test.
    pub sentences: [u64; 3],
    /// The tag set.
    pub tags: Vec<String>,
    /// Parameters, as the last stage trains them.
    pub accounts: Accounts,
    /// How many of them each stage trains at its end.
    pub stages: Vec<StageParameters>,
    /// The names of the parameters that are drawn at random, since the encoder's files lack them.
    pub initialised: Vec<String>,
    /// A train sentence as the model sees it.
    pub sample: Sample,
    /// Time taken, in milliseconds.
    pub load_ms: f64,
    /// The step from which a checkpoint resumes the cell; 0 if there is none.
    pub resumed: u64,
}

/// How many parameters a stage trains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageParameters {
    /// The stage's name.
    pub name: String,
    /// Trainable parameters at its end.
    pub trainable: u64,
}

/// How far a cell's constant prefix is, about twice a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixEvent {
    /// The cell's id.
    pub id: String,
    /// Blocks of the prefix.
    pub blocks: u32,
    /// The share of the subwords that is there, in [0, 1]; nothing while another worker computes
    /// and this one waits.
    pub share: Option<f64>,
}

/// A sentence as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The words of the sentence.
    pub words: Vec<String>,
    /// The subwords of the sentence, including special tokens.
    pub subwords: Vec<String>,
    /// The tag of each label position; empty for other subwords.
    pub labels: Vec<String>,
}

/// Progress inside a cell, every `train.log_every` steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepEvent {
    /// The cell's id.
    pub id: String,
    /// Optimiser steps taken so far.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// The running epoch, counted from 1.
    pub epoch: u32,
    /// Mean loss since the event before, in nats.
    pub loss_nats: f64,
    /// The learning rate of this step.
    pub lr: f64,
    /// Subwords per second of training time.
    pub tokens_per_s: f64,
    /// Expected time to the cell's end, in seconds.
    pub left_s: f64,
    /// Peak resident memory of the worker so far, in MiB; nothing if the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_mib: Option<f64>,
}
