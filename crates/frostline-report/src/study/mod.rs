//! What a sweep's records hold, arranged for topics: cells, groups of cells that differ only in their seed, and the
//! numbers that several topics need. Nothing here is about how a report looks.

pub(crate) mod advice;
pub(crate) mod baselines;
pub(crate) mod cells;
pub(crate) mod comparison;
pub(crate) mod described;
pub(crate) mod epochs;
pub(crate) mod forecast;
pub(crate) mod groups;
pub(crate) mod hardware;
pub(crate) mod outcomes;
pub(crate) mod pair_verdicts;
pub(crate) mod panels;
pub(crate) mod place;
pub(crate) mod prediction_file;
pub(crate) mod predictions;
pub(crate) mod right;
pub(crate) mod sanity;
pub(crate) mod saved;
pub(crate) mod scores;
mod stage_verdicts;
pub(crate) mod stages;
pub(crate) mod stored;
pub(crate) mod tagged;
pub(crate) mod turns;
pub(crate) mod twins;
pub(crate) mod verdicts;
pub(crate) mod whole;
pub(crate) mod words;

pub(crate) use cells::{BASELINE, CellResult, CellView, Done, SPLITS, distinct};
pub(crate) use groups::{CellGroup, SplitStats};
pub(crate) use panels::{Panel, choose_named, panels, unnamed_note};
pub(crate) use place::Placed;
pub(crate) use stored::StoredPredictions;
pub(crate) use whole::Study;
