#![doc = include_str!("../README.md")]
//!
//! # Guarantees
//! No file is opened, no clock read and no random number drawn: the same sweep and records give the same bytes, and
//! the caller writes the files.
//!
//! # How it is made
//! `study` arranges the records. A *topic* computes its numbers once and declares tables, charts and prose about
//! them; `topics` is the list. Renderers turn pages, tables and charts into Markdown, CSV, JSON, SVG and text for a
//! terminal, and know no topic.
#![forbid(unsafe_code)]

mod block_scores;
mod browser;
mod chart;
mod document;
mod expected_loss;
mod facts;
mod fields;
mod growth;
mod keys;
mod merged;
mod number;
mod page;
mod paper;
mod render;
mod report;
mod results;
mod study;
mod summary;
mod table;
mod topic;
mod topics;

pub use crate::block_scores::{aligned, block_score_figure, block_score_table};
pub use crate::expected_loss::{
    ADVISED, CONFIDENCE, ExpectedLoss, LeftOut, LossRecords, PolicyLoss, policy_losses,
};
pub use crate::growth::{Growth, OpenComparison, insert_cells, next_round, split_first_round};
pub use crate::merged::{Merged, MergedPredictions};
pub use crate::render::escape::visible;
pub use crate::report::{Predictions, Report, ReportError, ReportFile};
pub use crate::study::sanity::data_warnings;
pub use crate::topics::data::{LearnedFrom, data_tables};
