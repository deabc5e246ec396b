//! Whether a plan's search for learning rates can be made, and does not leak into the comparison.

use crate::{Plan, PlanError, Policy};

impl Plan {
    /// Checks that a search for learning rates is possible, and does not leak into the comparison.
    ///
    /// # Errors
    /// If it is not; the error names the reason.
    pub(crate) fn check_search(&self, seeds: &[u64], policies: &[Policy]) -> Result<(), PlanError> {
        if !self.search.is_on() {
            return Ok(());
        }
        let fail = |reason: String| Err(PlanError::Search { reason });
        if seeds.contains(&self.search.seed) {
            return fail(format!(
                "`search.seed = {}` is one of the seeds that are compared, so that a rate would be chosen on what it is judged \
                 by; take another one",
                self.search.seed
            ));
        }
        if self.grid.contains_key(LR) {
            return fail(format!("`{LR}` is an axis of the grid; leave the axis out, or the search"));
        }
        if policies.iter().any(|policy| policy.as_str() == Policy::GREEDY) {
            return fail(
                "the policies of `greedy` are not known in advance; search with the policies that it chose"
                    .into(),
            );
        }
        if let Some((stage, rate)) = self.settings.stages_with(LR).first() {
            return fail(format!(
                "the stage `{stage}` has its own `{LR}` ({rate}), and the search finds one rate for a policy; leave one of \
                 them out"
            ));
        }
        Ok(())
    }
}

/// The setting that a search finds.
const LR: &str = "optimizer.lr";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FoundRate, Grid, ScoredOn, Settings};

    fn parse_plan(text: &str, assignments: &[&str]) -> Result<(Plan, Grid), PlanError> {
        let text = format!(
            "schema = 4\nname = 'x'\ntreebanks = {{ en = 'EN', pcm = 'PCM' }}\n\
             grid = {{ policy = ['none', 'all'], lang = ['en', 'pcm'], seed = [42, 43] }}\n{text}"
        );
        let mut plan = Plan::parse(&text, "x.toml")?;
        for assignment in assignments {
            plan.assign(assignment)?;
        }
        let grid = plan.cells()?;
        Ok((plan, grid))
    }

    #[test]
    fn a_search_that_could_leak_or_find_nothing_is_refused() {
        let on = "[search]\nlr = 'policy'\n";
        let error =
            |text: &str, set: &[&str]| parse_plan(&format!("{on}{text}"), set).expect_err(text).to_string();
        let errors = [
            error("seed = 43", &[]),
            error("", &["search.seed=42"]),
            error("", &["optimizer.lr=[1e-5, 1e-4]"]),
            error("", &["policy=['none', 'greedy']"]),
            error("[[settings.stages]]\nname = 'head'\noptimizer.lr = 1e-3", &[]),
            error("rates = 1", &[]),
            error("rungs = 0", &[]),
            error("cut = 1.5", &[]),
            error("", &["search.rate=3"]),
            error("", &["search.lr=always"]),
        ];
        insta::assert_snapshot!(errors.join("\n"));
        // Without a search the same is fine.
        parse_plan("[search]\nseed = 43", &["optimizer.lr=[1e-5, 1e-4]"]).expect("no search");
    }

    #[test]
    fn a_plan_without_a_search_is_stored_as_before() {
        let (plan, _) = parse_plan("", &[]).expect("a plan");
        assert!(!serde_json::to_string(&plan).expect("plain data").contains("search"));
    }

    #[test]
    fn each_cell_gets_the_rate_that_was_found_for_it() {
        let found = |policy: &str, langs: &[&str], lr: f64| FoundRate {
            policy: policy.parse().expect("a policy"),
            langs: langs.iter().map(|lang| lang.parse().expect("a name")).collect(),
            axes: [("train.batch".to_string(), toml::Value::from(8))].into(),
            parameters: [1, 2],
            scored_on: ScoredOn::Train,
            rungs: Vec::new(),
            lr,
            edge: None,
        };
        let (_, grid) =
            parse_plan("[policies.all]\noptimizer.lr = 2e-3", &["train.batch=[8, 16]"]).expect("a plan");
        let found = [found("none", &["en", "pcm"], 1e-4), found("all", &["pcm"], 1e-2)];
        let rates = |grid: &Grid| -> Vec<(String, f64)> {
            let shown = |s: Settings| (format!("{} {} {}", s.lang, s.policy, s.train.batch), s.optimizer.lr);
            grid.iter().take(8).map(shown).collect()
        };
        let expect = |rows: [(&str, f64); 8]| rows.map(|(name, lr)| (name.to_string(), lr)).to_vec();
        assert_eq!(
            rates(&grid.with_rates(&found)),
            expect([
                ("en none 8", 1e-4),
                ("en all 8", 2e-3),
                ("en none 16", 5e-5),
                ("en all 16", 2e-3),
                ("pcm none 8", 1e-4),
                ("pcm all 8", 1e-2),
                ("pcm none 16", 5e-5),
                ("pcm all 16", 2e-3),
            ])
        );
    }
}
