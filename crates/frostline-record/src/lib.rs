#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cell;
mod event;
mod folder;
mod plan;
mod record;
mod settings;

pub use cell::{Cell, Input, Inputs, sha256};
pub use event::{Event, Job, Loaded, PrefixEvent, PrefixPlace, Sample, StepEvent};
pub use folder::{FolderError, Sweep, read_record, write_atomically};
pub use plan::{Plan, PlanError, PrefixCache};
pub use record::{
    AccountRow, Accounts, Cost, EpochRow, EpochTiming, FreezeCheck, LossPoint, MadeBy, NATIVE_BF16, Outcome,
    PrefixState, PrefixUse, Record, Score, StoredFile, Timing, TrainFacts,
};
pub use settings::{
    DataSettings, DropoutSettings, EncoderSettings, EvalSettings, Init, OptimizerSettings, Precision,
    SaveSettings, ScheduleKind, ScheduleSettings, Select, SelectBy, Settings, Switch, TrainSettings,
};

/// The version of every type here that is written to disk.
pub const SCHEMA: u32 = 2;
