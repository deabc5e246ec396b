//! The command-line arguments of `sweep`, `work`, `report` and `fetch`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use frostline_files::claim::{LEASE, LONGEST_LEASE};
use serde::{Deserialize, Serialize};

use crate::say::Output;
pub use crate::slurm::options::SlurmArgs;

/// `sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without options the embedded demo runs: no network, data or weights are needed. The same command \
again runs only the cells that are missing or failed.

Examples:
    frostline sweep --lang en,pcm
    frostline sweep --plan paper --data TREEBANKS --models ENCODERS --verify
    frostline sweep --plan my-plan.toml --seeds 42-46 --policies none,first-4 --out study
    frostline sweep --plan paper --set 'optimizer.lr=[1e-5, 5e-5]' --set data.first=2500 --list
    frostline sweep --plan my-plan.toml --find-lr
    frostline sweep --status study

Exit codes: 0 done, 1 some cells failed, 2 bad plan or arguments, 3 environment (data, encoder, \
output folder, device, build), 130 interrupted.")]
pub struct SweepArgs {
    /// The plan: the name of a built-in one, as in `paper`, or a TOML file [default: demo, or paper with
    /// --data, --models or an --encoder that is not embedded]
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Only these treebanks of the plan, as in `en,pcm`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub lang: Vec<String>,
    /// These policies instead of the plan's, as in `none,first-4,head-only`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// These seeds instead of the plan's, as in `42,43` or `42-46`
    #[arg(long, value_name = "SEEDS", value_delimiter = ',', value_parser = seeds)]
    pub seeds: Vec<Seeds>,
    /// This encoder instead of the plan's: a folder under the models folder, or a path
    #[arg(long, value_name = "NAME")]
    pub encoder: Option<String>,
    /// Read the encoder's weights, or draw them at random from its config
    #[arg(long, value_name = "HOW", value_enum)]
    pub encoder_init: Option<EncoderInit>,
    /// Change a setting, as in `optimizer.lr=3e-5`, one of a stage, as in `stages.head.train.epochs=1`, or
    /// one of a policy or language, as in `policies.none+lora.optimizer.lr=1e-3`; a list
    /// makes it an axis of the grid
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    pub set: Vec<String>,
    /// First find a learning rate for each policy, or with `=lang` for each policy in each language, with cells that are not
    /// compared: on a sample of train, with a seed of their own [default: the plan's `[search]`]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "policy"
    )]
    pub find_lr: Option<FindLrFor>,
    /// The folder or the ZIP archive that holds treebanks
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder that holds encoders
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// What the tensors run on
    #[arg(long, value_enum, default_value_t = Backend::Flex)]
    pub backend: Backend,
    /// Cells at a time [default: the plan's `jobs`, or as many as are fastest together]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,
    /// Threads of each worker [default: cores / jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// What happens when a cell fails
    #[command(flatten)]
    pub failures: FailureArgs,
    /// The sweep's folder [default: sweeps/PLAN-HASH, the same for any of the plan's treebanks,
    /// policies and seeds]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show the cells, what each is predicted to cost on this machine, and where each input comes from; and run nothing
    #[arg(long, conflicts_with = "verify")]
    pub list: bool,
    /// With --list: time steps for some seconds where this was not done on this machine before, to predict how long
    /// cells take. The result is kept in the cache
    #[arg(long, requires = "list")]
    pub calibrate: bool,
    /// Show how the sweep in a folder stands: what is recorded, what failed, and who runs which cell
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub status: Option<PathBuf>,
    /// Send what an MLflow server did not take while the sweep in a folder ran
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub send_tracked: Option<PathBuf>,
    /// Show what would be learned from: sizes, tags, unknown words, subwords, sentences that splits
    /// share; and train nothing
    #[arg(long, conflicts_with_all = ["list", "verify"])]
    pub data_report: bool,
    /// Take one step in every cell, to see that it can run, and write no record
    #[arg(long)]
    pub verify: bool,
    /// Write the sweep's folder for `frostline work`, and run nothing
    #[arg(long, conflicts_with_all = ["list", "data_report", "verify"])]
    pub begin: bool,
    /// Who runs the cells
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Compute constant prefixes in every step, whatever the plan says
    #[arg(long)]
    pub no_prefix_cache: bool,
    /// Do not time the policies' steps in turns after the cells
    #[arg(long)]
    pub no_timing: bool,
    /// Report cells to these trackers while they train, in place of the plan's: tensorboard, wandb, mlflow (all into the
    /// sweep's folder), mlflow=URL or off [default: the plan's `track`]
    #[arg(long, value_name = "TRACKERS", value_delimiter = ',')]
    pub track: Vec<String>,
    /// Write what every process did when, down to single steps, as a trace that Perfetto and Chrome show
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// How processes share a folder
    #[command(flatten)]
    pub sharing: SharingArgs,
    /// What is said
    #[command(flatten)]
    pub output: OutputArgs,
}

