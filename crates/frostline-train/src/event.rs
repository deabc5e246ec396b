//! What a run reports while it trains, and to whom.

use frostline_freeze::ResolvedPolicy;
use frostline_record::LossPoint;

use crate::{Epoch, Evaluation, Saved, Times};

/// What a run reports while it trains.
#[derive(Clone, Debug)]
pub enum RunEvent<'a> {
    /// Every `log_every` steps, and at the last one.
    Loss {
        /// The new point of the curve.
        point: &'a LossPoint,
        /// The running epoch, from 1.
        epoch: u32,
        /// Steps in all.
        steps: u64,
        /// Subwords per second of training time so far.
        tokens_per_s: f64,
        /// Time spent so far: training and scoring.
        times: &'a Times,
    },
    /// After every epoch, with its dev scores in full, one per task, and what was frozen at its end.
    Epoch(&'a Epoch, &'a [Evaluation], &'a ResolvedPolicy),
    /// After every `eval.every_steps` steps, with dev scores in full, one per task.
    Dev {
        /// Steps taken so far.
        step: u64,
        /// The running epoch, from 1.
        epoch: u32,
        /// The scores.
        dev: &'a [Evaluation],
    },
    /// As often as [`Run::checkpoints`](crate::Run::checkpoints) says.
    Checkpoint(&'a Saved),
}

/// A receiver of a run's events.
pub trait Sink {
    /// Receives an event.
    fn event(&mut self, event: RunEvent<'_>);
}

impl<F: FnMut(RunEvent<'_>)> Sink for F {
    fn event(&mut self, event: RunEvent<'_>) {
        self(event);
    }
}
