//! Baselines: scores on a cell's data without training its encoder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Score;

/// The key of the baseline that gives each word its most frequent tag in train.
pub const MOST_FREQUENT: &str = "most-frequent";

/// The key of the logistic regression on the pretrained encoder's output for the words.
pub const PROBE: &str = "probe";

/// The scores of a baseline on a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The counts, by split. `loss_nats` is 0 if the baseline gives no probabilities.
    pub scores: BTreeMap<String, Score>,
    /// How the fit ended, if there was one.
    pub fit: Option<BaselineFit>,
}

/// How a baseline's fit ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BaselineFit {
    /// Train words (or sentences) it was fitted to.
    pub fitted: u64,
    /// Number of words that it could have been fitted to.
    pub of: u64,
    /// Iterations taken.
    pub iterations: u64,
    /// Whether it converged.
    pub converged: bool,
    /// Mean loss on the data of the fit, including the penalty, in nats.
    pub loss_nats: f64,
}
