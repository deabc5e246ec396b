//! The arguments that say what a study is, and the commands `plan` and `begin`, which run none.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use frostline_record::{DecideQuestion, FindLr, Init};
use frostline_sweep::{ADVISED, Action, Backend, InputFolders, OutputKind, SettingChanges, SweepRequest};

use crate::command::SweepCommand;
use crate::shared::{OutputArgs, SharingArgs};
use crate::values::{Seeds, backend_parser, parse_seeds};

/// A study: its plan, changes to it, its inputs and its folder.
#[derive(Debug, Args)]
pub struct StudyArgs {
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
    #[arg(long, value_name = "SEEDS", value_delimiter = ',', value_parser = parse_seeds)]
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
    /// Stop when it is known which policy is the cheapest that loses at most the margin, or with `=verdicts` whether each is
    /// better, worse or equivalent: start with two seeds, and give more only to comparisons that need them [default: the
    /// plan's `[decide]`]
    #[arg(
        long,
        value_enum,
        value_name = "QUESTION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "recommendation"
    )]
    decide: Option<DecideFor>,
    /// The folder that holds treebanks, or a ZIP archive of them by path or address
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The folder that holds encoders
    #[arg(long, value_name = "DIR")]
    models: Option<PathBuf>,
    /// What the tensors run on [default: flex, or auto in a program that was built for a GPU too]
    #[arg(long, value_parser = backend_parser())]
    backend: Option<Backend>,
    /// Cells at a time [default: the plan's `jobs`, or as many as are fastest together]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: Option<u32>,
    /// Threads of each worker [default: cores / jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// The sweep's folder [default: sweeps/PLAN-HASH, the same for any of the plan's treebanks,
    /// policies and seeds]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
}

/// `plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is trained and nothing is written, except for a calibration in the cache.

Examples:
    frostline plan
    frostline plan --plan paper --data TREEBANKS --models ENCODERS --lang en
    frostline plan --plan my-plan.toml --calibrate
    frostline plan --plan my-plan.toml --data TREEBANKS --data-report

Exit codes: 0 done, 2 bad plan or arguments, 3 environment (data, encoder, device).")]
pub struct PlanArgs {
    /// The study
    #[command(flatten)]
    study: StudyArgs,
    /// Time steps for some seconds if this was not done on this machine before, to predict how long cells take. The result
    /// is kept in the cache
    #[arg(long)]
    calibrate: bool,
    /// Show what would be learned from instead: sizes, tags, unknown words, subwords, sentences that splits share
    #[arg(long, conflicts_with = "calibrate")]
    data_report: bool,
}

/// `advise`.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is trained and nothing is written, except for a calibration of this machine in the cache. Losses are predicted from Frostline's \
own records of other treebanks; docs/guide.md says how good they are.

Examples:
    frostline advise --data TREEBANKS --models ENCODERS --encoder DIR --lang en
    frostline advise --plan my-plan.toml --margin 1
    frostline advise --plan my-plan.toml --json

Exit codes: 0 done, 2 bad plan or arguments, 3 environment (data, encoder, device).")]
pub struct AdviseArgs {
    /// The study
    #[command(flatten)]
    study: StudyArgs,
    /// What may be lost, in points of accuracy [default: the plan's, 0.5]
    #[arg(long, value_name = "POINTS")]
    margin: Option<f64>,
    /// Write JSON to standard output, and lines for people to standard error
    #[arg(long)]
    json: bool,
}

/// `score-blocks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Nothing is trained but a short run for the last score. With --out, block_scores.json and block_scores.svg are written there.

Examples:
    frostline score-blocks --lang en
    frostline score-blocks --plan paper --data TREEBANKS --models ENCODERS --lang en,pcm --out scores
    frostline score-blocks --plan my-plan.toml --encoder DIR --sentences 512 --json

Exit codes: 0 done, 2 bad plan or arguments, 3 environment (data, encoder, output folder, device).")]
pub struct ScoreBlocksArgs {
    /// The study
    #[command(flatten)]
    study: StudyArgs,
    /// Train sentences whose gradients are computed, at most; probes take three times as many
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    sentences: u32,
    /// Write JSON to standard output, and lines for people to standard error
    #[arg(long)]
    json: bool,
}

