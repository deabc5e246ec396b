//! Timelines: the policy of every step, decided before the first step.

use crate::{FreezeSchedule, Group, ResolvedPolicy};

/// A policy that changes during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Each with the step, counted from 0, from which it holds; the first holds from 0.
    policies: Vec<(u64, ResolvedPolicy)>,
    /// The policy under which everything is trained that is trained at some step.
    whole: ResolvedPolicy,
}

impl From<ResolvedPolicy> for Timeline {
    /// Returns a timeline with the same policy at every step.
    fn from(policy: ResolvedPolicy) -> Self {
        Self { policies: vec![(0, policy.clone())], whole: policy }
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
        let (all, at_once) = (learning.len(), usize::from(policy.freezes_group(Group::Head)));
        let unfrozen = |count: usize| {
            let step = count.saturating_sub(at_once) as u64 * every;
            if count == all {
                return (step, policy.clone());
            }
            let name = format!("{policy}, {count} of {all} unfrozen");
            (step, policy.freezing_also(learning[count..].iter().copied(), name))
        };
        Self { policies: (at_once.min(all)..=all).map(unfrozen).collect(), whole: policy.clone() }
    }

    /// Returns the timeline under which only heads learn before a step, and everything that the policy trains from then on.
    #[must_use]
    pub fn heads_first(policy: &ResolvedPolicy, until: u64) -> Self {
        let heads = policy.freezing_also(policy.trainable_groups(), format!("{policy}, heads alone"));
        let from_start = [(0, heads)].into_iter().filter(|_| until > 0);
        Self { policies: from_start.chain([(until, policy.clone())]).collect(), whole: policy.clone() }
    }

    /// Returns the timeline under which these blocks learn in turn, each set for `every` steps, with everything but blocks that
    /// the policy trains.
    ///
    /// # Panics
    /// If there is no set, or `every` is 0.
    #[must_use]
    pub fn rotating(policy: &ResolvedPolicy, every: u64, sets: impl IntoIterator<Item = Vec<usize>>) -> Self {
        assert!(every > 0, "there is no step between two sets of blocks");
        let period = |(number, mut set): (u64, Vec<usize>)| {
            set.sort_unstable();
            let others = (0..policy.depth()).filter(|block| !set.contains(block)).map(Group::Block);
            let names: Vec<String> = set.iter().map(ToString::to_string).collect();
            let name = format!("{policy}, blocks {} for {every} steps", names.join(", "));
            (number * every, policy.freezing_also(others, name))
        };
        let policies: Vec<(u64, ResolvedPolicy)> = (0..).zip(sets).map(period).collect();
        assert!(!policies.is_empty(), "some blocks have to learn");
        Self { policies, whole: policy.clone() }
    }

    /// Returns the policy of a step, counted from 0.
    #[must_use]
    pub fn at(&self, step: u64) -> &ResolvedPolicy {
        let started = self.policies.partition_point(|(from, _)| *from <= step);
        &self.policies[started.saturating_sub(1)].1
    }

    /// Returns the policy under which everything is trained that is trained at some step of a long run.
    #[must_use]
    pub const fn whole(&self) -> &ResolvedPolicy {
        &self.whole
    }

    /// Returns the policy under which everything is trained that has been trained up to a step, counted from 0.
    #[must_use]
    pub fn trained_until(&self, step: u64) -> ResolvedPolicy {
        let before = self.policies.iter().take_while(|(from, _)| *from <= step);
        before.fold(self.at(step).clone(), |all, (_, policy)| all.learning_also(policy))
    }

    /// Returns the policy of a typical step: the first period if blocks learn in turn, otherwise the policy that trains everything.
    #[must_use]
    pub fn typical(&self) -> &ResolvedPolicy {
        let rotates = matches!(self.whole.policy().schedule(), FreezeSchedule::Rotating(..));
        if rotates { self.at(0) } else { &self.whole }
    }

    /// Returns whether the policy changes at a step.
    #[must_use]
    pub fn changes_at(&self, step: u64) -> bool {
        step > 0 && self.policies.binary_search_by_key(&step, |(from, _)| *from).is_ok()
    }

    /// Returns the steps at which the policy changes, each with the policy from then on.
    pub fn changes(&self) -> impl Iterator<Item = (u64, &ResolvedPolicy)> + '_ {
        self.policies.iter().skip(1).map(|(step, policy)| (*step, policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(timeline.whole().name(), "none");
        assert_eq!(timeline.at(10).name(), "none, 1 of 4 unfrozen");
        assert!(!timeline.at(0).freezes("heads.0.classifier.weight"));
    }

    #[test]
    fn what_a_policy_freezes_stays_frozen() {
        let timeline = Timeline::gradual(&ResolvedPolicy::parse("first-2+embeddings", 4).unwrap(), 1);
        assert_eq!(trainable_at(&timeline, 1), "block 3");
        assert_eq!(trainable_at(&timeline, 1000), "block 3, block 2");
        assert_eq!(timeline.changes().map(|(step, _)| step).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn heads_learn_first() {
        let timeline = Timeline::heads_first(&ResolvedPolicy::parse("lp-ft", 2).unwrap(), 4);
        assert_eq!(
            (trainable_at(&timeline, 3), timeline.at(3).name()),
            (String::new(), "lp-ft, heads alone")
        );
        assert!(!timeline.at(0).freezes("heads.0.classifier.weight"));
        assert_eq!(trainable_at(&timeline, 4), "block 1, block 0, embeddings");
        assert_eq!(
            (timeline.changes_at(0), timeline.changes_at(4), timeline.changes_at(5)),
            (false, true, false)
        );
        let at_once = Timeline::heads_first(&ResolvedPolicy::parse("lp-ft+embeddings", 2).unwrap(), 0);
        assert_eq!(trainable_at(&at_once, 0), "block 1, block 0");
    }

    #[test]
    fn blocks_take_turns() {
        let policy = ResolvedPolicy::parse("lisa-1@10", 3).unwrap();
        let timeline = Timeline::rotating(&policy, 10, [vec![2], vec![0], vec![2]]);
        assert_eq!(trainable_at(&timeline, 9), "block 2, embeddings");
        assert_eq!(trainable_at(&timeline, 10), "block 0, embeddings");
        assert_eq!(trainable_at(&timeline, 99), "block 2, embeddings");
        assert_eq!(timeline.at(10).name(), "lisa-1@10, blocks 0 for 10 steps");
        let trained = |step| {
            let groups = timeline.trained_until(step).trainable_groups();
            groups.iter().map(Group::to_string).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(trained(9), "block 2, embeddings");
        assert_eq!(trained(25), "block 2, block 0, embeddings");
        assert_eq!(timeline.whole().name(), "lisa-1@10");
        assert_eq!(timeline.typical(), timeline.at(0));
        assert!(ResolvedPolicy::parse("lisa-4@10", 3).is_err());
        assert!(ResolvedPolicy::parse("lp-ft+heads", 3).is_err());
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
