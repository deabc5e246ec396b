//! Claims: sentences that a plan's cells can support or contradict, with the tests that decide.
//!
//! A claim changes no cell. A report judges it, given the records.
//!
//! # To add a test of claims
//!
//! A variant of `ClaimTest` in `crates/frostline-record/src/claim.rs`, its checks in `claim_check.rs`, its verdict
//! in `crates/frostline-report/src/topics/claims/` (called from `judge.rs`), and its description in
//! `docs/claims.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A sentence and the tests by which cells decide it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence, as a report prints it.
    pub says: String,
    /// Only cells with these settings count: dotted paths, each with the value or a list of values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, toml::Value>,
    /// How many of the tests must hold.
    #[serde(default)]
    pub needs: Needs,
    /// How many comparisons of a test must hold.
    #[serde(default)]
    pub comparisons: Comparisons,
    /// The tests that decide; at least one, unless the claim is untestable.
    #[serde(default)]
    pub tests: Vec<ClaimTest>,
    /// Why nothing here can decide; such a claim has no test.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub untestable: String,
}

/// How many tests of a claim must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// All of them.
    #[default]
    All,
    /// One is enough.
    Any,
}

/// How many comparisons of a test must hold, if it makes several: of policies, languages or values of further axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comparisons {
    /// Each of them.
    #[default]
    Each,
    /// The mean of all comparisons decides.
    Mean,
}

/// Something that differences between cells decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimTest {
    /// The policies A give less than the policies B, by more than the margin.
    Less(Compared),
    /// The policies A and B differ by at most the margin.
    EqualWithin(Compared),
    /// The policies A give at most the margin less than the policies B, or more.
    LosesAtMost(Compared),
    /// Most cells are near their end by some epoch.
    Converged(Converged),
    /// More of a setting gives more.
    MoreOf(MoreOf),
    /// A task loses less under the policies A than under B while a stage trains other tasks.
    Drift(Drift),
}

/// Policies A against policies B: the first with the first and so on; one alone is held against all
/// of the other side. Cells are paired by seed and by all else but their policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The policies A.
    pub a: Vec<String>,
    /// The policies B.
    pub b: Vec<String>,
    /// What is compared.
    #[serde(default)]
    pub measure: Measure,
    /// Whose score; empty means the headline's.
    #[serde(default)]
    pub task: String,
    /// Points of a score; percent of B for a time or memory.
    #[serde(default)]
    pub margin: f64,
}

/// The quantity by which two cells are compared. A task's score is its accuracy, or the F1 of its entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The score on dev, at the cell's end.
    #[default]
    Dev,
    /// The score on test, at the cell's end.
    Test,
    /// The measured time of all training steps.
    TrainTime,
    /// The peak memory of training steps on the device that computes them: of the GPU, or of the process.
    Memory,
}

impl Measure {
    /// Returns whether it is a score of a task.
    #[must_use]
    pub const fn is_score(self) -> bool {
        matches!(self, Self::Dev | Self::Test)
    }
}

/// Cells whose headline accuracy on dev after an epoch is near their final accuracy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Converged {
    /// Only cells with these policies; empty means all.
    #[serde(default)]
    pub policies: Vec<String>,
    /// The epoch, counted from 1 over all stages.
    pub epoch: u32,
    /// How near, in points.
    pub within: f64,
    /// What a cell's end is.
    #[serde(default)]
    pub of: End,
    /// The share of cells that must be near, in (0, 1).
    #[serde(default = "default_share")]
    pub share: f64,
}

/// What a cell's end is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The last epoch.
    #[default]
    Last,
    /// The best epoch on dev.
    Best,
}

/// Cells that differ in their language, or in one further axis of the grid; or a cell after one of its stages and after
/// another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoreOf {
    /// The dotted path of the axis, `lang`, or [`MoreOf::STAGE`].
    pub axis: String,
    /// The value in the cells with the lower expected result, or the name of a stage.
    pub from: toml::Value,
    /// The value in the cells with the higher expected result, or the name of a stage.
    pub to: toml::Value,
    /// Only cells with these policies; empty means all.
    #[serde(default)]
    pub policies: Vec<String>,
    /// What is compared.
    #[serde(default)]
    pub measure: Measure,
    /// Whose score; empty means the headline's.
    #[serde(default)]
    pub task: String,
    /// The gain that is claimed: points of a score, percent for a time. Without it, any gain above the margin will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// The gain that must be exceeded, or the maximum distance from the claimed gain.
    #[serde(default)]
    pub margin: f64,
}

impl MoreOf {
    /// The axis whose values are the names of stages.
    pub const STAGE: &str = "stage";