/// `begin`.
#[derive(Debug, Args)]
#[command(after_help = "\
Any number of `frostline work` then run the cells, on this machine or on others that see the folder.

Examples:
    frostline begin --plan demo --out study
    frostline work study                     # in any number of terminals, jobs or machines

Exit codes: 0 done, 2 bad plan or arguments, 3 environment (data, encoder, output folder, device).")]
pub struct BeginArgs {
    /// The study
    #[command(flatten)]
    study: StudyArgs,
    /// How processes share a folder
    #[command(flatten)]
    sharing: SharingArgs,
    /// What is written to standard output
    #[command(flatten)]
    output: OutputArgs,
}

impl StudyArgs {
    /// Returns the request to carry the study out so far.
    pub(crate) fn into_request(self, action: Action) -> SweepRequest {
        SweepRequest {
            action,
            plan: self.plan,
            changes: SettingChanges {
                langs: self.lang,
                policies: self.policies,
                seeds: self.seeds.into_iter().flatten().collect(),
                encoder: self.encoder,
                encoder_init: self.encoder_init.map(Init::from),
                find_lr: self.find_lr.map(FindLr::from),
                decide: self.decide.map(DecideQuestion::from),
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
            ..SweepRequest::default()
        }
    }
}

impl PlanArgs {
    /// Returns what these arguments ask for.
    #[must_use]
    pub fn into_command(self) -> SweepCommand {
        let action = match self.data_report {
            true => Action::DescribeData,
            false => Action::List { calibrate: self.calibrate },
        };
        SweepCommand::Sweep(Box::new(self.study.into_request(action)))
    }
}

impl AdviseArgs {
    /// Returns what these arguments ask for.
    #[must_use]
    pub fn into_command(self) -> SweepCommand {
        let output = if self.json { OutputKind::Json } else { OutputKind::Text };
        let mut request = SweepRequest { output, ..self.study.into_request(Action::Advise) };
        let changes = &mut request.changes;
        if changes.policies.is_empty() {
            changes.policies = ADVISED.map(String::from).to_vec();
        }
        if !changes.policies.iter().any(|policy| policy == "none") {
            changes.policies.insert(0, "none".into());
        }
        changes.assignments.extend(self.margin.map(|margin| format!("verdict.margin={margin}")));
        SweepCommand::Sweep(Box::new(request))
    }
}

impl ScoreBlocksArgs {
    /// Returns what these arguments ask for.
    #[must_use]
    pub fn into_command(self) -> SweepCommand {
        let action = Action::ScoreBlocks { sentences: self.sentences as usize };
        let output = if self.json { OutputKind::Json } else { OutputKind::Text };
        SweepCommand::Sweep(Box::new(SweepRequest { output, ..self.study.into_request(action) }))
    }
}

impl BeginArgs {
    /// Returns what these arguments ask for.
    #[must_use]
    pub fn into_command(self) -> SweepCommand {
        SweepCommand::Sweep(Box::new(SweepRequest {
            lease: self.sharing.lease_duration(),
            output: self.output.output_kind(),
            ..self.study.into_request(Action::Begin)
        }))
    }
}

/// What `--decide` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecideFor {
    /// Which policy is the cheapest that loses at most the margin
    Recommendation,
    /// Whether each policy is better, worse or equivalent
    Verdicts,
    /// The same of the first policy of each pair that `decide.pairs` names
    Pairs,
}

impl From<DecideFor> for DecideQuestion {
    fn from(what: DecideFor) -> Self {
        match what {
            DecideFor::Recommendation => Self::Recommendation,
            DecideFor::Verdicts => Self::Verdicts,
            DecideFor::Pairs => Self::Pairs,
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

impl From<FindLrFor> for FindLr {
    fn from(what: FindLrFor) -> Self {
        match what {
            FindLrFor::Policy => Self::Policy,
            FindLrFor::Lang => Self::Lang,
        }
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

impl From<EncoderInit> for Init {
    fn from(how: EncoderInit) -> Self {
        match how {
            EncoderInit::Pretrained => Self::Pretrained,
            EncoderInit::Random => Self::Random,
        }
    }
}
