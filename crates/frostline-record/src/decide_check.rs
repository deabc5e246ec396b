//! Whether a sweep with a plan's grid can answer its question.

use crate::{DecideQuestion, FIRST_SEEDS, Plan, PlanError, Policy};

impl Plan {
    /// Checks that a sweep with this grid can answer its question.
    ///
    /// # Errors
    /// If it cannot; the error names the reason.
    pub(crate) fn check_decide(&self, seeds: &[u64], policies: &[Policy]) -> Result<(), PlanError> {
        if !self.decide.is_on() {
            return Ok(());
        }
        let fail = |reason: String| Err(PlanError::Decide { reason });
        if !(self.decide.hours.is_finite() && self.decide.hours >= 0.0) {
            return fail(format!(
                "decide.hours is {}; give hours of computing above 0, or 0 for no limit",
                self.decide.hours
            ));
        }
        let has = |name: &str| policies.iter().any(|policy| policy.as_str() == name);
        if seeds.len() <= FIRST_SEEDS {
            return fail(format!(
                "every policy starts with {FIRST_SEEDS} seeds, and the plan has {}; give all seeds that it may use, as in \
                 --seeds 42-46",
                seeds.len()
            ));
        }
        let asks_for_pairs = self.decide.question == DecideQuestion::Pairs;
        if asks_for_pairs == self.decide.pairs.is_empty() {
            return fail(
                "`decide.question = \"pairs\"` and `decide.pairs` belong together, as in \
                 --decide=pairs --set 'decide.pairs=[[\"first-4\", \"alternating\"]]'"
                    .into(),
            );
        }
        for [first, second] in &self.decide.pairs {
            if let Some(name) = [first, second].into_iter().find(|name| !has(name)) {
                return fail(format!("decide.pairs names `{name}`, which is no policy of the plan"));
            }
            if first == second {
                return fail(format!("decide.pairs compares `{first}` with itself"));
            }
        }
        if !asks_for_pairs && (!has("none") || policies.len() < 2) {
            return fail("policies are compared with `none`, and the plan needs it and another one".into());
        }
        if has(Policy::GREEDY) {
            return fail(
                "the policies of `greedy` are chosen by its own rounds; leave one of the two out".into(),
            );
        }
        if !self.settings.save.predictions {
            return fail("verdicts need stored predictions; set `save.predictions` to true".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Plan, PlanError};

    fn check(assignments: &[&str]) -> Result<(), PlanError> {
        let text = "schema = 4\nname = 'x'\ntreebanks = { en = 'EN' }\n\
                    grid = { policy = ['none', 'all'], seed = [42, 43, 44] }\ndecide = { question = 'recommendation' }";
        let mut plan = Plan::parse(text, "x.toml")?;
        for assignment in assignments {
            plan.assign(assignment)?;
        }
        plan.cells().map(drop)
    }

    #[test]
    fn a_sweep_that_cannot_decide_is_refused() {
        check(&[]).expect("a plan");
        check(&["seed=[1]", "decide.question=off"]).expect("a plan");
        let pairs = "decide.pairs=[[\"all\", \"first-1\"]]";
        check(&["decide.question=pairs", pairs, "policy=[\"all\", \"first-1\"]"]).expect("a plan");
        for (assignments, part) in [
            (vec!["decide.question=pairs"], "belong together"),
            (vec!["decide.question=pairs", pairs], "`first-1`, which is no policy of the plan"),
            (vec!["decide.question=pairs", "decide.pairs=[[\"all\", \"all\"]]"], "`all` with itself"),
        ] {
            let error = check(&assignments).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
        for (assignment, part) in [
            ("seed=[42, 43]", "starts with 2 seeds, and the plan has 2"),
            ("policy=[\"all\", \"first-1\"]", "compared with `none`"),
            ("policy=[\"none\"]", "another one"),
            ("policy=[\"none\", \"greedy\"]", "greedy"),
            ("save.predictions=false", "save.predictions"),
            ("decide.question=maybe", "recommendation"),
            ("decide.cell=3", "cells"),
            ("decide.hours=-1", "decide.hours is -1; give hours"),
            ("decide.hours=nan", "decide.hours"),
        ] {
            let error = check(&[assignment]).expect_err(assignment).to_string();
            assert!(error.contains(part), "{assignment}: {error}");
        }
    }
}
