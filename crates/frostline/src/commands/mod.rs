//! The commands of `frostline`, one file each: arguments, input and output. The computations are in the libraries.
//! This module defines the exit codes.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use frostline_record::Precision;

use frostline_kernels::backend::{self, BackendChoice};
use frostline_model::EncoderConfig;

pub mod align;
pub mod audit;
pub mod bench;
pub mod check;
pub mod completions;
pub mod conllu;
pub mod doctor;
pub mod export;
pub mod logits;
pub mod man;
pub mod params;
pub mod plans;
pub mod pretrain;
pub mod push;
mod readable;
pub mod score;
pub mod tag;
pub mod tagger_server;
pub mod version;
pub mod worker;

/// An error that is caused by the input or the arguments, not by the environment.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Faults were found and have been printed one by one.
    #[error("{0} faults found")]
    Faults(u64),
    /// An input file has invalid contents.
    #[error("{0}")]
    Input(String),
    /// The arguments contradict one another or do not fit the files that they name.
    #[error("{0}")]
    Arguments(String),
}

impl Stop {
    /// The exit code of an error: 1 for faults of the input, 2 for bad arguments, 3 for anything
    /// else.
    #[must_use]
    pub fn exit_code(error: &anyhow::Error) -> u8 {
        match error.chain().find_map(|cause| cause.downcast_ref::<Self>()) {
            Some(Self::Faults(_) | Self::Input(_)) => 1,
            Some(Self::Arguments(_)) => 2,
            None => 3,
        }
    }

    /// Whether the error has been printed already.
    #[must_use]
    pub fn is_silent(error: &anyhow::Error) -> bool {
        matches!(error.downcast_ref(), Some(Self::Faults(_)))
    }
}

/// The precision of linear layers, as an argument.
#[derive(Clone, Copy, ValueEnum)]
enum Compute {
    F32,
    Bf16,
    F16,
    Tf32,
}

impl From<Compute> for Precision {
    fn from(compute: Compute) -> Self {
        match compute {
            Compute::F32 => Self::F32,
            Compute::Bf16 => Self::Bf16,
            Compute::F16 => Self::F16,
            Compute::Tf32 => Self::Tf32,
        }
    }
}

/// Checks an encoder's `config.json` before its weights are downloaded.
///
/// # Errors
/// If this program cannot train the encoder: the nearest supported family, and what differs from it.
pub fn check_config(text: &str) -> std::result::Result<(), String> {
    match EncoderConfig::parse(text, "config.json") {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether an error only means that the reader of the output has closed it, as in `frostline ... | head`.
#[must_use]
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
}

/// A parser of numbers from 1.
fn from_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=u64::from(u32::MAX))
}

/// The largest file that a command reads as a whole.
///
/// # Units
/// Bytes.
const MOST_BYTES: u64 = 4 << 30;

/// Opens a regular file, or standard input for `-`.
///
/// # Errors
/// If it cannot be read, or begins as no text in UTF-8 does: compressed, UTF-16, or with other line ends.
fn open_input(path: &Path) -> Result<Box<dyn BufRead>> {
    let mut input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let file = frostline_files::open(path).map_err(|error| read_error(path, &error.reason))?;
        Box::new(BufReader::with_capacity(1 << 18, file))
    };
    let start = input.fill_buf().map_err(|error| read_error(path, &error))?;
    match frostline_conllu::foreign(start) {
        Some(foreign) => Err(Stop::Input(format!("{}: {foreign}", path.display())).into()),
        None => Ok(input),
    }
}

/// Reads all bytes of a file, or of standard input for `-`.
fn read_input(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MOST_BYTES + 1;
    open_input(path)?.take(most).read_to_end(&mut bytes).map_err(|error| read_error(path, &error))?;
    anyhow::ensure!(
        (bytes.len() as u64) < most,
        "{}: larger than {} GiB; split it",
        path.display(),
        MOST_BYTES >> 30
    );
    Ok(bytes)
}

/// The error for a file that cannot be read.
fn read_error(path: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!("{}: cannot be read: {error}; check the path", path.display())
}

/// The error for standard output that cannot be written.
pub fn write_error(error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context("standard output cannot be written, check where it goes")
}

/// The thread pool for computations. All work runs inside the pool, so that small parallel loops need not be handed
/// over from another thread.
fn thread_pool(threads: Option<usize>) -> Result<rayon::ThreadPool> {
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).stack_size(16 << 20).build()?)
}

/// Returns the requested backend or this build's default. A choice among several is printed with its reason.
fn choose_backend(asked: Option<String>) -> Result<String> {
    let BackendChoice { name, reason } = backend::choose_backend(asked.as_deref())?;
    if let Some(reason) = reason {
        frostline_sweep::note!("backend: {name} ({reason})");
    }
    Ok(name)
}
