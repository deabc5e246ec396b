//! Scores by which policies such as `fisher-3` choose the blocks that learn. Whoever resolves such a policy gives the order of
//! the blocks; this crate computes no score.
//!
//! # To add a score
//!
//! A variant with its name here, a field of `BlockScores` with its line in `of_score` (`crates/frostline-record/src/block_scores.rs`),
//! the code that computes it (`crates/frostline-cell/src/block_scores.rs`), and its meaning in
//! `crates/frostline-report/src/block_scores.rs`.

use serde::{Deserialize, Serialize};

/// A score of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockScore {
    /// Fisher information.
    Fisher,
    /// Relative gradient norm.
    Rgn,
    /// Signal-to-noise ratio of gradients.
    Snr,
    /// Gain of a probe over the layer below.
    Probe,
    /// Change of the parameters in a short run.
    Drift,
    /// None: blocks are drawn by a cell's seed, as a control.
    Random,
}

impl BlockScore {
    /// All scores.
    pub const ALL: [Self; 6] = [Self::Fisher, Self::Rgn, Self::Snr, Self::Probe, Self::Drift, Self::Random];

    /// Returns the name in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fisher => "fisher",
            Self::Rgn => "rgn",
            Self::Snr => "snr",
            Self::Probe => "probe",
            Self::Drift => "drift",
            Self::Random => "random",
        }
    }

    /// Returns the score of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|score| score.name() == name)
    }
}
