#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod baseline;
mod cell;
mod claim;
mod event;
mod facts;
mod folder;
mod light;
mod plan;
mod record;
mod reference;
mod saved;
mod settings;
mod stage;
mod task;

pub use baseline::{Baseline, BaselineFit, MOST_FREQUENT, PROBE};
pub use cell::{Cell, Input, Inputs, sha256};
pub use claim::{Claim, ClaimTest, Compared, Converged, Drift, End, Measure, MoreOf, Needs};
pub use event::{Event, Job, Loaded, PrefixEvent, PrefixPlace, Sample, StepEvent};
pub use facts::{CellFacts, Forms, Spelled, SplitFacts, TaskFacts};
pub use folder::{FolderError, Sweep, read_record, write_atomically};
pub use light::{AdapterSettings, AdaptiveSettings, LoraSettings};
pub use plan::{Checkpoints, Plan, PlanError, PrefixCache};
pub use record::{
    AccountRow, Accounts, Change, Cost, Entities, EpochRow, EpochTiming, FreezeCheck, LossPoint, MadeBy,
    NATIVE_BF16, Outcome, PrefixState, PrefixUse, Record, Score, Settled, StageOutcome, StoredFile,
    TaskOutcome, Timing,
};
pub use reference::{
    CompareWith, Counted, PublishedRun, REFERENCE_SCHEMA, Reference, ReferenceData, ReferenceError, Unlisted,
};
pub use saved::{MODEL_SCHEMA, SavedModel};
pub use settings::{
    DataSettings, DropoutSettings, EncoderSettings, EvalSettings, Init, OptimizerKind, OptimizerSettings,
    Precision, SaveSettings, ScheduleKind, ScheduleSettings, Select, SelectBy, Settings, Switch,
    TrainSettings, UnfreezeSettings, UnfreezeUnit,
};
pub use stage::Stage;
pub use task::{HeadKind, Mixing, TaskSettings, Unit};

/// The version of every type here that is written to disk.
pub const SCHEMA: u32 = 4;
