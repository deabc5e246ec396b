//! The command-line arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use frostline_args::{FetchArgs, PublishArgs, ReportArgs, SweepArgs, WorkArgs, backends, minutes};
use frostline_sweep::Backend;

use crate::bench::measure::Suite;

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

/// A command with its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: languages x policies x seeds, ending in a report
    Sweep(Box<SweepOptions>),
    /// Run cells of a sweep that was begun, beside other processes that do
    Work(WorkOptions),
    /// Write a sweep's report again from its stored records
    Report(ReportArgs),
    /// Copy a sweep's records for publication, without words, models and paths
    Publish(PublishArgs),
    /// Download treebanks and encoders into the cache
    Fetch(FetchArgs),
    /// Make the embedded demo's datasets, vocabulary and pretrained encoder again
    DemoAssets(DemoAssetsArgs),
    /// Measure frostline and its peers in turns on the same data
    Bench(BenchArgs),
    /// Check a GPU against a processor, and time its steps beside PyTorch's, in a few minutes
    Device(DeviceArgs),
    /// Give damaged and made-up files to every reader of files from elsewhere, with libFuzzer
    Fuzz(FuzzArgs),
    /// Check the project's own rules: dependencies, file lengths, first lines, READMEs, commit subjects
    Tidy,
    /// Write the bill of materials of a build of frostline, as CycloneDX
    Sbom(SbomArgs),
    /// Compare the results of two sweeps bit by bit: whether a change of the code changed any
    Same(SameArgs),
    /// Compute the pages of docs/study again from the records that lie there
    Study(StudyArgs),
    /// Answer mdBook, which calls this for the chapters of docs/ (docs/book.toml)
    #[command(hide = true)]
    BookChapters(BookArgs),
    /// Run all checks that must pass before a change is merged
    Ci(CiArgs),
}

/// `sweep`, with a worker program that is built first.
#[derive(Debug, Args)]
pub(crate) struct SweepOptions {
    #[command(flatten)]
    pub sweep: SweepArgs,
    /// Use this build of frostline instead of building one
    #[arg(long, value_name = "PATH")]
    pub runner: Option<PathBuf>,
}

/// `work`, with a worker program that is built first.
#[derive(Debug, Args)]
pub(crate) struct WorkOptions {
    #[command(flatten)]
    pub work: WorkArgs,
    /// Use this build of frostline instead of building one
    #[arg(long, value_name = "PATH")]
    pub runner: Option<PathBuf>,
}

/// `study`.
#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// Write nothing, and fail if a page differs from what its records say
    #[arg(long)]
    pub check: bool,
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
    #[arg(long, value_parser = backends(), default_value_t = Backend::Flex)]
    pub backend: Backend,
    /// Use this build of frostline instead of building one
    #[arg(long, value_name = "PATH")]
    pub runner: Option<PathBuf>,
}

/// `bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
The sides run in separate processes, in turns, once per round; ratios are computed within a round. \
Without --python only frostline's own figures are measured. The comparisons and their targets are in \
xtask/src/bench/compare.rs; tests/peers/README.md says how to set up the peers.

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
    /// These encoders [default: all-MiniLM-L6-v2 and distilbert-base-multilingual-cased, if
    /// present]; the weights of one without weights are drawn at random on both sides
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub encoder: Vec<String>,
    /// The folder that holds treebanks
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder that holds encoders
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Steps to time in each process; 50 are fair to a peer that groups by length
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Steps before these, which are not timed
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
    #[arg(long, value_parser = backends(), default_value_t = Backend::Flex)]
    pub backend: Backend,
    /// Use this build of frostline instead of building one
    #[arg(long, value_name = "PATH")]
    pub runner: Option<PathBuf>,
    /// Write the results to docs/benchmarks.json and docs/benchmarks.md
    #[arg(long)]
    pub write: bool,
    /// Only render docs/benchmarks.md again from docs/benchmarks.json
    #[arg(long, exclusive = true)]
    pub render: bool,
}

/// `device`.
#[derive(Debug, Args)]
#[command(after_help = "\
In this order: `frostline doctor --conformance`; three cells of the demo on the device and on flex, with the number of tags \
that differ; training steps of 16 and 64 sentences in f32 (without TF32) and bf16 under the policies none, first-4 and \
head-only, in turns with PyTorch on the same GPU, for all-MiniLM-L6-v2 and distilbert-base-multilingual-cased, if present. \
At the limit it ends, and says what did not run.

With --runner nothing is built: this program and that one need no Rust where they run. It is started in a checkout, for \
tests/peers and docs.

Examples:
    cargo xtask device --data TREEBANKS --models ENCODERS --python PEERS/bin/python --write
    ./xtask device --backend cuda --runner ./frostline --data TREEBANKS --models ENCODERS

Exit codes: 0 done, 1 the device computes something else, that was not seen, or a side failed, 2 bad arguments, \
3 environment (device, build).")]
pub(crate) struct DeviceArgs {
    /// The device's backend
    #[arg(long, value_parser = backends(), default_value_t = Backend::Auto)]
    pub backend: Backend,
    /// Use this build of frostline, which has that backend and flex, instead of building one
    #[arg(long, value_name = "FILE")]
    pub runner: Option<PathBuf>,
    /// The Python whose PyTorch is timed on the same device [default: none]
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
    /// The folder that holds treebanks
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder that holds encoders
    #[arg(long, value_name = "DIR")]
    pub models: Option<PathBuf>,
    /// The longest time that all of it takes, without the build
    #[arg(long, value_name = "MINUTES", default_value_t = 10.0, value_parser = minutes)]
    pub limit: f64,
    /// Write the times to docs/benchmarks.json and docs/benchmarks.md
    #[arg(long)]
    pub write: bool,
}

/// `fuzz`.
#[derive(Debug, Args)]
#[command(after_help = "\
Needs a C++ compiler for libFuzzer. New inputs are kept in target/fuzz/corpus, failures in \
target/fuzz/failures; tests/fuzz/README.md describes the targets.

Exit codes: 0 done, 1 an input failed, 2 bad arguments, 3 environment (build).")]
pub(crate) struct FuzzArgs {
    /// Only these targets [default: all]
    #[arg(value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Seconds for each target [default: FROSTLINE_FUZZ_SECONDS, else 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub seconds: Option<u64>,
    /// Targets at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: u32,
    /// Try the same inputs in the same order as every run with this number [default: others each time]
    #[arg(long, value_name = "N")]
    pub seed: Option<u32>,
}

/// `sbom`.
#[derive(Debug, Args)]
pub(crate) struct SbomArgs {
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Features of the build besides the default ones, as in `ndarray`
    #[arg(long, value_name = "FEATURES", value_delimiter = ',')]
    pub features: Vec<String>,
    /// A build without the default features
    #[arg(long)]
    pub no_default_features: bool,
    /// The platform of the build, as in `x86_64-unknown-linux-gnu` [default: this one]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
}

/// `same`.
#[derive(Debug, Args)]
pub(crate) struct SameArgs {
    /// A sweep's folder
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The folder of the same sweep, run with other code
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
}

/// `book-chapters`.
#[derive(Debug, Args)]
pub(crate) struct BookArgs {
    /// `supports RENDERER`; without it a book is read from standard input
    pub question: Vec<String>,
}

/// `ci`.
#[derive(Debug, Args)]
pub(crate) struct CiArgs {
    /// Only these steps
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub only: Vec<String>,
}