/// For what `--find-lr` finds a learning rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FindLrFor {
    /// Each policy, by its mean over the languages
    Policy,
    /// Each policy in each language
    Lang,
}

impl fmt::Display for FindLrFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "policy",
            Self::Lang => "lang",
        })
    }
}

/// Who runs the cells.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// What runs the cells
    #[arg(long, value_enum, default_value_t = ExecutorKind::Local, conflicts_with_all = ["begin", "verify"])]
    pub executor: ExecutorKind,
    /// Submit the jobs and end
    #[arg(long)]
    pub detach: bool,
    /// Show the jobs that would be submitted, and submit nothing
    #[arg(long)]
    pub dry_run: bool,
    /// End the jobs that were submitted for a sweep's folder
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub cancel: Option<PathBuf>,
    /// The jobs
    #[command(flatten)]
    pub slurm: SlurmArgs,
}

impl ClusterArgs {
    /// Options of jobs say where cells should run: without an executor that submits jobs, they would run here.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        let given = [
            (self.dry_run, "--dry-run"),
            (self.detach, "--detach"),
            (self.slurm != SlurmArgs::default(), "an option for SLURM jobs"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given && self.executor == ExecutorKind::Local) {
            Some((_, name)) => anyhow::bail!(
                "{name} is given without --executor slurm, so that the cells would run on this machine; add it, or leave that out"
            ),
            None => Ok(()),
        }
    }
}

/// What runs the cells of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExecutorKind {
    /// Workers on this machine
    #[default]
    Local,
    /// Jobs of a SLURM cluster, which take cells from the sweep's folder
    Slurm,
}

/// What a command that runs cells says.
#[derive(Clone, Copy, Debug, Args)]
pub struct OutputArgs {
    /// Write one JSON object per event to standard output, and lines for people to standard error
    #[arg(long)]
    pub json: bool,
    /// Write warnings and errors only
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
}

impl OutputArgs {
    pub(crate) fn output(self) -> Output {
        match (self.json, self.quiet) {
            (true, _) => Output::Json,
            (false, true) => Output::Quiet,
            (false, false) => Output::Text,
        }
    }
}

/// What happens when a cell fails.
#[derive(Debug, Args)]
pub struct FailureArgs {
    /// Start no further cell once one has failed; those that are running end
    #[arg(long, conflicts_with = "keep_going")]
    pub fail_fast: bool,
    /// Run all other cells where some fail, as without either option
    #[arg(long)]
    pub keep_going: bool,
    /// Run a cell that failed up to N times more before its error is recorded
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100))]
    pub retry: u32,
    /// End a cell that takes longer, with that as its error; what it has computed is lost unless the plan's
    /// `checkpoints` keep it [default: no limit]
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    pub cell_minutes: Option<f64>,
}

/// How processes share a folder.
#[derive(Debug, Args)]
pub struct SharingArgs {
    /// How long other processes leave this one's cells alone after it was last seen; one that died on the same machine is
    /// noticed at once
    #[arg(long, value_name = "SECONDS", default_value_t = LEASE.as_secs_f64(), value_parser = seconds)]
    pub lease_s: f64,
}

impl SharingArgs {
    /// The same as a duration.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_secs_f64(self.lease_s)
    }
}

/// `work`.
#[derive(Debug, Args)]
#[command(after_help = "\
Any number of these run at once, on this machine or on others that see the same folder, alongside the sweep or after \
it. Each takes one cell at a time, and none that another one runs or has recorded. A cell whose worker died is taken \
over from its last checkpoint, on any processor (with another backend than flex, only on one of the same kind). INT, TERM, \
HUP, USR1 and USR2 make it save a checkpoint of each running cell and end.

Examples:
    frostline sweep --plan demo --out study --begin   # or without --begin, to run cells here too
    frostline work study                              # in any number of terminals, jobs or machines
    frostline sweep --status study
    frostline report study

Only a sweep makes further rounds of a greedy search, and times the policies' steps in turns: run the same \
`frostline sweep` once more at the end for these.

