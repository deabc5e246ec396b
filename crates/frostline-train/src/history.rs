//! What a run has measured so far, epoch by epoch, and where its time went.

use serde::{Deserialize, Serialize};

use crate::Scored;

/// One epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Counted from 1.
    pub epoch: u32,
    /// Steps taken so far.
    pub step: u64,
    /// Mean loss of its steps, in nats.
    pub train_loss_nats: f64,
    /// Dev after it, one per task.
    pub dev: Vec<Scored>,
}

/// Where the time went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Every step, in milliseconds.
    pub steps_ms: Vec<f64>,
    /// Training and dev scoring of every finished epoch, in milliseconds.
    pub epochs_ms: Vec<[f64; 2]>,
}
