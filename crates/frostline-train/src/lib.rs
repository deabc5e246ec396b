#![doc = include_str!("../README.md")]
#![recursion_limit = "256"]

mod batch;
mod block_scores;
mod changes;
mod clock;
#[cfg(feature = "flex")]
pub mod conformance;
mod data;
mod error;
mod evaluate;
mod event;
mod finished;
#[cfg(test)]
mod fixture;
mod freezer;
mod grown;
mod history;
mod losses;
mod mix;
mod moments;
mod optimizer;
mod pass;
mod passes;
mod policy;
mod prefix;
mod pretrain;
mod probe;
mod progress;
mod resume;
mod run;
mod saved;
mod schedule;
mod step;
mod stopping;
mod task;
mod turns;
mod view;
mod word_table;

pub use block_scores::{GradientScores, layer_features, score_gradients};
pub use changes::{linear_cka, relative_changes};
pub use clock::StepTime;
pub use data::{Dataset, Example, Split, TaggedSentence, tag_set};
pub use error::TrainError;
pub use evaluate::{Evaluation, Scored, evaluate, features};
pub use event::{RunEvent, Sink};
pub use finished::Finished;
pub use history::{Epoch, Times};
pub use optimizer::{Norms, Optimizer, ReadNorms};
pub use policy::{extras, settling_rule, timeline};
pub use prefix::compute_prefix;
pub use pretrain::{MaskedLm, PretrainConfig, pretrain};
pub use probe::{Fit, Probe, ProbeConfig};
pub use run::train;
pub use saved::Saved;
pub use schedule::LrSchedule;
pub use task::{Run, Task};
pub use turns::{TurnTaker, Turns};
pub use view::{Prefix, View};

/// Types of `frostline-record` that a run takes and gives.
pub use frostline_record::{Checkpoints, FreezeCheck, LossPoint, Settings, Unit};
