//! Checks that the settings of a cell fit together, as far as their types cannot express it.
//!
//! # To add a setting
//!
//! The field, its default (`crates/frostline-record/src/settings.rs`) and its range (`check.rs`); a commented
//! line in `configs/reference.toml` (required by a test). Plans, `--set`, grids, ids and records then have it.
//! Read it at its place of use: training takes the same `Settings` (`Run::settings`), dropout and precision
//! reach the kernels through `pass.rs` in `frostline-train`, alignment through
//! `crates/frostline-cell/src/inputs.rs`. The meaning of a policy's parts for a run is in
//! `crates/frostline-train/src/policy.rs`. Its default is the original study's value: `published.md` names
//! every setting that differs from the plan's reference, except those that do not change training (`APART` in
//! `crates/frostline-report/src/topics/reference/differences.rs`).

use frostline_freeze::FreezeSchedule;

use crate::{PlanError, Settings};

impl Settings {
    /// Checks the ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting out of range, its value and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        let o = &self.optimizer;
        let t = &self.train;
        let whole = self.data.first == 0 && self.data.fraction >= 1.0;
        let large = |number: usize| i64::try_from(number).is_err();
        let d = &self.data;
        let share = |share: f64, cut: f64| share > 0.0 && share <= 1.0 && (share == 1.0 || cut == 0.0);
        let rules: [(&str, f64, bool, &str); 27] = [
            ("seed", self.seed as f64, i64::try_from(self.seed).is_ok(), "below 2^63, as TOML's numbers are"),
            ("data.first", self.data.first as f64, !large(self.data.first), "below 2^63"),
            ("data.draw", self.data.draw as f64, i64::try_from(self.data.draw).is_ok(), "below 2^63"),
            (
                "train.temperature",
                t.temperature,
                t.temperature >= 1.0 && t.temperature.is_finite(),
                "at least 1",
            ),
            (
                "data.sample",
                self.data.sample as f64,
                self.data.sample == 0 || whole,
                "0 if `data.first` or `data.fraction` chooses the train sentences",
            ),
            ("data.cut_test", self.data.cut_test, (0.0..1.0).contains(&self.data.cut_test), "in [0, 1)"),
            ("data.cut_dev", self.data.cut_dev, (0.0..1.0).contains(&self.data.cut_dev), "in [0, 1)"),
            (
                "data.train_from_dev",
                self.data.train_from_dev,
                self.data.train_from_dev > 0.0 && self.data.train_from_dev < 1.0,
                "in (0, 1)",
            ),
            (
                "train.batch",
                self.train.batch as f64,
                (1..=1 << 16).contains(&self.train.batch),
                "from 1 to 65536",
            ),
            (
                "train.accumulate",
                self.train.accumulate as f64,
                (1..=self.train.batch.max(1)).contains(&self.train.accumulate),
                "from 1 to train.batch",
            ),
            ("train.log_every", self.train.log_every as f64, self.train.log_every >= 1, "at least 1"),
            (
                "data.max_length",
                self.data.max_length as f64,
                (3..=1 << 20).contains(&self.data.max_length),
                "from 3 to 1048576",
            ),
            (
                "data.fraction",
                self.data.fraction,
                self.data.fraction > 0.0 && self.data.fraction <= 1.0,
                "in (0, 1]",
            ),
            (
                "data.dev_fraction",
                d.dev_fraction,
                share(d.dev_fraction, d.cut_dev),
                "in (0, 1], and 1 if `data.cut_dev` cuts dev from train: lower `data.cut_dev` instead",
            ),
            (
                "data.test_fraction",
                d.test_fraction,
                share(d.test_fraction, d.cut_test),
                "in (0, 1], and 1 if `data.cut_test` cuts test from train: lower `data.cut_test` instead",
            ),
            ("optimizer.lr", o.lr, o.lr > 0.0 && o.lr.is_finite(), "above 0"),
            ("optimizer.beta1", o.beta1, (0.0..1.0).contains(&o.beta1), "in [0, 1)"),
            ("optimizer.beta2", o.beta2, (0.0..1.0).contains(&o.beta2), "in [0, 1)"),
            ("optimizer.eps", o.eps, o.eps > 0.0 && o.eps.is_finite(), "above 0"),
            (
                "optimizer.weight_decay",
                o.weight_decay,
                (0.0..f64::INFINITY).contains(&o.weight_decay),
                "0 or more",
            ),
            (
                "optimizer.layer_decay",
                o.layer_decay,
                o.layer_decay > 0.0 && o.layer_decay <= 1.0,
                "in (0, 1]",
            ),
            ("optimizer.clip_norm", o.clip_norm, (0.0..f64::INFINITY).contains(&o.clip_norm), "0 or more"),
            (
                "schedule.warmup",
                self.schedule.warmup,
                (0.0..1.0).contains(&self.schedule.warmup),
                "in [0, 1)",
            ),
            ("dropout.head", self.dropout.head, (0.0..1.0).contains(&self.dropout.head), "in [0, 1)"),
            (
                "eval.batch_tokens",
                self.eval.batch_tokens as f64,
                (1..=1 << 24).contains(&self.eval.batch_tokens),
                "from 1 to 16777216",
            ),
            (
                "eval.every_steps",
                self.eval.every_steps as f64,
                i64::try_from(self.eval.every_steps).is_ok(),
                "below 2^63",
            ),
            (
                "optimizer.lr times weight_decay",
                o.lr * o.weight_decay,
                o.lr * o.weight_decay < 1.0,
                "below 1",
            ),
        ];
        match rules.into_iter().find(|rule| !rule.2) {
            None => self.check_tuning().and_then(|()| self.check_policy()).and_then(|()| self.check_tasks()),
            Some((path, value, _, range)) => {
                Err(PlanError::OutOfRange { path: path.into(), value, range: range.into() })
            }
        }
    }

    /// Whether the settings of this file are in their ranges.
    pub(crate) fn check_tuning(&self) -> Result<(), PlanError> {
        let (lora, adaptive) = (&self.lora, &self.adaptive);
        let rules = [
            ("lora.rank", lora.rank as f64, (1..=1 << 14).contains(&lora.rank), "from 1 to 16384"),
            ("lora.alpha", lora.alpha, lora.alpha > 0.0 && lora.alpha.is_finite(), "above 0"),
            (
                "adapters.size",
                self.adapters.size as f64,
                (1..=1 << 16).contains(&self.adapters.size),
                "from 1 to 65536",
            ),
            ("adaptive.every", adaptive.every as f64, adaptive.every >= 1, "at least 1"),
            (
                "adaptive.percentile",
                adaptive.percentile,
                (0.0..=100.0).contains(&adaptive.percentile),
                "from 0 to 100",
            ),
        ];
        if let Some((path, value, _, range)) = rules.into_iter().find(|rule| !rule.2) {
            return Err(PlanError::OutOfRange { path: path.into(), value, range: range.into() });
        }
        lora.layers().map(|_| ())
    }

    /// Whether the other settings fit the policy.
    pub(crate) fn check_policy(&self) -> Result<(), PlanError> {
        let Self { policy, unfreeze, save, .. } = self;
        let fail = |reason| Err(PlanError::Policy { policy: policy.as_str().into(), reason });
        if (save.model || save.stages) && !policy.tuning().keeps_architecture() {
            return fail(
                "a Hugging Face folder has no place for what it adds; leave `save.model` and `save.stages` off, or learn with +lora, \
                 which is merged into the weights"
                    .into(),
            );
        }
        if policy.schedule() == FreezeSchedule::Adaptive && unfreeze.every > 0 {
            return fail(format!(
                "it freezes blocks during the run, but `unfreeze.every = {}` unfreezes them; choose one of the two",
                unfreeze.every
            ));
        }
        Ok(())
    }

    /// Whether tasks, heads and the headline fit together.
    fn check_tasks(&self) -> Result<(), PlanError> {
        let fail = |task: &str, reason: String| Err(PlanError::Task { task: task.into(), reason });
        for (name, task) in &self.tasks {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(plain) {
                return fail(name, "a name has letters, digits, `-` and `_`".into());
            }
            if let Some(reason) = task.task_fault() {
                return fail(name, reason);
            }
            if task.shares.is_empty() {
                continue;
            }
            match self.tasks.get(task.shares.as_str()).filter(|_| *name != *task.shares) {
                None => {
                    return fail(
                        name,
                        format!("it shares the head of `{}`, which is not another task", task.shares),
                    );
                }
                Some(other) if !other.shares.is_empty() => {
                    return fail(name, format!("`{}` has no head of its own to share", task.shares));
                }
                Some(other) if other.unit() != task.unit() => {
                    return fail(
                        name,
                        format!("it labels other units than `{}`, whose head it shares", task.shares),
                    );
                }
                Some(_) => {}
            }
        }
        let headline = self.headline();
        if !self.tasks.contains_key(headline) {
            let there: Vec<&str> = self.tasks.keys().map(|name| name.as_str()).collect();
            let known = if there.is_empty() { "none".into() } else { there.join(", ") };
            return fail(headline, format!("it is the headline (`eval.task`), but the tasks are: {known}"));
        }
        if self.train.epochs > 0 && self.tasks.values().all(|task| task.weight == 0.0) {
            return fail(
                headline,
                "every task has weight 0, so nothing would be trained; set train.epochs = 0".into(),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;

    #[test]
    fn tasks_that_cannot_be_say_why() {
        let error = |text: &&str| {
            let settings: Settings = toml::from_str(text).expect("settings");
            settings.check().expect_err(text).to_string()
        };
        let errors = [
            "[tasks.a]\nlabels = 'pos'",
            "[tasks.a]\nlabels = 'feats.'",
            "[tasks.a]\nhead = 'pooler'",
            "[tasks.a]\nweight = -1",
            "[tasks.a]\nweight = 0",
            "[tasks.a]\nshares = 'b'",
            "[tasks.a]\nshares = 'a'",
            "[tasks.a]\n[tasks.b]\nshares = 'a'\nlabels = 'genre'",
            "[tasks.a]\n[tasks.b]\nshares = 'a'\n[tasks.c]\nshares = 'b'",
            "[tasks.'a b']",
            "[tasks.a]\n[eval]\ntask = 'b'",
            "[tasks]",
        ];
        insta::assert_snapshot!(errors.iter().map(error).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn the_usual_task_is_the_headline() {
        let settings = Settings::default();
        assert_eq!((settings.headline(), settings.tasks["upos"].unit()), ("upos", Unit::Words));
        assert_eq!([settings.role("en", "dev"), settings.role("ner", "dev")], ["dev", "ner/dev"]);
    }

    #[test]
    fn settings_that_a_policy_rules_out() {
        let error = |text: &&str| toml::from_str::<Settings>(text).unwrap().check().unwrap_err().to_string();
        let errors =
            ["policy = 'none+adaptive'\nunfreeze.every = 1", "policy = 'none+mix'\nsave.model = true"];
        insta::assert_snapshot!(errors.iter().map(error).collect::<Vec<_>>().join("\n"), @r"
        the policy `none+adaptive` is invalid: it freezes blocks during the run, but `unfreeze.every = 1` unfreezes them; choose one of the two
        the policy `none+mix` is invalid: a Hugging Face folder has no place for what it adds; leave `save.model` and `save.stages` off, or learn with +lora, which is merged into the weights
        ");
    }

    #[test]
    fn a_policy_that_does_not_exist_is_named_with_its_place() {
        let mut settings = Settings::default();
        let errors = [
            toml::from_str::<Settings>("seed = 3\npolicy = 'frist-4'").unwrap_err().to_string(),
            settings.set("policy", "frist-4".into()).unwrap_err().to_string(),
        ];
        insta::assert_snapshot!(errors.join("\n"), @r#"
        TOML parse error at line 2, column 10
          |
        2 | policy = 'frist-4'
          |          ^^^^^^^^^
        there is no policy `frist-4`. The policies are: none, all, first-K, last-K and top-K (K from 1 to the number of blocks, or such as 25%), alternating, blocks-0.2 (any of 0 to the last block), head-only; each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, they may by +lora, +adapters, +bitfit or +norms alone, or freeze during the run with +adaptive; each with +mix

        `"frist-4"` does not fit the setting `policy`: there is no policy `frist-4`. The policies are: none, all, first-K, last-K and top-K (K from 1 to the number of blocks, or such as 25%), alternating, blocks-0.2 (any of 0 to the last block), head-only; each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, they may by +lora, +adapters, +bitfit or +norms alone, or freeze during the run with +adaptive; each with +mix
        "#);
    }

    #[test]
    fn ranges_are_checked() {
        let error = |text: &str| toml::from_str::<Settings>(text).unwrap().check().unwrap_err().to_string();
        for (text, path) in [
            ("lora.rank = 0", "lora.rank"),
            ("lora.alpha = 0", "lora.alpha"),
            ("adapters.size = 0", "adapters.size"),
            ("adaptive.every = 0", "adaptive.every"),
            ("adaptive.percentile = 101", "adaptive.percentile"),
        ] {
            assert!(error(text).contains(path), "{text}");
        }
    }
}
