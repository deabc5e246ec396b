#![doc = include_str!("../README.md")]
//!
//! # What this crate refuses
//! It opens no file, reads no clock and has no random source of its own: whatever resamples takes
//! a seed.
#![forbid(unsafe_code)]

pub mod baseline;
mod confusion;
pub mod conll18;
mod error;
mod summary;
mod tally;

pub use confusion::{Averages, Confusion, Prf, TagScore};
pub use error::{ScoreError, SentenceFault};
pub use summary::mean_std;
pub use tally::{Prediction, Tally, WordOutcome};
