#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[macro_use]
mod say;

mod assistant;
mod backend;
mod claims;
mod crash;
mod data;
mod data_check;
mod ending;
mod executor;
mod facts;
pub mod fault;
mod fetch;
mod folder;
mod forecast;
mod gpu;
mod inputs;
mod interrupts;
mod jobs;
mod list;
mod live;
mod memory;
mod notices;
#[cfg(feature = "fetch")]
mod offline;
mod outcome;
mod packing;
mod place;
mod plans;
mod program;
mod progress;
mod publish;
mod rates;
mod report;
mod request;
mod sample;
#[cfg(test)]
mod scale;
mod sets;
mod slurm;
mod snapshot;
mod status;
mod study;
mod sweep;
pub mod system_memory;
mod timing;
pub mod trace;
mod track;
mod twins;
pub mod units;
mod unsent;
mod work;
mod worker;
mod workers;

pub use frostline_report::visible;

pub use backend::Backend;
pub use data_check::check_data;
pub use ending::{Ending, exit_code};
pub use executor::{Executor, Observer};
pub use fetch::{check_fetch, fetch};
pub use interrupts::leave_to_parent;
pub use jobs::{JobEnd, Jobs, NextJob, Queue};
pub use live::{FIRST_STEPS, LOADING, MOST_POINTS, Progress};
pub use notices::{CellName, Notice};
pub use outcome::Outcome;
pub use place::{Place, shown};
pub use plans::{BUILT_IN, BuiltIn};
pub use program::Program;
pub use publish::publish;
pub use report::{report, report_files};
pub use request::{
    Action, Changes, Failures, FetchRequest, InputFolders, SlurmRequest, SweepRequest, WorkRequest,
};
pub use say::{Output, print, say_line};
pub use slurm::options::SlurmOptions;
pub use slurm::{JobId, Submitted, cancel, submissions};
pub use snapshot::{CellSnapshot, CellState, Counts, Snapshot, Watched};
pub use status::status;
pub use sweep::sweep;
pub use unsent::send_tracked;
pub use work::work;
pub use workers::LocalWorkers;