Exit codes: 0 all cells are recorded, 1 some cells failed, 2 bad arguments, 3 environment (no sweep, another program \
than the sweep's, data, device), 130 stopped before the end.")]
pub struct WorkArgs {
    /// The folder of a sweep
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Cells at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: u32,
    /// Threads of each cell [default: cores / jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Also run the cells again that had failed before this command
    #[arg(long)]
    pub failed: bool,
    /// End, as if all cells were recorded, when those that are left are run by other processes
    #[arg(long)]
    pub no_wait: bool,
    /// In a job of SLURM that its time limit or preemption ends: how often the job returns to the queue while cells are
    /// left
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub max_restarts: u32,
    /// Write what this process and its workers did when, as `frostline sweep --trace` does
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// What happens when a cell fails
    #[command(flatten)]
    pub failures: FailureArgs,
    /// How processes share a folder
    #[command(flatten)]
    pub sharing: SharingArgs,
    /// What is said
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Several folders are set beside each other: a page with the sweeps as columns, verdicts on each beside the first one, and \
what may not be compared and why; with tables for LaTeX and rows for pandas and R.

Examples:
    frostline report study
    frostline report sweeps/mbert sweeps/xlmr --out sweeps/beside")]
pub struct ReportArgs {
    /// The sweep's folder; several are compared
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Where a comparison of several folders is written
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `publish`.
#[derive(Debug, Args)]
#[command(after_help = "\
The copy has the records, the predictions with a blank in the place of every word, and the times: \
`frostline report` computes the report from it, except for the sentences that it quotes. Models, logs and \
the messages of failed cells are left out, and paths are cut to a file and its folder. Gold tags stay: \
whether they may be published is for the treebanks' licences to say.

Examples:
    frostline publish study published-records")]
pub struct PublishArgs {
    /// The sweep's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The new folder
    #[arg(value_name = "TO")]
    pub to: PathBuf,
}

/// `fetch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every file is checked against the host's list of sizes and digests. The files of UD English EWT and UD \
Naija NSC, release r2.16, are also known to the program: it accepts no others, whatever the host.

Examples:
    frostline fetch                                      # what the plan `paper` reads
    frostline fetch --plan my-plan.toml --offline        # what the cache has of it
    frostline fetch UD_Wolof-WTB distilbert-base-multilingual-cased
    frostline fetch --hub https://hub.example.org --treebanks https://ud.example.org")]
pub struct FetchArgs {
    /// Treebanks such as UD_English-EWT, encoders by hub id, and ZIP archives of treebanks by address [default: all that the plan
    /// reads]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The plan whose inputs are fetched: a built-in name or a TOML file [default: paper]
    #[arg(long, value_name = "PLAN", conflicts_with = "names")]
    pub plan: Option<PathBuf>,
    /// The cache; a sweep finds it with FROSTLINE_CACHE=DIR [default: FROSTLINE_CACHE, else frostline in
    /// the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// A tag, branch or commit instead of the usual one; needs NAME, since a plan's treebanks and encoders
    /// share no revision
    #[arg(long, value_name = "REVISION", requires = "names")]
    pub revision: Option<String>,
    /// The SHA-256 that a file must have
    #[arg(long, value_name = "FILE=SHA256")]
    pub pin: Vec<String>,
    /// Fetch encoders without their weights
    #[arg(long)]
    pub no_weights: bool,
    /// Open no connection: check what is in the cache, and name what is not [default: off, or on with
    /// FROSTLINE_OFFLINE=1]
    #[arg(long)]
    pub offline: bool,
    /// A mirror of the Hugging Face hub [default: HF_ENDPOINT, else huggingface.co]
    #[arg(long, value_name = "URL")]
    pub hub: Option<String>,
    /// A mirror of the treebanks' repositories [default: FROSTLINE_TREEBANKS, else GitHub]
    #[arg(long, value_name = "URL")]
    pub treebanks: Option<String>,
}

/// A lease in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=LONGEST_LEASE.as_secs_f64()).contains(&seconds) => Ok(seconds),
        _ => Err(format!("expected seconds from 0.1 to {}, as in 120", LONGEST_LEASE.as_secs())),
    }
}

/// A time limit in minutes, as on a command line.
///
/// # Errors
/// If it is no number, or not above 0.
pub fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1e6 => Ok(minutes),
        _ => Err("expected minutes above 0, as in 90 or 0.5".into()),
    }
}

/// The library and device that tensors run on; each but `amx` is a feature of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// burn's CPU backend with fused operations: the fastest on a processor
    #[default]
    Flex,
    /// The same, with bf16 in the matrix unit (AMX) of Intel processors: the fastest in bf16 there, but its results have the
    /// same bits on such processors alone
    Amx,
    /// burn's ndarray backend: slower, a second opinion
    Ndarray,
    /// An NVIDIA GPU
    Cuda,
    /// Any GPU with Vulkan, Metal or DirectX 12; FROSTLINE_DEVICE selects one of several
    Wgpu,
    /// The fastest of these that this build has and that can compute here
    Auto,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flex => "flex",
            Self::Amx => "amx",
            Self::Ndarray => "ndarray",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
            Self::Auto => "auto",
        })
    }
}

/// How the encoder's parameters are initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncoderInit {
    /// From the weights file
    Pretrained,
    /// From the config and the seed alone
    Random,
}

/// One seed or a range of seeds, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// The first seed.
    pub first: u64,
    /// The last seed, included.
    pub last: u64,
}

fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |part: &str| {
        part.trim()
            .parse::<u64>()
            .ok()
            .filter(|seed| *seed <= i64::MAX as u64)
            .ok_or_else(|| format!("`{part}` is not a seed: write `42`, `42,43` or `42-46`"))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    match last.checked_sub(first) {
        None => Err(format!("`{text}` runs backwards: write `{last}-{first}`")),
        Some(1000..) => Err(format!("`{text}` means more than 1000 seeds")),
        Some(_) => Ok(Seeds { first, last }),
    }
}
