//! The sections of measurements.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Figures that are measured together, and stored and shown as one section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// Time per training step and peak memory, by policy
    Steps,
    /// Time per training step of a GPU, in two precisions and two sizes of a step: a part of `cargo xtask device`
    Device,
    /// Speed of parsing CoNLL-U and of splitting words into subwords
    Reading,
    /// Tagging a test file with a trained model; trains one first, so only on request
    Tagging,
    /// From the start of the command to its first training step; saves a model first if an encoder has no weights, so
    /// only on request
    Starts,
    /// Whole runs with dev scored after each epoch, in time and accuracy
    Runs,
    /// The study's sweeps, cut to half an hour with a peer; only on request
    ShortSweeps,
    /// The study's whole sweeps; hours with a peer, so only on request
    Sweeps,
}

impl Suite {
    /// Whether a measurement is a whole run or sweep, from its plan to its report.
    pub(crate) const fn is_whole(self) -> bool {
        matches!(self, Self::Runs | Self::ShortSweeps | Self::Sweeps)
    }
}
