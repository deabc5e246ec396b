//! Adaptive freezing: groups freeze from the input up during a run, as their gradients settle.

use serde::{Deserialize, Serialize};

use crate::{Group, ResolvedPolicy};

/// The rule by which a group counts as settled.
///
/// After every window of steps, each group's gradient norms are summed and compared with the window before:
/// |before - now| / before. A group freezes when all groups below it are frozen and its change is among the
/// smallest of the groups still trained.
///
/// # Source
/// Liu, Agarwal and Venkataraman, *AutoFreeze: Automatically Freezing Model Blocks to Accelerate Fine-tuning*,
/// 2021, section 4. The paper sums the gradients and takes the norm of the sum; sums of norms need no second
/// copy of the model's gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SettlingRule {
    /// Steps of a window.
    pub every: u64,
    /// The share of learning groups, in percent, whose change counts as small: 50 is the median.
    pub percentile: f64,
    /// Blocks nearest the head that never freeze.
    pub keep: usize,
}

impl Default for SettlingRule {
    fn default() -> Self {
        Self { every: 50, percentile: 50.0, keep: 1 }
    }
}

/// How far a run has settled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settling {
    /// Sums of gradient norms of the running window, by group from the input up.
    sums: Vec<f64>,
    /// Sums of the previous window.
    before: Vec<f64>,
    /// Steps of the running window.
    steps: u64,
    /// The step, counted from 1, after which each group froze.
    froze: Vec<u64>,
}

impl Settling {
    /// Returns the groups that may freeze, from the input up: the trainable groups of the policy without the
    /// blocks to keep.
    fn freezable_groups(policy: &ResolvedPolicy, rule: &SettlingRule) -> Vec<Group> {
        let mut groups = policy.trainable_groups();
        let blocks = groups.iter().filter(|group| **group != Group::Embeddings).count();
        groups.drain(..rule.keep.min(blocks));
        groups.reverse();
        groups
    }

    /// Returns whether a window ends with the last of so many steps of which no note was taken yet: only then
    /// can something freeze.
    #[must_use]
    pub const fn is_due(&self, steps: u64, rule: &SettlingRule) -> bool {
        self.steps + steps >= rule.every
    }

    /// Takes note of a step's gradient norms; `norm` gives a group's. Returns whether something
    /// freezes now.
    pub fn note(
        &mut self,
        step: u64,
        rule: &SettlingRule,
        policy: &ResolvedPolicy,
        norm: impl Fn(Group) -> f64,
    ) -> bool {
        let groups = Self::freezable_groups(policy, rule);
        self.sums.resize(groups.len(), 0.0);
        for (sum, group) in self.sums.iter_mut().zip(&groups) {
            *sum += norm(*group);
        }
        self.steps += 1;
        if self.steps < rule.every {
            return false;
        }
        self.steps = 0;
        let now = std::mem::replace(&mut self.sums, vec![0.0; groups.len()]);
        let before = std::mem::replace(&mut self.before, now.clone());
        if before.is_empty() {
            return false;
        }
        let first = self.froze.len();
        let change = |group: usize| (before[group] - now[group]).abs() / before[group].max(f64::MIN_POSITIVE);
        let changes: Vec<f64> = (first..groups.len()).map(change).collect();
        let small = nearest_rank_percentile(&changes, rule.percentile);
        let settled = changes.iter().take_while(|change| **change <= small).count();
        self.froze.extend(std::iter::repeat_n(step, settled));
        settled > 0
    }

    /// Returns the policy with all groups frozen so far.
    #[must_use]
    pub fn policy(&self, policy: &ResolvedPolicy, rule: &SettlingRule) -> ResolvedPolicy {
        let count = self.froze.len();
        if count == 0 {
            return policy.clone();
        }
        let groups = Self::freezable_groups(policy, rule);
        policy.freezing_also(
            groups[..count].iter().copied(),
            format!("{policy}, {count} of {} settled", groups.len()),
        )
    }

    /// Returns the frozen groups, from the input up, each with the step after which it froze.
    #[must_use]
    pub fn frozen(&self, policy: &ResolvedPolicy, rule: &SettlingRule) -> Vec<(Group, u64)> {
        Self::freezable_groups(policy, rule).into_iter().zip(self.froze.iter().copied()).collect()
    }
}

/// Returns the percentile of the values by the nearest rank.
fn nearest_rank_percentile(values: &[f64], percent: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    match rank {
        0 => f64::NEG_INFINITY,
        rank => sorted.get(rank - 1).copied().unwrap_or(f64::NEG_INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: SettlingRule = SettlingRule { every: 2, percentile: 50.0, keep: 1 };

    /// Feeds windows in which a group's two norms add up to these numbers, from the input up.
    fn settle_over(windows: &[[f64; 3]]) -> (Settling, ResolvedPolicy) {
        let policy = ResolvedPolicy::parse("none+adaptive", 3).unwrap();
        let mut settling = Settling::default();
        for (number, window) in windows.iter().enumerate() {
            let norm = |group| match group {
                Group::Embeddings => window[0] / 2.0,
                Group::Block(block) => window.get(block + 1).copied().unwrap_or(9.0) / 2.0,
                Group::Final | Group::Head => unreachable!("{group} does not settle by itself"),
            };
            for step in 0..2 {
                assert_eq!(settling.is_due(1, &RULE), step == 1);
                settling.note(2 * number as u64 + step + 1, &RULE, &policy, norm);
            }
        }
        (settling, policy)
    }

    #[test]
    fn groups_freeze_from_the_input_up_as_they_settle() {
        let frozen = |windows: &[[f64; 3]]| {
            let (settling, policy) = settle_over(windows);
            settling.frozen(&policy, &RULE)
        };
        assert_eq!(frozen(&[[1.0, 1.0, 1.0]]), [], "one window decides nothing");
        // Changes of 10, 20 and 50 percent: the median is 20.
        let first = [[1.0, 1.0, 1.0], [1.1, 0.8, 1.5]];
        assert_eq!(frozen(&first), [(Group::Embeddings, 4), (Group::Block(0), 4)]);
        // Groups above a group that does not settle wait.
        assert_eq!(frozen(&[[1.0, 1.0, 1.0], [2.0, 1.1, 1.0]]), []);
        // The last candidate is its own median; block 2 is kept.
        let (settling, policy) = settle_over(&[first[0], first[1], [5.0, 5.0, 5.0]]);
        assert_eq!(settling.frozen(&policy, &RULE).len(), 3);
        let now = settling.policy(&policy, &RULE);
        assert!(now.freezes_group(Group::Block(1)) && !now.freezes_group(Group::Block(2)));
        assert_eq!(now.constant_prefix(), Some(2));
        assert_eq!(now.name(), "none+adaptive, 3 of 3 settled");
    }

    #[test]
    fn what_a_policy_freezes_is_no_candidate() {
        let policy = ResolvedPolicy::parse("first-1+embeddings+adaptive", 3).unwrap();
        assert_eq!(Settling::freezable_groups(&policy, &RULE), [Group::Block(1)]);
        let all = SettlingRule { keep: 9, ..RULE };
        assert_eq!(
            Settling::freezable_groups(&ResolvedPolicy::parse("none", 3).unwrap(), &all),
            [Group::Embeddings]
        );
    }

    #[test]
    fn percentiles_by_nearest_rank() {
        let values = [3.0, 1.0, 2.0];
        assert_eq!(
            [0.0, 1.0, 50.0, 67.0, 100.0].map(|p| nearest_rank_percentile(&values, p)),
            [f64::NEG_INFINITY, 1.0, 2.0, 3.0, 3.0]
        );
    }
}
