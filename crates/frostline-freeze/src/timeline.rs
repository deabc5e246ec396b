//! Timelines: the policy of every step, decided before the first step.

use crate::ResolvedPolicy;

/// A policy that unfreezes groups during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Each with the step, counted from 0, from which it holds; the first holds from 0.
    policies: Vec<(u64, ResolvedPolicy)>,
}

impl From<ResolvedPolicy> for Timeline {
    /// Returns a timeline with the same policy at every step.
    fn from(policy: ResolvedPolicy) -> Self {
        Self { policies: vec![(0, policy)] }
    }
}

impl Timeline {
    /// Returns the timeline of gradual unfreezing: at first nothing in the encoder is trained, then one more
    /// group every `every` steps, from the top block down and the embeddings last. Parts that the policy
    /// freezes stay frozen. If it freezes the heads, the top block is trained from the start.
    ///
    /// # Panics
    /// If `every` is 0.
    ///
    /// # Source
    /// Howard and Ruder, *Universal Language Model Fine-tuning for Text Classification*, 2018.
    #[must_use]
    pub fn gradual(policy: &ResolvedPolicy, every: u64) -> Self {
        assert!(every > 0, "there is no step between two that unfreeze");
        let learning = policy.trainable_groups();
        let (all, at_once) = (learning.len(), usize::from(policy.freezes_group(crate::Group::Head)));
        let unfrozen = |count: usize| {
            let step = count.saturating_sub(at_once) as u64 * every;
            if count == all {
                return (step, policy.clone());
            }
            let name = format!("{policy}, {count} of {all} unfrozen");
            (step, policy.freezing_also(learning[count..].iter().copied(), name))
        };
        Self { policies: (at_once.min(all)..=all).map(unfrozen).collect() }
    }

    /// Returns the policy of a step, counted from 0.
    #[must_use]
    pub fn at(&self, step: u64) -> &ResolvedPolicy {
        let started = self.policies.iter().take_while(|(from, _)| *from <= step);
        started.last().map_or(&self.policies[0].1, |(_, policy)| policy)
    }

    /// Returns the policy at the end.
    #[must_use]
    pub fn last(&self) -> &ResolvedPolicy {
        &self.policies[self.policies.len() - 1].1
    }

    /// Returns the steps at which groups are unfrozen, each with the policy from then on.
    pub fn unfreezings(&self) -> impl Iterator<Item = (u64, &ResolvedPolicy)> + '_ {
        self.policies.iter().skip(1).map(|(step, policy)| (*step, policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Group;

    fn trainable_at(timeline: &Timeline, step: u64) -> String {
        timeline.at(step).trainable_groups().iter().map(Group::to_string).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn blocks_unfreeze_from_the_top() {
        let timeline = Timeline::gradual(&ResolvedPolicy::parse("none", 3).unwrap(), 10);
        assert_eq!(trainable_at(&timeline, 0), "");
        assert_eq!(trainable_at(&timeline, 9), "");
        assert_eq!(trainable_at(&timeline, 10), "block 2");
        assert_eq!(trainable_at(&timeline, 25), "block 2, block 1");
        assert_eq!(trainable_at(&timeline, 40), "block 2, block 1, block 0, embeddings");
        assert_eq!(timeline.last().name(), "none");
        assert_eq!(timeline.at(10).name(), "none, 1 of 4 unfrozen");
        assert!(!timeline.at(0).freezes("heads.0.classifier.weight"));
    }

    #[test]
    fn what_a_policy_freezes_stays_frozen() {
        let timeline = Timeline::gradual(&ResolvedPolicy::parse("first-2+embeddings", 4).unwrap(), 1);
        assert_eq!(trainable_at(&timeline, 1), "block 3");
        assert_eq!(trainable_at(&timeline, 1000), "block 3, block 2");
        assert_eq!(timeline.unfreezings().map(|(step, _)| step).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn something_always_learns() {
        let timeline = Timeline::gradual(&ResolvedPolicy::parse("none+heads", 2).unwrap(), 5);
        assert_eq!(trainable_at(&timeline, 0), "block 1");
        assert_eq!(trainable_at(&timeline, 5), "block 1, block 0");
        let nothing = Timeline::gradual(&ResolvedPolicy::parse("head-only+heads", 2).unwrap(), 5);
        assert!(nothing.at(0).freezes_all());
    }
}
