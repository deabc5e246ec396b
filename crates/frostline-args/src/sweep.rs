//! `sweep`: a study, and the options that show or end one.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use frostline_record::{FindLr, Init};
use frostline_sweep::fault::{Blame as _, Result};
use frostline_sweep::{
    Action, Backend, Changes, Ending, InputFolders, Place, Program, SlurmRequest, SweepRequest,
};

use crate::shared::{FailureArgs, OutputArgs, SharingArgs};
use crate::slurm::SlurmArgs;
use crate::values::{Seeds, backends, seeds};

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
    plan: Option<PathBuf>,
    /// Only these treebanks of the plan, as in `en,pcm`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    lang: Vec<String>,
    /// These policies instead of the plan's, as in `none,first-4,head-only`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    policies: Vec<String>,
    /// These seeds instead of the plan's, as in `42,43` or `42-46`
    #[arg(long, value_name = "SEEDS", value_delimiter = ',', value_parser = seeds)]
    seeds: Vec<Seeds>,
    /// This encoder instead of the plan's: a folder under the models folder, or a path
    #[arg(long, value_name = "NAME")]
    encoder: Option<String>,
    /// Read the encoder's weights, or draw them at random from its config
    #[arg(long, value_name = "HOW", value_enum)]
    encoder_init: Option<EncoderInit>,
    /// Change a setting, as in `optimizer.lr=3e-5`, one of a stage, as in `stages.head.train.epochs=1`, or
    /// one of a policy or language, as in `policies.none+lora.optimizer.lr=1e-3`; a list
    /// makes it an axis of the grid
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    set: Vec<String>,
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
    find_lr: Option<FindLrFor>,
    /// The folder or the ZIP archive that holds treebanks
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The folder that holds encoders
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// What the tensors run on
    #[arg(long, value_parser = backends(), default_value_t = Backend::Flex)]
    backend: Backend,
    /// Cells at a time [default: the plan's `jobs`, or as many as are fastest together]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: Option<u32>,
    /// Threads of each worker [default: cores / jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// What happens when a cell fails
    #[command(flatten)]
    failures: FailureArgs,
    /// The sweep's folder [default: sweeps/PLAN-HASH, the same for any of the plan's treebanks,
    /// policies and seeds]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Show the cells, what each is predicted to cost on this machine, and where each input comes from; and run nothing
    #[arg(long, conflicts_with = "verify")]
    list: bool,
    /// With --list: time steps for some seconds where this was not done on this machine before, to predict how long
    /// cells take. The result is kept in the cache
    #[arg(long, requires = "list")]
    calibrate: bool,
    /// Show how the sweep in a folder stands: what is recorded, what failed, and who runs which cell
    #[arg(long, value_name = "DIR", exclusive = true)]
    status: Option<PathBuf>,
    /// Send what an MLflow server did not take while the sweep in a folder ran
    #[arg(long, value_name = "DIR", exclusive = true)]
    send_tracked: Option<PathBuf>,
    /// Show what would be learned from: sizes, tags, unknown words, subwords, sentences that splits
    /// share; and train nothing
    #[arg(long, conflicts_with_all = ["list", "verify"])]
    data_report: bool,
    /// Take one step in every cell, to see that it can run, and write no record
    #[arg(long)]
    verify: bool,
    /// Write the sweep's folder for `frostline work`, and run nothing
    #[arg(long, conflicts_with_all = ["list", "data_report", "verify"])]
    begin: bool,
    /// Who runs the cells
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Compute constant prefixes in every step, whatever the plan says
    #[arg(long)]
    no_prefix_cache: bool,
    /// Do not time the policies' steps in turns after the cells
    #[arg(long)]
    no_timing: bool,
    /// Report cells to these trackers while they train, in place of the plan's: tensorboard, wandb, mlflow (all into the
    /// sweep's folder), mlflow=URL or off [default: the plan's `track`]
    #[arg(long, value_name = "TRACKERS", value_delimiter = ',')]
    track: Vec<String>,
    /// Write what every process did when, down to single steps, as a trace that Perfetto and Chrome show
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How processes share a folder
    #[command(flatten)]
    sharing: SharingArgs,
    /// What is said
    #[command(flatten)]
    output: OutputArgs,
}

/// What the arguments of `sweep` ask for.
#[derive(Debug)]
pub enum SweepCommand {
    /// Run a study, or show what it would be.
    Sweep(Box<SweepRequest>),
    /// Show how far the sweep in a folder is.
    Status(PathBuf),
    /// Send what an MLflow server did not take.
    SendTracked(PathBuf),
    /// End the jobs that were submitted for a folder.
    Cancel(PathBuf),
}

