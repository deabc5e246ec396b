//! The command-line arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use frostline_args::{FetchArgs, PublishArgs, ReportArgs, SweepArgs, WorkArgs};
use frostline_bench::{BenchArgs, DeviceArgs};

use crate::dist::part::Part;

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
    pub command: XtaskCommand,
}

/// A command with its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum XtaskCommand {
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
    /// Make a release: archives and wheels for systems without Rust, with checksums and bills of materials
    Dist(DistArgs),
    /// Compare the results of two sweeps bit by bit: whether a change of the code changed any
    Same(SameArgs),
    /// Compute the pages of docs/study again from the records that lie there
    Study(StudyPagesArgs),
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
pub(crate) struct StudyPagesArgs {
    /// Write nothing, and fail if a page differs from what its records say
    #[arg(long)]
    pub check: bool,
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

/// `dist`.
#[derive(Debug, Args)]
pub(crate) struct DistArgs {
    /// The folder to write
    #[arg(long, value_name = "DIR", default_value = "dist")]
    pub out: PathBuf,
    /// Only these parts [default: all that can be built here]
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_enum)]
    pub only: Vec<Part>,
    /// Optimise only the arithmetic: programs that are soon built, to be tested and not released
    #[arg(long)]
    pub quick: bool,
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
    /// Skip a step after the tests if it would not end within so many minutes from now, and list it; end one that does not end within
    /// five more
    #[arg(long, value_name = "N")]
    pub minutes: Option<u32>,
}
