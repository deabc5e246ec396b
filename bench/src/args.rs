//! The command-line arguments.

use std::path::PathBuf;

use clap::Args;
use frostline_args::{backend_parser, parse_minutes};
use frostline_sweep::Backend;

use crate::suite::Suite;

/// The arguments of `cargo xtask bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
The sides run in separate processes, in turns, once per round; ratios are computed within a round. \
Without --python only frostline's own figures are measured. The comparisons and their targets are in \
bench/src/comparisons.toml; tests/peers/README.md says how to set up the peers.

Most of the time is the peer's: expect minutes per round for `steps`, more for `runs`, and hours for \
`sweeps`.

Exit codes: 0 done, 1 a side failed, 2 bad arguments, 3 environment (data, encoder, Python, build).")]
pub struct BenchArgs {
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
    #[arg(long, value_parser = backend_parser(), default_value_t = Backend::Flex)]
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

/// The arguments of `cargo xtask device`.
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
pub struct DeviceArgs {
    /// The device's backend
    #[arg(long, value_parser = backend_parser(), default_value_t = Backend::Auto)]
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
    #[arg(long, value_name = "MINUTES", default_value_t = 10.0, value_parser = parse_minutes)]
    pub limit: f64,
    /// Write the times to docs/benchmarks.json and docs/benchmarks.md
    #[arg(long)]
    pub write: bool,
}