impl SweepCommand {
    /// Carries it out. `program` returns the worker program for a backend; it is not called if no worker is needed.
    ///
    /// # Errors
    /// See the functions of the same names in `frostline_sweep`.
    pub fn run(self, place: &Place, program: impl FnOnce(Backend) -> Result<Program>) -> Result<Ending> {
        match self {
            Self::Sweep(request) => frostline_sweep::sweep(&request, place, || program(request.backend)),
            Self::Status(folder) => frostline_sweep::status(&folder),
            Self::SendTracked(folder) => frostline_sweep::send_tracked(&folder),
            Self::Cancel(folder) => frostline_sweep::cancel(&folder),
        }
    }
}

impl SweepArgs {
    /// Returns the file that a trace goes to, if one is asked for.
    #[must_use]
    pub fn trace(&self) -> Option<&Path> {
        self.trace.as_deref()
    }

    /// Returns what these arguments ask for.
    ///
    /// # Errors
    /// If an option for jobs is given, but cells run on this machine.
    pub fn command(self) -> Result<SweepCommand> {
        if let Some(folder) = self.status {
            return Ok(SweepCommand::Status(folder));
        }
        if let Some(folder) = self.send_tracked {
            return Ok(SweepCommand::SendTracked(folder));
        }
        if let Some(folder) = self.cluster.cancel {
            return Ok(SweepCommand::Cancel(folder));
        }
        let action = self.action();
        Ok(SweepCommand::Sweep(Box::new(SweepRequest {
            action,
            plan: self.plan,
            changes: Changes {
                langs: self.lang,
                policies: self.policies,
                seeds: self.seeds.into_iter().flatten().collect(),
                encoder: self.encoder,
                encoder_init: self.encoder_init.map(Init::from),
                find_lr: self.find_lr.map(FindLr::from),
                assignments: self.set,
                no_prefix_cache: self.no_prefix_cache,
                no_timing: self.no_timing,
                track: self.track,
            },
            inputs: InputFolders { data: self.data, models: self.models },
            out: self.out,
            backend: self.backend,
            jobs: self.jobs,
            threads: self.threads,
            failures: self.failures.failures(),
            slurm: self.cluster.slurm().plan()?,
            lease: self.sharing.lease(),
            output: self.output.output(),
            trace: self.trace,
        })))
    }

    /// Returns how far the study is carried out.
    fn action(&self) -> Action {
        match self {
            Self { list: true, calibrate, .. } => Action::List { calibrate: *calibrate },
            Self { data_report: true, .. } => Action::DescribeData,
            Self { verify: true, .. } => Action::Verify,
            Self { begin: true, .. } => Action::Begin,
            _ => Action::Run,
        }
    }
}

/// For what `--find-lr` finds a learning rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FindLrFor {
    /// Each policy, by its mean over the languages
    Policy,
    /// Each policy in each language
    Lang,
}

/// Who runs the cells.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// What runs the cells
    #[arg(long, value_enum, default_value_t = ExecutorKind::Local, conflicts_with_all = ["begin", "verify"])]
    executor: ExecutorKind,
    /// Submit the jobs and end
    #[arg(long)]
    detach: bool,
    /// Show the jobs that would be submitted, and submit nothing
    #[arg(long)]
    dry_run: bool,
    /// End the jobs that were submitted for a sweep's folder
    #[arg(long, value_name = "DIR", exclusive = true)]
    cancel: Option<PathBuf>,
    /// The jobs
    #[command(flatten)]
    slurm: SlurmArgs,
}

impl From<FindLrFor> for FindLr {
    fn from(what: FindLrFor) -> Self {
        match what {
            FindLrFor::Policy => Self::Policy,
            FindLrFor::Lang => Self::Lang,
        }
    }
}

impl ClusterArgs {
    /// Returns how jobs are submitted, or nothing if cells run on this machine. Options for jobs say where cells should run:
    /// without an executor that submits jobs, they would run here.
    fn slurm(self) -> anyhow::Result<Option<SlurmRequest>> {
        let given = [
            (self.dry_run, "--dry-run"),
            (self.detach, "--detach"),
            (self.slurm != SlurmArgs::default(), "an option for SLURM jobs"),
        ];
        match (self.executor, given.into_iter().find(|(is_given, _)| *is_given)) {
            (ExecutorKind::Slurm, _) => {
                let Self { detach, dry_run, slurm, .. } = self;
                Ok(Some(SlurmRequest { options: slurm.options(), detach, dry_run }))
            }
            (ExecutorKind::Local, None) => Ok(None),
            (ExecutorKind::Local, Some((_, name))) => anyhow::bail!(
                "{name} is given without --executor slurm, so that the cells would run on this machine; add it, or leave that out"
            ),
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

/// How the encoder's parameters are initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EncoderInit {
    /// From the weights file
    Pretrained,
    /// From the config and the seed alone
    Random,
}

impl From<EncoderInit> for Init {
    fn from(how: EncoderInit) -> Self {
        match how {
            EncoderInit::Pretrained => Self::Pretrained,
            EncoderInit::Random => Self::Random,
        }
    }
}
