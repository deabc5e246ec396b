//! Baselines: what is reached on a cell's data without training its encoder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Score;

/// The key of the baseline that gives each word its most frequent tag in train.
pub const MOST_FREQUENT: &str = "most-frequent";

/// The key of the logistic regression on what the pretrained encoder makes of the words.
pub const PROBE: &str = "probe";

/// What a baseline reached on a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The counts, by split. `loss_nats` is 0 where the baseline gives no probabilities.
    pub scores: BTreeMap<String, Score>,
    /// How the fit ended, where there was one.
    pub fit: Option<BaselineFit>,
}

/// How a baseline's fit ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineFit {
    /// Train words (or sentences) it was fitted to.
    pub fitted: u64,
    /// Those that it could have been fitted to.
    pub of: u64,
    /// Iterations taken.
    pub iterations: u64,
    /// Whether it converged.
    pub converged: bool,
    /// Its mean loss on what it was fitted to, the penalty included, in nats.
    pub loss_nats: f64,
}
