//! Options of `sweep` for jobs of SLURM.

use clap::Args;
use frostline_sweep::SlurmOptions;

/// Where the help has these options.
const HEADING: &str =
    "With --executor slurm (defaults: [slurm] in frostline/config.toml of the user's config folder)";

/// Options of jobs. None of them is part of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct SlurmArgs {
    /// Jobs of one array that take cells [default: 4, at most one per cell]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    workers: Option<u32>,
    /// Time limit of a job, as sbatch takes it: 4:00:00, 2-12:00:00, or minutes
    #[arg(long, help_heading = HEADING, value_name = "LIMIT")]
    time: Option<String>,
    /// Partition
    #[arg(long, help_heading = HEADING, value_name = "NAME")]
    partition: Option<String>,
    /// Account that is charged
    #[arg(long, help_heading = HEADING, value_name = "NAME")]
    account: Option<String>,
    /// Quality of service
    #[arg(long, help_heading = HEADING, value_name = "NAME")]
    qos: Option<String>,
    /// Features that nodes must have
    #[arg(long, help_heading = HEADING, value_name = "FEATURES")]
    constraint: Option<String>,
    /// GPUs of a job, as in `1` or `a100:1`
    #[arg(long, help_heading = HEADING, value_name = "GPUS")]
    gpus: Option<String>,
    /// Cores of a job [default: the cluster's]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    cpus: Option<u32>,
    /// Memory of a job, as in `16G`
    #[arg(long, help_heading = HEADING, value_name = "SIZE")]
    mem: Option<String>,
    /// A command that each job runs first, as in `module load cuda`; may be repeated
    #[arg(long, help_heading = HEADING, value_name = "COMMAND")]
    setup: Vec<String>,
    /// A further option of sbatch, as in `--nice=100`; may be repeated. The report's job gets those that say for whom
    /// and how jobs run, and none that asks for nodes or devices
    #[arg(long, help_heading = HEADING, value_name = "OPTION", allow_hyphen_values = true)]
    sbatch: Vec<String>,
    /// An option of sbatch for the report's job alone, as in `--partition=cpu`; may be repeated
    #[arg(long, help_heading = HEADING, value_name = "OPTION", allow_hyphen_values = true)]
    report_sbatch: Vec<String>,
    /// Seconds before the time limit at which a job stores its cells and returns to the queue [default: 120]
    #[arg(long, help_heading = HEADING, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    signal_s: Option<u32>,
    /// How often a job returns to the queue at its time limit while cells are left [default: 3]
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    max_restarts: Option<u32>,
}

impl SlurmArgs {
    /// Returns the options of jobs.
    pub(crate) fn into_options(self) -> SlurmOptions {
        let Self {
            workers,
            time,
            partition,
            account,
            qos,
            constraint,
            gpus,
            cpus,
            mem,
            setup,
            sbatch,
            report_sbatch,
            signal_s,
            max_restarts,
        } = self;
        SlurmOptions {
            workers,
            time,
            partition,
            account,
            qos,
            constraint,
            gpus,
            cpus,
            mem,
            setup,
            sbatch,
            report_sbatch,
            signal_s,
            max_restarts,
        }
    }
}