    /// Returns whether it compares stages of the same cell.
    #[must_use]
    pub fn is_of_stages(&self) -> bool {
        self.axis == Self::STAGE
    }
}

/// The effect of a stage on a task: its score after the stage minus its score before, in the same cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// The task.
    pub task: String,
    /// The stage's name, held against the stage before it; empty means the last.
    #[serde(default)]
    pub stage: String,
    /// The policies under which the task should lose less, or gain more; empty if values of an axis are
    /// compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub a: Vec<String>,
    /// The policies that they are held against, in the manner of [`Compared`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub b: Vec<String>,
    /// The two values of an axis that are compared in the place of policies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub along: Option<Along>,
    /// On which split.
    #[serde(default)]
    pub measure: Measure,
    /// By how many points A must be ahead.
    #[serde(default)]
    pub margin: f64,
}

/// Two values of a further axis, such as gradual unfreezing and none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// The dotted path of the axis.
    pub axis: String,
    /// The axis's value in the cells B.
    pub from: toml::Value,
    /// The axis's value in the cells A.
    pub to: toml::Value,
    /// Only cells with these policies; empty means all.
    #[serde(default)]
    pub policies: Vec<String>,
}

const fn default_share() -> f64 {
    0.5
}

impl ClaimTest {
    /// Returns the names of policies in it.
    #[must_use]
    pub fn policies(&self) -> Vec<&str> {
        let lists: Vec<&[String]> = match self {
            Self::Less(test) | Self::EqualWithin(test) | Self::LosesAtMost(test) => vec![&test.a, &test.b],
            Self::Converged(test) => vec![&test.policies],
            Self::MoreOf(test) => vec![&test.policies],
            Self::Drift(test) => {
                let along = test.along.as_ref().map_or(&[][..], |along| &along.policies);
                vec![&test.a, &test.b, along]
            }
        };
        lists.into_iter().flatten().map(String::as_str).collect()
    }

    /// Returns the test with other names of policies. Duplicates in a list, or duplicate pairs, are then
    /// removed.
    #[must_use]
    pub fn renamed(mut self, name: impl Fn(&str) -> String) -> Self {
        if self.policies().iter().all(|old| name(old) == **old) {
            return self;
        }
        let one_by_one = |list: &mut Vec<String>| {
            let mut names: Vec<String> = Vec::new();
            for old in list.iter() {
                let new = name(old);
                if !names.contains(&new) {
                    names.push(new);
                }
            }
            *list = names;
        };
        let in_pairs = |a: &mut Vec<String>, b: &mut Vec<String>| {
            let mut all: Vec<(String, String)> = Vec::new();
            for (old_a, old_b) in pair_policies(a, b).unwrap_or_default() {
                let pair = (name(old_a), name(old_b));
                if !all.contains(&pair) {
                    all.push(pair);
                }
            }
            (*a, *b) = all.into_iter().unzip();
        };
        match &mut self {
            Self::Less(test) | Self::EqualWithin(test) | Self::LosesAtMost(test) => {
                in_pairs(&mut test.a, &mut test.b);
            }
            Self::Converged(test) => one_by_one(&mut test.policies),
            Self::MoreOf(test) => one_by_one(&mut test.policies),
            Self::Drift(test) => {
                in_pairs(&mut test.a, &mut test.b);
                if let Some(along) = &mut test.along {
                    one_by_one(&mut along.policies);
                }
            }
        }
        self
    }
}

impl Compared {
    /// Returns the policies as they are held against each other, A first; none if they do not pair.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        pair_policies(&self.a, &self.b).unwrap_or_default()
    }
}

impl Drift {
    /// Returns the policies as they are held against each other, A first; none if they do not pair.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&str, &str)> {
        pair_policies(&self.a, &self.b).unwrap_or_default()
    }
}

/// Returns pairs of A with B, one by one; `None` if they do not pair.
pub(crate) fn pair_policies<'a>(a: &'a [String], b: &'a [String]) -> Option<Vec<(&'a str, &'a str)>> {
    let at = |side: &'a [String], i: usize| side[if side.len() == 1 { 0 } else { i }].as_str();
    let count = a.len().max(b.len());
    let fits = |side: &[String]| side.len() == count || side.len() == 1;
    (count > 0 && fits(a) && fits(b)).then(|| (0..count).map(|i| (at(a, i), at(b, i))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_policy_is_held_against_all_of_the_other_side() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (one, two) = (names(&["x"]), names(&["y", "z"]));
        assert_eq!(pair_policies(&two, &one), Some(vec![("y", "x"), ("z", "x")]));
        assert_eq!(pair_policies(&two, &names(&["a", "b", "c"])), None);
        assert_eq!(pair_policies(&[], &one), None);
    }
}
