//! Arguments that several commands have: output, failures, and how processes share a folder.

use std::time::Duration;

use clap::Args;
use frostline_files::claim::LEASE;
use frostline_sweep::{Failures, OutputKind};

use crate::values::{parse_minutes, parse_seconds};

/// What a command that runs cells says.
#[derive(Clone, Copy, Debug, Args)]
pub struct OutputArgs {
    /// Write one JSON object per event to standard output, and lines for people to standard error
    #[arg(long)]
    json: bool,
    /// Write warnings and errors only
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
}

impl OutputArgs {
    /// Returns what is written to standard output.
    pub(crate) fn output_kind(self) -> OutputKind {
        match (self.json, self.quiet) {
            (true, _) => OutputKind::Json,
            (false, true) => OutputKind::Quiet,
            (false, false) => OutputKind::Text,
        }
    }
}

/// What happens when a cell fails.
#[derive(Debug, Args)]
pub struct FailureArgs {
    /// Start no further cell once one has failed; those that are running end
    #[arg(long, conflicts_with = "keep_going")]
    fail_fast: bool,
    /// Run all other cells where some fail, as without either option
    #[arg(long)]
    keep_going: bool,
    /// Run a cell that failed up to N times more before its error is recorded
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100))]
    retry: u32,
    /// End a cell that takes longer, with that as its error; what it has computed is lost unless the plan's
    /// `checkpoints` keep it [default: no limit]
    #[arg(long, value_name = "MINUTES", value_parser = parse_minutes)]
    cell_minutes: Option<f64>,
}

impl FailureArgs {
    /// Returns what happens when a cell fails.
    pub(crate) fn failure_policy(&self) -> Failures {
        let time_limit = self.cell_minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes));
        Failures { stop: self.fail_fast, retries: self.retry, time_limit }
    }
}

/// How processes share a folder.
#[derive(Debug, Args)]
pub struct SharingArgs {
    /// How long other processes leave this one's cells alone after it was last seen; one that died on the same machine is
    /// noticed at once
    #[arg(long, value_name = "SECONDS", default_value_t = LEASE.as_secs_f64(), value_parser = parse_seconds)]
    lease_s: f64,
}

impl SharingArgs {
    /// Returns the lease as a duration.
    pub(crate) fn lease_duration(&self) -> Duration {
        Duration::from_secs_f64(self.lease_s)
    }
}
