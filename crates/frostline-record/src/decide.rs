//! `[decide]` of a plan: a sweep that starts with two seeds of every policy and gives more only to comparisons that its question
//! needs.

use serde::{Deserialize, Serialize};

use crate::cell::Cell;

/// `[decide]` of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DecideSettings {
    /// What the sweep is to answer.
    pub question: DecideQuestion,
    /// For the question `pairs`: two policies each, of which the first is compared with the second.
    pub pairs: Vec<[String; 2]>,
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
    /// Is the first of each of [`DecideSettings::pairs`] better, worse or equivalent?
    Pairs,
}

impl DecideQuestion {
    /// Returns the name in a plan.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Recommendation => "recommendation",
            Self::Verdicts => "verdicts",
            Self::Pairs => "pairs",
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

/// `rounds` of `sweep.json`: the state of a sweep that adds cells until its question is answered. It follows from the records of
/// its cells, so that any process of the sweep can continue it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounds {
    /// The current round, from 1.
    pub round: usize,
    /// Decided comparisons of a policy with `none` or of a pair, each with its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<String>,
    /// Open comparisons. The cells of the current round are for these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// Comparisons that the planned seeds are unlikely to decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<String>,
    /// Comparisons that do not matter for the question any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_needed: Vec<String>,
    /// The policies that answer the question which to take: one for each combination of the further axes that has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommended: Vec<String>,
    /// Whether a policy was found that is not recommended, since something makes its comparisons worthless; the report names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
    /// Ids of cells whose policy lost more than the margin, or is not needed: the steps of these are not timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untimed: Vec<String>,
    /// Cells of the plan's grid that no round has reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<Cell>,
}
