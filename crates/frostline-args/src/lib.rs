#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod command;
mod fetch;
mod folders;
mod shared;
mod slurm;
mod study;
mod sweep;
mod values;
mod work;

pub use command::SweepCommand;
pub use fetch::FetchArgs;
pub use folders::{CancelArgs, PublishArgs, ReportArgs, StatusArgs};
pub use shared::{FailureArgs, OutputArgs, SharingArgs};
pub use slurm::SlurmArgs;
pub use study::{
    AdviseArgs, BeginArgs, DecideFor, EncoderInit, FindLrFor, PlanArgs, ScoreBlocksArgs, StudyArgs,
};
pub use sweep::{ClusterArgs, ExecutorKind, SweepArgs};
pub use values::{backend_parser, parse_minutes};
pub use work::WorkArgs;
