//! The one protocol between a sweep and its workers, which are processes of `frostline worker`.
//!
//! A worker reads [`Request`]s from standard input and answers with [`Event`](crate::Event)s on standard output, one JSON
//! value per line. Its first event is [`Ready`](crate::Event::Ready). It takes one request at a time, keeps the files that it
//! has parsed for the next one, and ends when its input is closed, even in the middle of a cell.

use frostline_files::claim::{Disk, WorkClaim};
use serde::{Deserialize, Serialize};

use crate::{Bits, BlockScores, Cell, CellFacts, Checkpoints, Forecast, PairedTimes, ScoreJob, TimingJob};

/// What a worker is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Run a cell. Its events are answers, up to `done`, `late` or `failed`.
    Run(Box<Job>),
    /// Describe the program and the device: [`Answer::Version`].
    Version,
    /// Check cells without training: [`Answer::Facts`], about the data of the first kinds of cells.
    Check(Vec<Cell>),
    /// Describe the data of cells: [`Answer::Facts`], about each kind of data.
    Data(Vec<Cell>),
    /// Predict what cells cost: [`Answer::Forecasts`], one for each cell.
    Forecast(ForecastJob),
    /// Measure training steps: [`Answer::Times`].
    Time(TimingJob),
    /// Score blocks before training: [`Answer::Scores`], one for each cell.
    Score(ScoreJob),
    /// Take no further request, store a checkpoint of the running cell after its step, and end.
    Stop,
}

/// One cell for a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The cell.
    pub cell: Cell,
    /// The cell's folder, which exists.
    pub folder: String,
    /// The place of outputs of constant prefixes; missing if none are to be kept.
    pub prefix_cache: Option<PrefixPlace>,
    /// How often the cell writes a checkpoint.
    pub checkpoints: Checkpoints,
    /// Take one step and score one batch, to see that the cell can run. Writes no record.
    pub verify: bool,
    /// The claim under which the cell is run: without it the worker writes no record and no checkpoint. Nothing where
    /// no other process can run the cell.
    pub claim: Option<JobClaim>,
}

/// The claim on a job's folder, as [`WorkClaim`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobClaim {
    /// The claim's file.
    pub file: String,
    /// The whole text of the file.
    pub text: String,
}

impl From<&WorkClaim> for JobClaim {
    fn from(claim: &WorkClaim) -> Self {
        Self { file: claim.file.display().to_string(), text: claim.text.clone() }
    }
}

impl From<&JobClaim> for WorkClaim {
    fn from(claim: &JobClaim) -> Self {
        Self { file: claim.file.clone().into(), text: claim.text.clone() }
    }
}

impl Job {
    /// Whether the job is still this process's, as far as can be known now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        let held = |claim: &JobClaim| frostline_files::claim::is_held(&Disk, &claim.into());
        self.claim.as_ref().is_none_or(|claim| held(claim).unwrap_or(true))
    }
}

/// The place in which a worker keeps the outputs of constant prefixes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixPlace {
    /// MiB kept in memory.
    pub memory_mib: u64,
    /// The folder for what does not fit, which may be shared with other workers.
    pub folder: String,
}

/// Cells whose costs are predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForecastJob {
    /// The cells.
    pub cells: Vec<Cell>,
    /// Threads that each cell would have.
    pub threads: usize,
    /// Whether steps are timed if no calibration of this machine is in the cache. Seconds are predicted with a calibration alone.
    pub calibrate: bool,
    /// Whether constant prefixes are read if possible.
    pub prefix_cache: bool,
}

/// A worker's answer to a request that runs no cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The program and the device.
    Version(About),
    /// The data of cells, once for all cells that learn from the same.
    Facts(Vec<CellFacts>),
    /// What cells are predicted to cost.
    Forecasts(Vec<Forecast>),
    /// Times of training steps, or the memory that they take.
    Times(PairedTimes),
    /// Scores of the blocks of cells.
    Scores(Vec<BlockScores>),
}

/// A program and the device that it computes on. Further keys are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Frostline's version.
    pub version: String,
    /// The hash of the sources that compute results.
    pub code: String,
    /// The backends that it was built with.
    pub backends: Vec<String>,
    /// The one that was asked for, or for `auto` the one that it chose.
    #[serde(default)]
    pub backend: String,
    /// The instruction set that its kernels use on this machine.
    pub isa: String,
    /// The scope within which its results repeat bit for bit.
    #[serde(default)]
    pub bits: Bits,
    /// The processor or the GPU.
    pub device: String,
    /// The number of GPUs that the backend can compute on.
    #[serde(default)]
    pub gpus: usize,
    /// Whether the backend `amx` can compute here.
    #[serde(default)]
    pub amx: bool,
}
