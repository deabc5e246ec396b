//! What a program asks of this crate: a study, work on the cells of a folder, downloads.

use std::path::PathBuf;
use std::time::Duration;

use frostline_files::claim::LEASE;
use frostline_record::{DecideQuestion, FindLr, Init};

use crate::backend::Backend;
use crate::output::OutputKind;
use crate::slurm::options::SlurmOptions;

/// A study.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// How far the study is carried out.
    pub action: Action,
    /// The plan: the name of a built-in one or a TOML file; without one, the inputs decide.
    pub plan: Option<PathBuf>,
    /// Changes to the plan.
    pub changes: SettingChanges,
    /// The folders of treebanks and encoders.
    pub inputs: InputFolders,
    /// The sweep's folder; without one, its name follows from the plan.
    pub out: Option<PathBuf>,
    /// What the tensors run on; without it, [`Backend::default`].
    pub backend: Option<Backend>,
    /// Cells at a time; without a number, the plan's, or as many as are fastest together.
    pub jobs: Option<u32>,
    /// Threads of each worker; without a number, its share of the cores.
    pub threads: Option<u32>,
    /// What happens when a cell fails.
    pub failures: Failures,
    /// How jobs of SLURM run the cells; without it, workers on this machine do.
    pub slurm: Option<SlurmRequest>,
    /// How long other processes leave this one's cells alone after it was last seen.
    pub lease: Duration,
    /// What is written to standard output.
    pub output: OutputKind,
    /// Where a trace of all processes is written.
    pub trace: Option<PathBuf>,
}

impl Default for SweepRequest {
    fn default() -> Self {
        Self {
            action: Action::default(),
            plan: None,
            changes: SettingChanges::default(),
            inputs: InputFolders::default(),
            out: None,
            backend: None,
            jobs: None,
            threads: None,
            failures: Failures::default(),
            slurm: None,
            lease: LEASE,
            output: OutputKind::default(),
            trace: None,
        }
    }
}

/// How far a study is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Run all cells and write the report.
    #[default]
    Run,
    /// Take one step in every cell and write no record.
    Verify,
    /// Write the sweep's folder for [`work`](crate::work), and run nothing.
    Begin,
    /// Show cells, their predicted costs and inputs, and write nothing.
    List {
        /// Whether steps are timed if no calibration of this machine is in the cache.
        calibrate: bool,
    },
    /// Show tables of the data, and write nothing.
    DescribeData,
    /// Predict what policies lose and save, and show which one to take. Nothing is written.
    Advise,
    /// Show scores of the encoder's blocks before training. Nothing is written but what a given folder receives.
    ScoreBlocks {
        /// Train sentences whose gradients are computed, at most.
        sentences: usize,
    },
}

/// Changes to a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingChanges {
    /// Only these treebanks; all if empty, as for the other lists.
    pub langs: Vec<String>,
    /// These policies instead of the plan's.
    pub policies: Vec<String>,
    /// These seeds instead of the plan's.
    pub seeds: Vec<u64>,
    /// This encoder instead of the plan's.
    pub encoder: Option<String>,
    /// How the encoder's parameters are initialised.
    pub encoder_init: Option<Init>,
    /// For what a learning rate is found before the comparison.
    pub find_lr: Option<FindLr>,
    /// The question with which the sweep grows until it is answered.
    pub decide: Option<DecideQuestion>,
    /// Settings with their values, as in `optimizer.lr=3e-5`; a list makes an axis of the grid.
    pub assignments: Vec<String>,
    /// Compute constant prefixes in every step.
    pub no_prefix_cache: bool,
    /// Do not time the policies' steps in turns.
    pub no_timing: bool,
    /// These trackers instead of the plan's.
    pub track: Vec<String>,
}

/// The folders of inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFolders {
    /// The folder or the ZIP archive of treebanks.
    pub data: Option<PathBuf>,
    /// The folder of encoders.
    pub models: Option<PathBuf>,
}

/// What happens when a cell fails.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Failures {
    /// Whether no further cell is started once one has failed for good.
    pub stop: bool,
    /// How often a failed cell is run again before its error is recorded.
    pub retries: u32,
    /// The longest time that a cell may take.
    pub time_limit: Option<Duration>,
}

/// How jobs of SLURM run the cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmRequest {
    /// Options of the jobs.
    pub options: SlurmOptions,
    /// Submit the jobs and end.
    pub detach: bool,
    /// Show the jobs and submit nothing.
    pub dry_run: bool,
}

/// Work on the cells of a sweep's folder.
#[derive(Clone, Debug)]
pub struct WorkRequest {
    /// The sweep's folder.
    pub folder: PathBuf,
    /// Cells at a time.
    pub jobs: u32,
    /// Threads of each cell; without a number, its share of the cores.
    pub threads: Option<u32>,
    /// Whether cells that had failed before are run again.
    pub failed: bool,
    /// Whether to wait for cells that other processes run.
    pub waits: bool,
    /// How often a job of SLURM returns to the queue.
    pub max_restarts: u32,
    /// What happens when a cell fails.
    pub failures: Failures,
    /// How long other processes leave this one's cells alone after it was last seen.
    pub lease: Duration,
    /// What is written to standard output.
    pub output: OutputKind,
    /// Where a trace of all processes is written.
    pub trace: Option<PathBuf>,
}

/// Downloads into the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// Treebanks, encoders by hub id, and addresses of archives; if empty, all that the plan reads.
    pub names: Vec<String>,
    /// The plan: a built-in name or a TOML file.
    pub plan: Option<PathBuf>,
    /// The cache; without one, the default cache.
    pub cache: Option<PathBuf>,
    /// A tag, branch or commit instead of the usual one.
    pub revision: Option<String>,
    /// The SHA-256 that files must have, as `FILE=SHA256`.
    pub pins: Vec<String>,
    /// Whether encoders are fetched with their weights.
    pub weights: bool,
    /// Whether no connection is opened.
    pub offline: bool,
    /// A mirror of the Hugging Face hub.
    pub hub: Option<String>,
    /// A mirror of the treebanks' repositories.
    pub treebanks: Option<String>,
}

impl Default for FetchRequest {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            plan: None,
            cache: None,
            revision: None,
            pins: Vec::new(),
            weights: true,
            offline: false,
            hub: None,
            treebanks: None,
        }
    }
}
