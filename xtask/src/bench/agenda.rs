//! What is measured in one run and in which order: rows of the tables, and the tasks behind them.
//!
//! A task that serves two rows is run once per round. It measures nothing.

use anyhow::anyhow;

use crate::bench::compare::{COMPARISONS, Comparison, Scale, Setting, Suite};
use crate::bench::places::Encoder;
use crate::fault::{Blame as _, Result};

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Ours,
    Peer,
}

/// One measurement, repeated in every round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub who: Who,
    pub suite: Suite,
    /// A place in the list of encoders.
    pub encoder: usize,
    pub setting: &'static Setting,
    pub policies: &'static [&'static str],
    pub scale: &'static Scale,
}

/// One row: a comparison for an encoder and policies, and the tasks of both sides.
#[derive(Debug)]
pub(crate) struct Line {
    pub comparison: &'static Comparison,
    pub encoder: usize,
    pub policies: &'static [&'static str],
    /// Places in [`Agenda::tasks`].
    pub ours: usize,
    pub peer: usize,
}

/// All rows, and the tasks in the order of one round.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    pub lines: Vec<Line>,
    pub tasks: Vec<Task>,
}

impl Task {
    fn same(&self, other: &Self) -> bool {
        self.who == other.who
            && self.suite == other.suite
            && self.encoder == other.encoder
            && self.setting.id == other.setting.id
            && self.policies == other.policies
            && std::ptr::eq(self.scale, other.scale)
    }
}

impl Agenda {
    /// The comparisons of these suites for these encoders; `only` narrows the policies.
    ///
    /// # Errors
    /// Where a policy is in no comparison of these suites.
    pub(crate) fn new(suites: &[Suite], encoders: &[Encoder], only: &[String]) -> Result<Self> {
        let asked = |comparison: &&Comparison| suites.contains(&comparison.suite);
        let all = || COMPARISONS.iter().filter(asked).flat_map(|comparison| comparison.policies);
        for name in only {
            if !all().any(|policies| policies.contains(&name.as_str())) {
                let mut names: Vec<&str> = Vec::new();
                for name in all().flat_map(|policies| policies.iter().copied()) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                let there = names.join(", ");
                return Err(anyhow!("no comparison asked for has the policy `{name}`; there are: {there}"))
                    .plan();
            }
        }
        let mut agenda = Self::default();
        for suite in suites {
            for (place, encoder) in encoders.iter().enumerate() {
                agenda.add(*suite, place, encoder, only);
            }
        }
        Ok(agenda)
    }

    /// The rows of one suite and encoder, those of one policy side by side.
    fn add(&mut self, suite: Suite, place: usize, encoder: &Encoder, only: &[String]) {
        let fits = |comparison: &&Comparison| {
            let asks = comparison.encoders.is_empty() || comparison.encoders.contains(&encoder.name.as_str());
            // A run from random weights learns too little for its accuracy to say anything.
            let whole = matches!(suite, Suite::Runs | Suite::ShortSweeps | Suite::Sweeps);
            comparison.suite == suite && asks && !(whole && encoder.random_init)
        };
        let wanted = |policies: &[&str]| {
            only.is_empty()
                || policies.is_empty()
                || only.iter().any(|name| policies.contains(&name.as_str()))
        };
        let mut seen: Vec<&[&str]> = Vec::new();
        for policies in COMPARISONS.iter().filter(fits).flat_map(|comparison| comparison.policies) {
            if seen.contains(policies) || !wanted(policies) {
                continue;
            }
            seen.push(policies);
            let of_it = |comparison: &&Comparison| comparison.policies.contains(policies);
            for comparison in COMPARISONS.iter().filter(fits).filter(of_it) {
                let task = |who, setting| Task {
                    who,
                    suite,
                    encoder: place,
                    setting,
                    policies,
                    scale: comparison.scale,
                };
                let ours = self.task(task(Who::Ours, comparison.ours));
                let peer = self.task(task(Who::Peer, comparison.peer));
                self.lines.push(Line { comparison, encoder: place, policies, ours, peer });
            }
        }
    }

    /// The place of a task, which is added where it is new.
    fn task(&mut self, task: Task) -> usize {
        self.tasks.iter().position(|known| known.same(&task)).unwrap_or_else(|| {
            self.tasks.push(task);
            self.tasks.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::places::tests::encoder;

    fn shown(agenda: &Agenda) -> Vec<String> {
        let show = |task: &Task| {
            let who = if task.who == Who::Ours { "A" } else { "B" };
            format!("{who} {} {} {}", task.encoder, task.policies.join(","), task.setting.id)
        };
        agenda.tasks.iter().map(show).collect()
    }

    #[test]
    fn sides_take_turns_and_nothing_runs_twice_in_a_round() {
        let only = ["none".to_string(), "first-4".into()];
        let agenda = Agenda::new(&[Suite::Steps], &[encoder("tiny", true)], &only).expect("an agenda");
        assert_eq!(
            shown(&agenda),
            [
                "A 0 none f32",
                "B 0 none study",
                "B 0 none bf16, grouped",
                "A 0 none bf16",
                "A 0 first-4 f32",
                "B 0 first-4 study",
            ]
        );
        assert_eq!(agenda.lines.len(), 4);
        assert_eq!((agenda.lines[1].ours, agenda.lines[1].peer), (0, 2));
    }

    #[test]
    fn whole_runs_need_weights() {
        let encoders = [encoder("tiny", true), encoder("all-MiniLM-L6-v2", false)];
        let agenda = Agenda::new(&[Suite::Runs, Suite::Sweeps], &encoders, &[]).expect("an agenda");
        assert!(agenda.lines.iter().all(|line| line.encoder == 1));
        assert_eq!(agenda.lines.iter().filter(|line| line.comparison.suite == Suite::Sweeps).count(), 4);
    }

    #[test]
    fn a_policy_nobody_compares_is_refused() {
        let fault =
            Agenda::new(&[Suite::Steps, Suite::Runs], &[], &["last-9".into()]).expect_err("no such policy");
        assert_eq!(fault.code, crate::fault::PLAN);
        insta::assert_snapshot!(fault.error.to_string(), @"no comparison asked for has the policy `last-9`; there are: none, all, first-2, first-4, alternating, first-4+embeddings, head-only");
    }
}
