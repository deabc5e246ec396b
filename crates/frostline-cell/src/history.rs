//! The results of a cell so far, over its stages, and the file from which it resumes after a crash.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use frostline_files::{FileError, Writer, unseal};
use frostline_kernels::Train;
use frostline_record::{
    self as record, CHECKPOINTS, DevPoint, EpochRow, Job, LossPoint, PrefixState, PrefixUse, StageOutcome,
};
use frostline_train::{Finished, Saved, Times};
use serde::{Deserialize, Serialize};

use crate::version;

/// Maximum size of a checkpoint. The checkpoint of an encoder with three billion parameters has 36 GiB.
///
/// # Units
/// Bytes.
const MOST_CHECKPOINT: u64 = 64 << 30;

/// The results of a cell at the start of a stage, and the rows reported since.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct History {
    /// Steps of all stages.
    pub steps_in_all: u64,
    /// Steps of finished stages.
    pub steps: u64,
    /// Epochs of finished stages.
    pub epochs_before: u64,
    pub stages: Vec<StageOutcome>,
    pub epochs: Vec<EpochRow>,
    pub losses: Vec<LossPoint>,
    pub dev_points: Vec<DevPoint>,
    /// The factor of a word-table row without gradients over the finished stages.
    pub untouched: f64,
    pub times: Times,
    /// Time of scoring after training, in milliseconds.
    pub scored_ms: f64,
    /// Train sentences and subwords that went through steps.
    pub seen: (u64, u64),
    pub prefix: PrefixUse,
}

impl Default for History {
    fn default() -> Self {
        Self {
            steps_in_all: 0,
            steps: 0,
            epochs_before: 0,
            stages: Vec::new(),
            epochs: Vec::new(),
            losses: Vec::new(),
            dev_points: Vec::new(),
            untouched: 1.0,
            times: Times::default(),
            scored_ms: 0.0,
            seen: (0, 0),
            prefix: PrefixUse::default(),
        }
    }
}

/// Whose checkpoint it is: bits repeat only with the same settings and code, on machines that give the same bits.
#[derive(Serialize, Deserialize)]
struct Note {
    id: String,
    machine: String,
    history: History,
}

/// Returns the results so far and the running stage's state: from the last checkpoint in the folder or, if it
/// is damaged, from the previous one.
pub(crate) fn resume(folder: &Path, id: &str, machine: &str) -> (History, Option<Saved>) {
    for file in CHECKPOINTS {
        let path = folder.join(file);
        if !path.exists() {
            continue;
        }
        match read(&path) {
            Ok((saved, note)) if note.id == id && note.machine == machine => {
                return (note.history, Some(saved));
            }
            // The checkpoint has other settings, code or machine: bits would differ.
            Ok(_) => {}
            Err(reason) => {
                tracing::warn!("{}: not used, since {reason}", path.display());
                // Otherwise the next checkpoint would push out the good one before.
                let _ = frostline_files::remove(&path);
            }
        }
    }
    Default::default()
}

fn read(path: &Path) -> Result<(Saved, Note), String> {
    let bytes = frostline_files::read(path, MOST_CHECKPOINT).map_err(|error| error.reason.to_string())?;
    let inside = unseal(&bytes).ok_or("its checksum does not fit")?;
    let (saved, note) = Saved::from_bytes(inside).map_err(|error| error.to_string())?;
    Ok((saved, serde_json::from_str(&note).map_err(|error| error.to_string())?))
}

impl History {
    /// Epochs and steps of finished stages.
    pub fn before(&self) -> (u64, u64) {
        (self.epochs_before, self.steps)
    }

    /// Stores where the cell is, and keeps the checkpoint before: at every moment the last one is there. A full
    /// disk loses the checkpoint, not the cell. If another process has taken over the cell, its checkpoints
    /// stay.
    pub fn keep(&self, job: &Job, machine: &str, saved: &Saved) {
        if !job.is_held() {
            return;
        }
        let folder = Path::new(&job.folder);
        let note = Note { id: job.cell.id.clone(), machine: machine.into(), history: self.clone() };
        let note = serde_json::to_string(&note).expect("plain data always serialises");
        let [path, previous] = CHECKPOINTS.map(|name| folder.join(name));
        let write = || {
            let mut writer = Writer::create_sealed(&path)?;
            writer.write_all(&saved.to_bytes(&note)).map_err(FileError::of(&path))?;
            if path.exists() {
                frostline_files::keep_as(&path, &previous)?;
            }
            writer.finish()
        };
        if let Err(error) = write() {
            tracing::warn!("no checkpoint: {error}");
        }
    }

    /// Returns a step as the screen shows it, with the time that is left.
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
            peak_rss_mib: Some(version::peak_rss_mib()).filter(|&peak| peak > 0.0),
        }
    }

    /// Adds how a stage's constant prefix was obtained; the record contains the first one.
    pub fn add_prefix(&mut self, used: PrefixUse) {
        let fill_ms = self.prefix.fill_ms + used.fill_ms;
        if self.prefix.state == PrefixState::None {
            self.prefix = used;
        }
        self.prefix.fill_ms = fill_ms;
    }

    /// Takes over a finished stage's counts.
    pub fn count<B: Train>(&mut self, finished: &Finished<B>) {
        self.steps += finished.steps;
        let epochs = finished.epochs.len() as u64;
        self.epochs_before += epochs;
        self.untouched *= finished.untouched_rows;
        self.times.steps_ms.extend(&finished.times.steps_ms);
        self.times.epochs_ms.extend(&finished.times.epochs_ms);
        self.seen.0 += finished.seen.0;
        self.seen.1 += finished.seen.1;
    }

    /// Returns how a cell's time was spent; `rest_ms` is the time in no other category.
    pub fn timing(
        &self,
        [load_ms, baselines_ms]: [f64; 2],
        rest_ms: f64,
        load: record::Load,
    ) -> record::Timing {
        let times = &self.times;
        let train_ms: f64 = times.steps_ms.iter().sum();
        let eval_ms = times.epochs_ms.iter().map(|[_, eval]| eval).sum::<f64>() + self.scored_ms;
        let mut steady: Vec<f64> = times.steps_ms.iter().skip(3).copied().collect();
        steady.sort_by(f64::total_cmp);
        let per_s = |count: f64| 1e3 * count / train_ms.max(1e-9);
        record::Timing {
            load_ms,
            train_ms,
            eval_ms,
            baselines_ms,
            total_ms: train_ms + eval_ms + self.prefix.fill_ms + load_ms + baselines_ms + rest_ms,
            step_ms_median: steady.get(steady.len() / 2).copied().unwrap_or(0.0),
            samples_per_s: per_s(self.seen.0 as f64),
            steps_per_s: per_s(self.steps as f64),
            tokens_per_s: per_s(self.seen.1 as f64),
            epochs: times
                .epochs_ms
                .iter()
                .map(|&[train_ms, eval_ms]| record::EpochTiming { train_ms, eval_ms })
                .collect(),
            prefix: self.prefix,
            peak_rss_mib: version::peak_rss_mib(),
            load: Some(load),
            predicted_step_ms: None,
        }
    }

    /// Takes over a finished stage's outcome.
    pub fn add_stage(&mut self, stage: StageOutcome) {
        self.stages.push(stage);
    }
}

/// Milliseconds since then.
pub(crate) fn elapsed_ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
