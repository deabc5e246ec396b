#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[macro_use]
mod output;

mod advise;
mod assistant;
mod backend;
mod block_orders;
mod block_scores;
mod block_sets;
mod cell_description;
mod claims;
mod crash;
mod data_check;
mod data_report;
mod decision;
mod ending;
mod executor;
pub mod fault;
mod fetch;
mod folder;
mod forecast;
mod gpu;
mod growing;
mod inputs;
mod interrupts;
mod jobs;
#[cfg(test)]
mod large_folders;
mod live;
mod memory;
mod notices;
#[cfg(feature = "fetch")]
mod offline;
mod outcome;
mod packing;
mod place;
mod plan_listing;
mod plans;
mod program;
mod progress;
mod publish;
mod push;
mod rates;
mod report;
mod request;
mod sample_sentence;
mod shell;
mod slurm;
mod snapshot;
mod status;
mod study;
mod sweep;
pub mod system_memory;
mod timing;
pub mod trace;
mod track;
mod twin_cells;
pub mod units;
mod unsent;
mod work;
mod worker;
mod workers;

pub use frostline_assets::ConfigCheck;
pub use frostline_report::{ADVISED, PolicyLoss, visible};

pub use backend::Backend;
pub use data_check::check_data;
pub use decision::Decision;
pub use ending::{Ending, exit_code};
pub use executor::{Executor, Observer};
pub use fetch::{check_fetch, fetch};
pub use interrupts::leave_to_parent;
pub use jobs::{JobEnd, Jobs, NextJob, Queue};
pub use live::{CellProgress, FIRST_STEPS, LOADING, MOST_POINTS};
pub use notices::{CellName, Notice};
pub use outcome::Outcome;
pub use output::{OutputKind, print_output, say_line};
pub use place::{Place, shown_path};
pub use plans::{BUILT_IN, BuiltIn};
pub use program::Program;
pub use publish::publish;
pub use push::{PushRequest, push};
pub use report::{measured_losses, report, report_files};
pub use request::{
    Action, Failures, FetchRequest, InputFolders, SettingChanges, SlurmRequest, SweepRequest, WorkRequest,
};
pub use slurm::options::SlurmOptions;
pub use slurm::{JobId, Submitted, cancel_cluster_jobs, read_submissions};
pub use snapshot::{CellCounts, CellSnapshot, CellState, Snapshot, WatchedSweep};
pub use status::print_status;
pub use sweep::sweep;
pub use unsent::send_tracked;
pub use work::work;
pub use workers::LocalWorkers;
