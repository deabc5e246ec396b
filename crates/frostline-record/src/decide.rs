//! `[decide]` of a plan: a sweep that starts with two seeds of every policy and gives more only to comparisons that its question
//! needs.

use serde::{Deserialize, Serialize};

/// `[decide]` of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecideSettings {
    /// What the sweep is to answer.
    pub question: DecideQuestion,
    /// The most cells that it runs; 0 means no limit but the grid.
    pub cells: usize,
    /// The most hours of all cells together, one after the other; 0 means no limit. The cells of the first two seeds are run in any
    /// case.
    pub hours: f64,
}

/// What a sweep is to answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecideQuestion {
    /// Nothing: it runs its whole grid.
    #[default]
    Off,
    /// Which policy is the cheapest that loses at most the margin in every language?
    Recommendation,
    /// Is each policy better, worse or equivalent, in each language?
    Verdicts,
}

impl DecideQuestion {
    /// Returns the name in a plan.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Recommendation => "recommendation",
            Self::Verdicts => "verdicts",
        }
    }
}

impl DecideSettings {
    /// Returns whether the sweep grows until it has answered a question.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.question != DecideQuestion::Off
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Seeds with which every policy starts.
pub const FIRST_SEEDS: usize = 2;
