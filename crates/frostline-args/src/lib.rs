#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod fetch;
mod folders;
mod shared;
mod slurm;
mod sweep;
mod values;
mod work;

pub use fetch::FetchArgs;
pub use folders::{PublishArgs, ReportArgs};
pub use shared::{FailureArgs, OutputArgs, SharingArgs};
pub use slurm::SlurmArgs;
pub use sweep::{ClusterArgs, EncoderInit, ExecutorKind, FindLrFor, SweepArgs, SweepCommand};
pub use values::{backends, minutes};
pub use work::WorkArgs;
