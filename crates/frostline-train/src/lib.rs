#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod changes;
mod config;
mod data;
mod evaluate;
mod mix;
mod optimizer;
mod prefix;
mod pretrain;
mod probe;
mod run;
mod saved;
mod schedule;

pub use changes::{linear_cka, relative_changes};
pub use config::{DropoutConfig, Mixing, OptimizerConfig, Rule, ScheduleKind, Select, TrainConfig};
pub use data::{Dataset, Example, Split, TaggedSentence, Unit, tag_set};
pub use evaluate::{Evaluation, Scored, evaluate, features};
pub use optimizer::{Norms, Optimizer};
pub use prefix::{Prefix, View, compute_prefix};
pub use pretrain::{MaskedLm, PretrainConfig, pretrain};
pub use probe::{Fit, Probe, ProbeConfig};
pub use run::{Epoch, Event, Finished, Freezing, LossPoint, Run, Sink, Task, Times, train};
pub use saved::{Pace, Saved};
pub use schedule::Schedule;

/// What can stop a run.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A sentence could not be aligned.
    #[error("sentence {number} of {split}: {source}")]
    Align {
        /// The split.
        split: String,
        /// The sentence, counted from 1.
        number: usize,
        /// Why.
        source: frostline_align::AlignError,
    },
    /// Nothing is left of a sentence.
    #[error(
        "sentence {number} of {split} has no subword: the tokenizer makes nothing of its words and adds no \
         special tokens; leave it out"
    )]
    NoSubword {
        /// The split.
        split: String,
        /// The sentence, counted from 1.
        number: usize,
    },
    /// A split has no sentence.
    #[error("the {split} split has no sentence to work on; check the file and `data.first`")]
    EmptySplit {
        /// The split.
        split: String,
    },
    /// The loss left the real numbers.
    #[error(
        "the loss is {loss} at step {step} (learning rate {lr:e}); training diverged: try a lower \
         `optimizer.lr` or a warm-up (`schedule.warmup`)"
    )]
    Diverged {
        /// The step, counted from 1.
        step: u64,
        /// The loss.
        loss: f32,
        /// The step's learning rate.
        lr: f64,
    },
    /// What was saved of a run cannot be read.
    #[error("the checkpoint cannot be read: {reason}; delete it to start the run again")]
    Checkpoint {
        /// Why.
        reason: String,
    },
    /// First weights could not be made.
    #[error(transparent)]
    Model(#[from] frostline_model::ModelError),
    /// A frozen parameter changed: a fault of this program.
    #[error("`{path}` is frozen but changed during training; this is a fault of Frostline, please report it")]
    Thawed {
        /// The parameter.
        path: String,
    },
}
