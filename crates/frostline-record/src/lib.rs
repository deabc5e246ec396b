#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod baseline;
mod block_scores;
mod cell;
mod cell_files;
mod check;
mod claim;
mod claim_check;
mod decide;
mod decide_check;
mod error;
mod event;
mod facts;
mod find_lr;
mod folder;
mod grid;
mod machine_load;
mod name;
mod own_settings;
mod paths;
mod plan;
mod plan_limits;
mod published;
mod record;
mod record_check;
mod reference;
mod request;
mod saved;
mod saved_files;
mod schema;
mod score;
mod search;
mod search_check;
mod settings;
mod stage;
mod suggest;
mod task;
mod times;
mod toml_errors;
mod track;
mod tuning;
mod twin_cells;
mod unread_settings;
mod weights;

pub use baseline::{Baseline, BaselineFit, MOST_FREQUENT, PROBE};
pub use block_scores::{BlockScores, CellScores, ScoreJob, rank_blocks};
pub use cell::{Cell, Input, Inputs, sha256};
pub use cell_files::prediction_file;
pub use claim::{
    Along, Claim, ClaimTest, Compared, Comparisons, Converged, Drift, End, Measure, MoreOf, Needs,
};
pub use decide::{DecideQuestion, DecideSettings, FIRST_SEEDS, Rounds};
pub use error::PlanError;
pub use event::{Event, Loaded, PrefixEvent, Sample, StageParameters, StepEvent};
pub use facts::{CellFacts, EncoderFacts, Forecast, Forms, InParts, Overlap, Spelled, SplitFacts, TaskFacts};
pub use find_lr::{DIVERGED, Edge, FindLr, FoundRate, RateSearch, RateTrial, Rung, ScoredOn, SearchSettings};
pub use folder::{CHECKPOINTS, FolderError, Sweep, read_record, remove_checkpoints};
pub use grid::Grid;
pub use machine_load::Load;
pub use name::{FileName, NameError};
pub use plan::{Checkpoints, Margin, Plan, PrefixCache, VerdictRule};
pub use plan_limits::{MOST_CELLS, MOST_JOBS};
pub use published::{Places, shortened};
pub use record::{
    AccountRow, Accounts, Bits, Change, Cost, DevPoint, EpochRow, EpochTiming, FreezeCheck, LossPoint,
    MadeBy, Outcome, PredictedMemory, PrefixState, PrefixUse, Record, Settled, StageOutcome, StoredFile,
    TaskOutcome, Timing,
};
pub use reference::{
    CompareWith, Counted, PublishedRun, REFERENCE_SCHEMA, Reference, ReferenceData, ReferenceError, Unlisted,
};
pub use request::{About, Answer, ForecastJob, Job, JobClaim, PrefixPlace, Request};
pub use saved::{MODEL_SCHEMA, SavedModel};
pub use saved_files::{SavedFiles, SavedFilesError};
pub use schema::SCHEMA;
pub use score::{Entities, Score};
pub use settings::{
    DataSettings, DropoutSettings, EncoderSettings, EvalSettings, Init, OptimizerKind, OptimizerSettings,
    Precision, SaveSettings, ScheduleKind, ScheduleSettings, Select, SelectBy, Settings, Stage, Switch,
    TrainSettings, UnfreezeSettings, UnfreezeUnit,
};
pub use task::{HeadKind, Mixing, TaskSettings, Unit};
pub use times::{Measurement, PairedTimes, TimedPolicy, TimingJob, TimingSettings};
pub use track::{Mlflow, TrackSettings};
pub use tuning::{AdapterSettings, LoraSettings};
pub use twin_cells::{GridPlace, Reading, Twin, find_twins};

/// Types of `frostline-freeze` that settings are made of.
pub use frostline_freeze::{BlockOrders, BlockScore, PeftMethod, Policy, SettlingRule};
