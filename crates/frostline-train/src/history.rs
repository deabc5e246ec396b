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
    /// Every step, in milliseconds. On a backend that only queues its work, each of the steps between two readings of their
    /// losses has the mean of them, since a reading waits for all of them.
    pub steps_ms: Vec<f64>,
    /// Training and dev scoring of every finished epoch, in milliseconds.
    pub epochs_ms: Vec<[f64; 2]>,
}

impl Times {
    /// Adds a step's time, and shares the time of the last so many steps, it included, among them.
    pub(crate) fn add_step(&mut self, ms: f64, steps: usize) {
        self.steps_ms.push(ms);
        let first = self.steps_ms.len().saturating_sub(steps);
        let last = &mut self.steps_ms[first..];
        let mean = last.iter().sum::<f64>() / last.len().max(1) as f64;
        last.fill(mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_were_waited_for_together_share_their_time() {
        let mut times = Times { steps_ms: vec![9.0, 1.0, 1.0], epochs_ms: Vec::new() };
        times.add_step(4.0, 3);
        assert_eq!(times.steps_ms, [9.0, 2.0, 2.0, 2.0]);
        times.add_step(5.0, 1);
        assert_eq!(times.steps_ms, [9.0, 2.0, 2.0, 2.0, 5.0]);
    }
}
