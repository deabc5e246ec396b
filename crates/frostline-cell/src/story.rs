//! What a cell has found so far, over its stages, and the file from which it goes on after a crash.

use std::fs;
use std::path::{Path, PathBuf};

use frostline_kernels::Train;
use frostline_record::{self as record, EpochRow, LossPoint, PrefixState, PrefixUse, StageOutcome};
use frostline_train::{Finished, Saved, Task, Times};
use serde::{Deserialize, Serialize};

use crate::data::Data;

/// The file in a cell's folder.
const FILE: &str = "checkpoint.safetensors";

/// What is known of a cell at the start of a stage, and of the rows told since.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Story {
    /// Steps of all stages.
    pub steps_in_all: u64,
    /// Steps of finished stages.
    pub steps: u64,
    /// Epochs of finished stages.
    pub epochs_before: u64,
    pub stages: Vec<StageOutcome>,
    pub epochs: Vec<EpochRow>,
    pub losses: Vec<LossPoint>,
    /// What a row of the word table without gradient was multiplied with, in finished stages.
    pub untouched: f64,
    pub times: Times,
    /// Time of scoring after training, in milliseconds.
    pub scored_ms: f64,
    /// Train sentences and subwords that went through steps.
    pub seen: (u64, u64),
    pub prefix: PrefixUse,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            steps_in_all: 0,
            steps: 0,
            epochs_before: 0,
            stages: Vec::new(),
            epochs: Vec::new(),
            losses: Vec::new(),
            untouched: 1.0,
            times: Times::default(),
            scored_ms: 0.0,
            seen: (0, 0),
            prefix: PrefixUse::default(),
        }
    }
}

/// Whose checkpoint it is: bits repeat only with the same settings, code and instruction set.
#[derive(Serialize, Deserialize)]
struct Note {
    id: String,
    isa: String,
    story: Story,
}

/// The story so far and the running stage's state, where a usable checkpoint lies in the folder.
pub(crate) fn resume(folder: &Path, id: &str, isa: &str) -> (Story, Option<Saved>) {
    let found = fs::read(folder.join(FILE)).ok().and_then(|bytes| {
        let (saved, note) = Saved::from_bytes(&bytes).ok()?;
        let note: Note = serde_json::from_str(&note).ok()?;
        (note.id == id && note.isa == isa).then_some((note.story, Some(saved)))
    });
    found.unwrap_or_default()
}

/// Removes a checkpoint that nobody needs any more, and what a killed worker left of one.
pub(crate) fn forget(folder: &Path) {
    let path = folder.join(FILE);
    let _ = fs::remove_file(path.with_added_extension("part"));
    let _ = fs::remove_file(path);
}

impl Story {
    /// Epochs and steps of finished stages.
    pub fn before(&self) -> (u64, u64) {
        (self.epochs_before, self.steps)
    }

    /// Writes down where the cell is. A disk that is full costs the checkpoint, not the cell.
    pub fn keep(&self, folder: &Path, id: &str, isa: &str, saved: &Saved) {
        let note = Note { id: id.into(), isa: isa.into(), story: self.clone() };
        let note = serde_json::to_string(&note).expect("plain data always serialises");
        let path: PathBuf = folder.join(FILE);
        if let Err(error) = record::write_atomically(&path, &saved.to_bytes(&note)) {
            tracing::warn!("no checkpoint: {error}");
        }
    }

    pub fn step_event(
        &self,
        id: &str,
        point: &LossPoint,
        epoch: u32,
        epochs: u32,
        tokens_per_s: f64,
        times: &Times,
    ) -> record::StepEvent {
        let per_step = times.steps_ms.iter().sum::<f64>() / times.steps_ms.len() as f64;
        let per_eval = times.epochs_ms.iter().map(|[_, eval]| *eval).reduce(f64::max).unwrap_or(per_step);
        let evals = f64::from(epochs) - times.epochs_ms.len() as f64;
        let left = (self.steps_in_all - point.step) as f64 * per_step + evals * per_eval;
        record::StepEvent {
            id: id.into(),
            step: point.step,
            steps: self.steps_in_all,
            epoch: self.epochs_before as u32 + epoch,
            loss_nats: point.loss_nats,
            lr: point.lr,
            tokens_per_s,
            left_s: left / 1e3,
        }
    }

    /// What became of a stage's constant prefix: the first that there was is told.
    pub fn add_prefix(&mut self, used: PrefixUse) {
        let fill_ms = self.prefix.fill_ms + used.fill_ms;
        if self.prefix.state == PrefixState::None {
            self.prefix = used;
        }
        self.prefix.fill_ms = fill_ms;
    }

    /// Takes over a finished stage's counts.
    pub fn count<B: Train>(&mut self, finished: &Finished<B>, data: &Data, tasks: &[Task<'_>]) {
        self.steps += finished.steps;
        let epochs = finished.epochs.len() as u64;
        self.epochs_before += epochs;
        self.untouched *= finished.untouched_rows;
        self.times.steps_ms.extend(&finished.times.steps_ms);
        self.times.epochs_ms.extend(&finished.times.epochs_ms);
        for (task, learned) in data.tasks.iter().zip(tasks) {
            if learned.weight > 0.0 {
                self.seen.0 += epochs * task.train.examples.len() as u64;
                self.seen.1 += epochs * task.train.subwords() as u64;
            }
        }
    }

    pub fn add_stage(&mut self, stage: StageOutcome) {
        self.stages.push(stage);
    }
}
