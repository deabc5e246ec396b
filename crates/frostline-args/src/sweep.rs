//! `sweep`: a study and how it runs. Some options are older names of other commands, and are not shown.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::{Action, SlurmRequest, SweepRequest};

use crate::command::SweepCommand;
use crate::shared::{FailureArgs, OutputArgs, SharingArgs};
use crate::slurm::SlurmArgs;
use crate::study::StudyArgs;

/// `sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without options the embedded demo runs: no network, data or weights are needed. The same command \
again runs only the cells that are missing or failed.

Examples:
    frostline sweep --lang en,pcm
    frostline sweep --plan paper --data TREEBANKS --models ENCODERS --verify
    frostline sweep --plan my-plan.toml --seeds 42-46 --policies none,first-4 --out study
    frostline sweep --plan paper --set 'optimizer.lr=[1e-5, 5e-5]' --set data.first=2500
    frostline sweep --plan my-plan.toml --find-lr

`frostline plan` takes the same options and shows what a sweep would run; `frostline status` shows how far it is.

Exit codes: 0 done, 1 some cells failed, 2 bad plan or arguments, 3 environment (data, encoder, \
output folder, device, build), 130 interrupted.")]
pub struct SweepArgs {
    /// The study
    #[command(flatten)]
    study: StudyArgs,
    /// What happens when a cell fails
    #[command(flatten)]
    failures: FailureArgs,
    /// As `frostline plan`
    #[arg(long, hide = true, conflicts_with = "verify")]
    list: bool,
    /// As `frostline plan --calibrate`
    #[arg(long, hide = true, requires = "list")]
    calibrate: bool,
    /// As `frostline status`
    #[arg(long, hide = true, value_name = "DIR", exclusive = true)]
    status: Option<PathBuf>,
    /// Send what an MLflow server did not take while the sweep in a folder ran
    #[arg(long, value_name = "DIR", exclusive = true)]
    send_tracked: Option<PathBuf>,
    /// As `frostline plan --data-report`
    #[arg(long, hide = true, conflicts_with_all = ["list", "verify"])]
    data_report: bool,
    /// Take one step in every cell, to see that it can run, and write no record
    #[arg(long)]
    verify: bool,
    /// As `frostline begin`
    #[arg(long, hide = true, conflicts_with_all = ["list", "data_report", "verify"])]
    begin: bool,
    /// Who runs the cells
    #[command(flatten)]
    cluster: ClusterArgs,
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

impl SweepArgs {
    /// Returns the file that a trace goes to, if one is asked for.
    #[must_use]
    pub fn trace_file(&self) -> Option<&Path> {
        self.trace.as_deref()
    }

    /// Returns what these arguments ask for.
    ///
    /// # Errors
    /// If an option for jobs is given, but cells run on this machine.
    pub fn into_command(self) -> CommandResult<SweepCommand> {
        if let Some(folder) = self.status {
            return Ok(SweepCommand::Status(folder));
        }
        if let Some(folder) = self.send_tracked {
            return Ok(SweepCommand::SendTracked(folder));
        }
        if let Some(folder) = self.cluster.cancel {
            return Ok(SweepCommand::Cancel(folder));
        }
        let action = self.requested_action();
        Ok(SweepCommand::Sweep(Box::new(SweepRequest {
            failures: self.failures.failure_policy(),
            slurm: self.cluster.slurm_request().blame_plan()?,
            lease: self.sharing.lease_duration(),
            output: self.output.output_kind(),
            trace: self.trace,
            ..self.study.into_request(action)
        })))
    }

    /// Returns how far the study is carried out.
    fn requested_action(&self) -> Action {
        match self {
            Self { list: true, calibrate, .. } => Action::List { calibrate: *calibrate },
            Self { data_report: true, .. } => Action::DescribeData,
            Self { verify: true, .. } => Action::Verify,
            Self { begin: true, .. } => Action::Begin,
            _ => Action::Run,
        }
    }
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
    /// As `frostline cancel`
    #[arg(long, hide = true, value_name = "DIR", exclusive = true)]
    cancel: Option<PathBuf>,
    /// The jobs
    #[command(flatten)]
    slurm: SlurmArgs,
}

impl ClusterArgs {
    /// Returns how jobs are submitted, or nothing if cells run on this machine. Options for jobs say where cells should run:
    /// without an executor that submits jobs, they would run here.
    fn slurm_request(self) -> anyhow::Result<Option<SlurmRequest>> {
        let given = [
            (self.dry_run, "--dry-run"),
            (self.detach, "--detach"),
            (self.slurm != SlurmArgs::default(), "an option for SLURM jobs"),
        ];
        match (self.executor, given.into_iter().find(|(is_given, _)| *is_given)) {
            (ExecutorKind::Slurm, _) => {
                let Self { detach, dry_run, slurm, .. } = self;
                Ok(Some(SlurmRequest { options: slurm.into_options(), detach, dry_run }))
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::study::{BeginArgs, PlanArgs};

    #[derive(Parser)]
    enum Line {
        Sweep(Box<SweepArgs>),
        Plan(Box<PlanArgs>),
        Begin(Box<BeginArgs>),
    }

    fn parse_words(words: &str) -> String {
        let all = std::iter::once("frostline").chain(words.split_whitespace());
        let command = match Line::parse_from(all) {
            Line::Sweep(args) => args.into_command().expect("a command"),
            Line::Plan(args) => args.into_command(),
            Line::Begin(args) => args.into_command(),
        };
        format!("{command:?}")
    }

    #[test]
    fn older_options_of_sweep_ask_for_what_the_commands_do() {
        for (old, new) in [
            ("sweep --lang en --seeds 1-3 --list", "plan --lang en --seeds 1-3"),
            ("sweep --list --calibrate --threads 2", "plan --calibrate --threads 2"),
            ("sweep --data-report --data D --find-lr", "plan --data-report --data D --find-lr"),
            ("sweep --begin --lease-s 5 --quiet --out O", "begin --lease-s 5 --quiet --out O"),
        ] {
            assert_eq!(parse_words(old), parse_words(new), "{old}");
        }
        assert_eq!(parse_words("sweep --status D"), r#"Status("D")"#);
        assert_eq!(parse_words("sweep --cancel D"), r#"Cancel("D")"#);
        assert!(parse_words("sweep --verify").contains("action: Verify"));
    }

    #[test]
    fn options_for_jobs_need_an_executor_that_submits_them() {
        let words = ["sweep", "--workers", "4"];
        let Line::Sweep(args) = Line::parse_from(["frostline"].into_iter().chain(words)) else { panic!() };
        let fault = args.into_command().expect_err("nothing submits jobs");
        assert_eq!(fault.code, frostline_sweep::fault::PLAN);
        assert!(fault.error.to_string().contains("without --executor slurm"), "{}", fault.error);
    }
}
