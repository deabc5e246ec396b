//! All of a run's state but tensors: its place in the data, its sums and what it has measured.

use std::collections::BTreeMap;

use frostline_freeze::Settling;
use frostline_record::LossPoint;
use serde::{Deserialize, Serialize};

use crate::{Epoch, Evaluation, RunEvent, Times};

/// All of a run's state but tensors. A checkpoint holds it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Steps taken.
    pub step: u64,
    /// The running epoch of this run, counted from 1.
    pub epoch: u32,
    /// Steps taken in it.
    pub done: usize,
    /// Sentences seen.
    pub sentences: usize,
    /// Subwords seen.
    pub tokens: usize,
    /// What a row of the word table without gradient has been multiplied with.
    pub untouched: f64,
    /// Losses since the last point of the curve.
    pub since: Mean,
    /// Losses of the running epoch.
    pub epoch_loss: Mean,
    pub losses: Vec<LossPoint>,
    pub epochs: Vec<Epoch>,
    /// The best epoch so far and its `untouched`.
    pub best: Option<(u32, f64)>,
    pub times: Times,
    /// Time of scoring dev within the running epoch, in milliseconds.
    pub scoring_ms: f64,
    /// What has frozen during the run, in a checkpoint; else the freezer holds it.
    pub settling: Settling,
    /// Every parameter's hash at the start.
    pub start: BTreeMap<String, u64>,
}

impl Progress {
    /// A run that has taken no step, from parameters with these hashes.
    pub fn new(start: BTreeMap<String, u64>) -> Self {
        Self { epoch: 1, untouched: 1.0, start, ..Self::default() }
    }

    /// Counts a step, which multiplied rows of the word table without gradient with `unread_rows`. Its loss is added when it is
    /// read.
    pub fn add_step(&mut self, sentences: usize, subwords: usize, unread_rows: f64) {
        self.untouched *= unread_rows;
        self.step += 1;
        self.done += 1;
        self.sentences += sentences;
        self.tokens += subwords;
    }

    /// Adds a step's loss.
    pub fn add_loss(&mut self, loss: f32) {
        self.epoch_loss.add(loss.into());
        self.since.add(loss.into());
    }

    /// Adds a point to the train-loss curve, the mean since the last one, and returns its event in a run of so many steps. Steps
    /// without labels have no loss, and so perhaps no point.
    pub fn add_loss_point(&mut self, lr: f64, steps: u64) -> Option<RunEvent<'_>> {
        let loss_nats = self.since.take()?;
        self.losses.push(LossPoint { step: self.step, loss_nats, lr });
        let point = &self.losses[self.losses.len() - 1];
        let tokens_per_s = self.tokens_per_s();
        Some(RunEvent::Loss { point, epoch: self.epoch, steps, tokens_per_s, times: &self.times })
    }

    /// Adds the running epoch, of so many steps, with its dev scores.
    pub fn add_epoch(&mut self, steps: usize, dev: &[Evaluation]) -> &Epoch {
        let first = self.times.steps_ms.len() - steps;
        let scoring_ms = std::mem::take(&mut self.scoring_ms);
        self.times.epochs_ms.push([self.times.steps_ms[first..].iter().sum(), scoring_ms]);
        // No cell is started whose train sentences have no labels at all.
        let train_loss_nats = self.epoch_loss.take().unwrap_or(0.0);
        let dev = dev.iter().map(Evaluation::scored).collect();
        self.epochs.push(Epoch { epoch: self.epoch, step: self.step, train_loss_nats, dev });
        &self.epochs[self.epochs.len() - 1]
    }

    /// Subwords per second of training time.
    pub fn tokens_per_s(&self) -> f64 {
        1e3 * self.tokens as f64 / self.times.steps_ms.iter().sum::<f64>()
    }

    /// Steps taken up to the end of an epoch; 0 where there is no such epoch.
    pub fn steps_at_end_of(&self, epoch: u32) -> u64 {
        self.epochs.iter().find(|row| row.epoch == epoch).map_or(0, |row| row.step)
    }
}

/// A running mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// The mean so far, if there is a value; starts anew.
    fn take(&mut self) -> Option<f64> {
        let Self { sum, count } = std::mem::take(self);
        (count > 0).then(|| sum / count as f64)
    }
}
