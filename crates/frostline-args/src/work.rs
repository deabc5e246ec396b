//! `work`.

use std::path::{Path, PathBuf};

use clap::Args;
use frostline_sweep::WorkRequest;

use crate::shared::{FailureArgs, OutputArgs, SharingArgs};

/// `work`.
#[derive(Debug, Args)]
#[command(after_help = "\
Any number of these run at once, on this machine or on others that see the same folder, alongside the sweep or after \
it. Each takes one cell at a time, and none that another one runs or has recorded. A cell whose worker died is taken \
over from its last checkpoint, on any processor (with another backend than flex, only on one of the same kind). INT, TERM, \
HUP, USR1 and USR2 make it save a checkpoint of each running cell and end.

Examples:
    frostline begin --plan demo --out study    # or `sweep`, to run cells here too
    frostline work study                       # in any number of terminals, jobs or machines
    frostline status study
    frostline report study

Only a sweep makes further rounds of a greedy search, and times the policies' steps in turns: run the same \
`frostline sweep` once more at the end for these.

Exit codes: 0 all cells are recorded, 1 some cells failed, 2 bad arguments, 3 environment (no sweep, another program \
than the sweep's, data, device), 130 stopped before the end.")]
pub struct WorkArgs {
    /// The folder of a sweep
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Cells at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// Threads of each cell [default: cores / jobs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Also run the cells again that had failed before this command
    #[arg(long)]
    failed: bool,
    /// End, as if all cells were recorded, when those that are left are run by other processes
    #[arg(long)]
    no_wait: bool,
    /// In a job of SLURM that its time limit or preemption ends: how often the job returns to the queue while cells are
    /// left
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_restarts: u32,
    /// Write what this process and its workers did when, as `frostline sweep --trace` does
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// What happens when a cell fails
    #[command(flatten)]
    failures: FailureArgs,
    /// How processes share a folder
    #[command(flatten)]
    sharing: SharingArgs,
    /// What is said
    #[command(flatten)]
    output: OutputArgs,
}

impl WorkArgs {
    /// Returns the file that a trace goes to, if one is asked for.
    #[must_use]
    pub fn trace_file(&self) -> Option<&Path> {
        self.trace.as_deref()
    }

    /// Returns the request that these arguments stand for.
    #[must_use]
    pub fn into_request(self) -> WorkRequest {
        WorkRequest {
            folder: self.folder,
            jobs: self.jobs,
            threads: self.threads,
            failed: self.failed,
            waits: !self.no_wait,
            max_restarts: self.max_restarts,
            failures: self.failures.failure_policy(),
            lease: self.sharing.lease_duration(),
            output: self.output.output_kind(),
            trace: self.trace,
        }
    }
}
