//! The command line: what can be asked, and nothing about how it is done.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::bench::Suite;

/// Frostline's commands.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "How much of a pretrained encoder must thaw to learn a tagging task",
    max_term_width = 100
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: languages x policies x seeds, ending in a report
    Sweep(SweepArgs),
    /// Write a sweep's report again from what is stored
    Report(ReportArgs),
    /// Download treebanks and encoders into the cache
    Fetch(FetchArgs),
    /// Make the embedded demo's datasets, vocabulary and pretrained encoder again
    DemoAssets(DemoAssetsArgs),
    /// Measure frostline and its peers in turns on the same data
    Bench(BenchArgs),
    /// Check the project's own laws: who uses whom, file lengths, openings, READMEs
    Tidy,
    /// Run everything that must hold before a change lands
    Ci(CiArgs),
}

/// `sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without options the embedded demo runs: no network, data or weights are needed. The same command \
again runs only the cells that are missing or failed.

Exit codes: 0 done, 1 some cells failed, 2 bad plan or arguments, 3 environment (data, encoder, \
output folder, device, build), 130 interrupted.")]
pub(crate) struct SweepArgs {
    /// The plan [default: configs/demo.toml of the workspace]
    #[arg(long, value_name = "PATH")]
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
    /// Change a setting, as in `optimizer.lr=3e-5`; a list makes it an axis of the grid
    #[arg(long = "set", value_name = "SETTING=VALUE")]
    pub set: Vec<String>,
    /// The folder that holds treebanks
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder that holds encoders
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// What the tensors run on
    #[arg(long, value_enum, default_value_t = Backend::Flex)]
    pub backend: Backend,
    /// Cells at a time [default: the plan's `jobs`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,
    /// Threads of each worker [default: cores / jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// The sweep's folder [default: sweeps/PLAN-HASH, the same for any of the plan's treebanks,
    /// policies and seeds]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show the cells and where each input comes from, and run nothing
    #[arg(long, conflicts_with = "verify")]
    pub list: bool,
    /// Show what would be learned from: sizes, tags, unknown words, subwords, sentences that splits
    /// share; and train nothing
    #[arg(long, conflicts_with_all = ["list", "verify"])]
    pub data_report: bool,
    /// Take one step in every cell, to see that it can run, and write no record
    #[arg(long)]
    pub verify: bool,
    /// Compute constant prefixes in every step, whatever the plan says
    #[arg(long)]
    pub no_prefix_cache: bool,
    /// Use this runner instead of building one
    #[arg(long, value_name = "PATH")]
    pub runner: Option<PathBuf>,
}

/// `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The sweep's folder
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// `fetch`.
#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Treebanks such as UD_English-EWT and encoders by hub id [default: all that the plan reads]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The plan whose inputs are fetched [default: configs/paper.toml of the workspace]
    #[arg(long, value_name = "PATH", conflicts_with = "names")]
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
    /// Leave an encoder's weights away
    #[arg(long)]
    pub no_weights: bool,
}

/// `demo-assets`.
#[derive(Debug, Args)]
pub(crate) struct DemoAssetsArgs {
    /// Make the text and the vocabulary only; that takes a second and is the same byte for byte
    #[arg(long)]
    pub text_only: bool,
    /// Sentences of each language to pretrain on
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub sentences: usize,
    /// Passes over them
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub epochs: u32,
    /// Sentences per step
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub batch: u32,
    /// Peak learning rate
    #[arg(long, value_name = "RATE", default_value_t = 1e-3)]
    pub lr: f64,
    /// The folder to write [default: crates/frostline-assets/demo of the workspace]
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
    /// What the tensors run on
    #[arg(long, value_enum, default_value_t = Backend::Flex)]
    pub backend: Backend,
    /// Use this runner instead of building one
    #[arg(long, value_name = "PATH")]
    pub runner: Option<PathBuf>,
}

/// `bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each side runs in a process of its own, in turns, once per round; a ratio is taken within a round. \
Without --python only frostline's own figures are measured. What is compared with what, and the bars, \
stand in xtask/src/bench/compare.rs; tests/peers/README.md says how to set up the peers.

Most of the time is the peer's: expect minutes per round for `steps`, more for `runs`, and hours for \
`sweeps`.

Exit codes: 0 done, 1 a side failed, 2 bad arguments, 3 environment (data, encoder, Python, build).")]
pub(crate) struct BenchArgs {
    /// The Python that runs the peers [default: no peers]
    #[arg(long, value_name = "PY")]
    pub python: Option<PathBuf>,
    /// What to measure [default: steps,reading,runs]
    #[arg(long, value_name = "SUITES", value_delimiter = ',', value_enum)]
    pub only: Vec<Suite>,
    /// Only these policies of the comparisons, as in `none,first-4`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// Only these comparisons of the suites, as in `sweep-f32-study,sweep-bf16-study`
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub comparisons: Vec<String>,
    /// These encoders [default: all-MiniLM-L6-v2 and distilbert-base-multilingual-cased, where
    /// there]; one without weights is drawn at random on both sides
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub encoder: Vec<String>,
    /// The folder that holds treebanks
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder that holds encoders
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// Times that the sides take turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Steps to time in each process; 50 are fair to a peer that groups by length
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Steps before these
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub warmup: u32,
    /// Sentences per step
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// Threads of each side [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Seeds of a sweep that the peer runs; its times count for the others too [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub peer_seeds: Option<u32>,
    /// What our tensors run on
    #[arg(long, value_enum, default_value_t = Backend::Flex)]
    pub backend: Backend,
    /// Use this runner instead of building one
    #[arg(long, value_name = "PATH")]
    pub runner: Option<PathBuf>,
    /// Take the results over into docs/benchmarks.json and docs/benchmarks.md
    #[arg(long)]
    pub write: bool,
    /// Only render docs/benchmarks.md again from docs/benchmarks.json
    #[arg(long, exclusive = true)]
    pub render: bool,
}

/// `ci`.
#[derive(Debug, Args)]
pub(crate) struct CiArgs {
    /// Only these steps
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub only: Vec<String>,
}

/// What the tensors run on; each is a feature of the runner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Backend {
    /// burn's CPU backend with fused operations: the fastest on a processor
    #[default]
    Flex,
    /// burn's ndarray backend: slower, a second opinion
    Ndarray,
    /// An NVIDIA GPU
    Cuda,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flex => "flex",
            Self::Ndarray => "ndarray",
            Self::Cuda => "cuda",
        })
    }
}

/// How the encoder's parameters start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EncoderInit {
    /// From the weights file
    Pretrained,
    /// From the config and the seed alone
    Random,
}

/// One seed or a range of them, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seeds {
    pub first: u64,
    pub last: u64,
}

fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |part: &str| {
        part.trim()
            .parse::<u64>()
            .ok()
            .filter(|seed| *seed <= i64::MAX as u64)
            .ok_or_else(|| format!("`{part}` is no seed: write `42`, `42,43` or `42-46`"))
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
