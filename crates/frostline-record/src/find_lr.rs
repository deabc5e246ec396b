//! The search for learning rates: its settings in a plan, and its results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::RangeRule;
use crate::{FileName, Policy, Record, Settings};

/// `[search]` of a plan: a short search for learning rates before the cells that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchSettings {
    /// The scope for which a rate is found.
    pub lr: FindLr,
    /// Rates of the first rung, half a decade apart.
    pub rates: usize,
    /// Rates that may be added if the best one has an untried neighbour, as at an end of the first ones.
    pub more: usize,
    /// Rungs: the last one has all sentences of the search, each before it half as many as the next.
    pub rungs: usize,
    /// Number of train sentences of a cell in the last rung; 0 means as many as in the compared cells.
    pub sentences: usize,
    /// The share of the train sentences, at most half as many as `sentences`, that is cut off to score rates on.
    pub cut: f64,
    /// The seed of the search's cells, which must differ from the comparison's seeds.
    pub seed: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self { lr: FindLr::Off, rates: 5, more: 4, rungs: 3, sentences: 1000, cut: 0.2, seed: 9001 }
    }
}

/// The scope for which a learning rate is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindLr {
    /// For nothing: cells have the rates of the plan.
    #[default]
    Off,
    /// For each policy: the rate with the highest mean over the languages.
    Policy,
    /// For each policy in each language.
    Lang,
}

impl SearchSettings {
    /// Returns whether there is a search.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.lr != FindLr::Off
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns each setting with its value, whether it is in range, and the range in words.
    pub(crate) fn range_rules(&self) -> [RangeRule; 6] {
        let Self { rates, more, rungs, sentences, cut, seed, .. } = *self;
        let is_below = |number: u64| i64::try_from(number).is_ok();
        [
            ("search.rates", rates as f64, (2..=15).contains(&rates), "from 2 to 15"),
            ("search.more", more as f64, more <= 15, "from 0 to 15"),
            ("search.rungs", rungs as f64, (1..=8).contains(&rungs), "from 1 to 8"),
            ("search.sentences", sentences as f64, is_below(sentences as u64), "below 2^63"),
            ("search.cut", cut, cut > 0.0 && cut <= 0.9, "in (0, 0.9]"),
            ("search.seed", seed as f64, is_below(seed), "below 2^63"),
        ]
    }
}

/// The rates that a search has tried and chosen; part of `sweep.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateSearch {
    /// Whether the search is still running: the sweep's cells are then the search's, not the compared ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// The seed of its cells.
    pub seed: u64,
    /// One for each policy, and each language and value of a further axis that has its own.
    pub found: Vec<FoundRate>,
}

/// The rate that was chosen for a policy, with all that were tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundRate {
    /// The policy.
    pub policy: Policy,
    /// The languages for which it was chosen; the score is a mean over them.
    pub langs: Vec<FileName>,
    /// Values of the grid's further axes for which it was chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub axes: BTreeMap<String, toml::Value>,
    /// Numbers of trainable and of all parameters, from which the first rates were derived.
    pub parameters: [u64; 2],
    /// The data on which rates were scored.
    pub scored_on: ScoredOn,
    /// Rungs in their order.
    pub rungs: Vec<Rung>,
    /// The chosen rate.
    pub lr: f64,
    /// Set if the rate is the lowest or highest of all tried rates: a better one may lie beyond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<Edge>,
}

/// The data on which rates were scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoredOn {
    /// A piece that was cut off the train sentences.
    Train,
    /// Dev, if there are no train sentences to cut from.
    Dev,
}

/// An end of the tried rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edge {
    /// The lowest rate.
    Lowest,
    /// The highest rate.
    Highest,
}

/// Rates that were tried on as many sentences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// The most train sentences that its cells learned from.
    pub sentences: u64,
    /// The rates that were tried, from the lowest.
    pub trials: Vec<RateTrial>,
}

/// A rate that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateTrial {
    /// The rate.
    pub lr: f64,
    /// The rate's score in [0, 1], as a mean over languages: F1 of entities if the headline has them, else accuracy.
    /// Missing if a loss was not a number.
    pub score: Option<f64>,
    /// The ids of its cells, whose folders are among the others.
    pub cells: Vec<String>,
}

impl FoundRate {
    /// Returns whether the rate belongs to a cell with these settings.
    #[must_use]
    pub fn is_of(&self, settings: &Settings) -> bool {
        settings.policy == self.policy
            && self.langs.contains(&settings.lang)
            && settings.has_values(&self.axes)
    }

    /// Returns the score of the chosen rate in the last rung.
    #[must_use]
    pub fn score(&self) -> Option<f64> {
        let trials = self.rungs.last()?.trials.iter();
        trials.filter(|trial| trial.lr == self.lr).find_map(|trial| trial.score)
    }

    /// Returns the lowest and the highest rate of all rungs.
    #[must_use]
    pub fn tried(&self) -> [f64; 2] {
        let rates = || self.rungs.iter().flat_map(|rung| rung.trials.iter().map(|trial| trial.lr));
        [rates().fold(self.lr, f64::min), rates().fold(self.lr, f64::max)]
    }
}

/// How the error of a cell whose loss became infinite or no number begins.
pub const DIVERGED: &str = "the loss is ";

impl Record {
    /// Returns whether the cell failed because its loss became infinite or no number, as it would again.
    #[must_use]
    pub fn diverged(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.contains(DIVERGED))
    }
}
