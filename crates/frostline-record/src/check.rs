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

use crate::{PlanError, Settings, TaskSettings};

/// A setting with its value, whether the value is in range, and the range in words.
pub(crate) type RangeRule = (&'static str, f64, bool, &'static str);

/// Returns an error about the first setting that is out of its range.
pub(crate) fn check_ranges(rules: impl IntoIterator<Item = RangeRule>) -> Result<(), PlanError> {
    match rules.into_iter().find(|(_, _, is_in_range, _)| !is_in_range) {
        None => Ok(()),
        Some((path, value, _, range)) => {
            Err(PlanError::OutOfRange { path: path.into(), value, range: range.into() })
        }
    }
}

fn below_2_to_63(path: &'static str, value: u64) -> RangeRule {
    (path, value as f64, i64::try_from(value).is_ok(), "below 2^63")
}

fn at_least_one(path: &'static str, value: f64) -> RangeRule {
    (path, value, value >= 1.0 && value.is_finite(), "at least 1")
}

fn above_zero(path: &'static str, value: f64) -> RangeRule {
    (path, value, value > 0.0 && value.is_finite(), "above 0")
}

fn zero_or_more(path: &'static str, value: f64) -> RangeRule {
    (path, value, (0.0..f64::INFINITY).contains(&value), "0 or more")
}

fn below_one(path: &'static str, value: f64) -> RangeRule {
    (path, value, (0.0..1.0).contains(&value), "in [0, 1)")
}

fn above_zero_to_one(path: &'static str, value: f64) -> RangeRule {
    (path, value, value > 0.0 && value <= 1.0, "in (0, 1]")
}

impl Settings {
    /// Checks the ranges that types cannot express, and that the parts fit together.
    ///
    /// # Errors
    /// Names the first setting out of range, its value and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        let data_and_training = self.data_rules().into_iter().chain(self.training_rules());
        let rules = data_and_training.chain(self.share_rules()).chain(self.optimizer_rules());
        check_ranges(rules.chain(self.evaluation_rules()))?;
        self.check_tuning()?;
        self.check_policy()?;
        self.check_tasks()
    }

    fn data_rules(&self) -> [RangeRule; 8] {
        let data = &self.data;
        let takes_all = data.first == 0 && data.fraction >= 1.0;
        let from_dev = data.train_from_dev;
        [
            ("seed", self.seed as f64, i64::try_from(self.seed).is_ok(), "below 2^63, as TOML's numbers are"),
            below_2_to_63("data.first", data.first as u64),
            below_2_to_63("data.draw", data.draw),
            at_least_one("train.temperature", self.train.temperature),
            (
                "data.sample",
                data.sample as f64,
                data.sample == 0 || takes_all,
                "0 if `data.first` or `data.fraction` chooses the train sentences",
            ),
            below_one("data.cut_test", data.cut_test),
            below_one("data.cut_dev", data.cut_dev),
            ("data.train_from_dev", from_dev, from_dev > 0.0 && from_dev < 1.0, "in (0, 1)"),
        ]
    }

    fn training_rules(&self) -> [RangeRule; 4] {
        let (train, max_length) = (&self.train, self.data.max_length);
        [
            ("train.batch", train.batch as f64, (1..=1 << 16).contains(&train.batch), "from 1 to 65536"),
            (
                "train.accumulate",
                train.accumulate as f64,
                (1..=train.batch.max(1)).contains(&train.accumulate),
                "from 1 to train.batch",
            ),
            at_least_one("train.log_every", train.log_every as f64),
            ("data.max_length", max_length as f64, (3..=1 << 20).contains(&max_length), "from 3 to 1048576"),
        ]
    }

    fn share_rules(&self) -> [RangeRule; 3] {
        let data = &self.data;
        let fits_cut = |share: f64, cut: f64| share > 0.0 && share <= 1.0 && (share == 1.0 || cut == 0.0);
        [
            above_zero_to_one("data.fraction", data.fraction),
            (
                "data.dev_fraction",
                data.dev_fraction,
                fits_cut(data.dev_fraction, data.cut_dev),
                "in (0, 1], and 1 if `data.cut_dev` cuts dev from train: lower `data.cut_dev` instead",
            ),
            (
                "data.test_fraction",
                data.test_fraction,
                fits_cut(data.test_fraction, data.cut_test),
                "in (0, 1], and 1 if `data.cut_test` cuts test from train: lower `data.cut_test` instead",
            ),
        ]
    }

    fn optimizer_rules(&self) -> [RangeRule; 8] {
        let optimizer = &self.optimizer;
        [
            above_zero("optimizer.lr", optimizer.lr),
            below_one("optimizer.beta1", optimizer.beta1),
            below_one("optimizer.beta2", optimizer.beta2),
            above_zero("optimizer.eps", optimizer.eps),
            zero_or_more("optimizer.weight_decay", optimizer.weight_decay),
            above_zero_to_one("optimizer.layer_decay", optimizer.layer_decay),
            above_zero("optimizer.head_factor", optimizer.head_factor),
            zero_or_more("optimizer.clip_norm", optimizer.clip_norm),
        ]
    }

    fn evaluation_rules(&self) -> [RangeRule; 5] {
        let batch_tokens = self.eval.batch_tokens;
        let decay_of_step = self.optimizer.lr * self.optimizer.weight_decay;
        [
            below_one("schedule.warmup", self.schedule.warmup),
            below_one("dropout.head", self.dropout.head),
            (
                "eval.batch_tokens",
                batch_tokens as f64,
                (1..=1 << 24).contains(&batch_tokens),
                "from 1 to 16777216",
            ),
            below_2_to_63("eval.every_steps", self.eval.every_steps),
            ("optimizer.lr times weight_decay", decay_of_step, decay_of_step < 1.0, "below 1"),
        ]
    }

    /// Checks the settings of LoRA, adapters and adaptive freezing.
    pub(crate) fn check_tuning(&self) -> Result<(), PlanError> {
        let (lora, adaptive, size) = (&self.lora, &self.adaptive, self.adapters.size);
        check_ranges([
            ("lora.rank", lora.rank as f64, (1..=1 << 14).contains(&lora.rank), "from 1 to 16384"),
            above_zero("lora.alpha", lora.alpha),
            ("adapters.size", size as f64, (1..=1 << 16).contains(&size), "from 1 to 65536"),
            at_least_one("adaptive.every", adaptive.every as f64),
            (
                "adaptive.percentile",
                adaptive.percentile,
                (0.0..=100.0).contains(&adaptive.percentile),
                "from 0 to 100",
            ),
        ])?;
        lora.layers().map(|_| ())
    }

    /// Checks that the other settings fit the policy.
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
        let changes = match policy.schedule() {
            FreezeSchedule::Fixed => "",
            FreezeSchedule::Adaptive => "freezes blocks during the run",
            FreezeSchedule::HeadsFirst(_) | FreezeSchedule::Rotating(..) => {
                "changes what learns during the run"
            }
        };
        if !changes.is_empty() && unfreeze.every > 0 {
            return fail(format!(
                "it {changes}, but `unfreeze.every = {}` unfreezes blocks; choose one of the two",
                unfreeze.every
            ));
        }
        Ok(())
    }

    /// Checks that tasks, heads and the headline fit together.
    fn check_tasks(&self) -> Result<(), PlanError> {
        for (name, task) in &self.tasks {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(is_plain) {
                return Err(task_error(name, "a name has letters, digits, `-` and `_`"));
            }
            if let Some(reason) = task.task_fault().or_else(|| self.shared_head_fault(name, task)) {
                return Err(task_error(name, reason));
            }
        }
        let headline = self.headline();
        if !self.tasks.contains_key(headline) {
            let there: Vec<&str> = self.tasks.keys().map(|name| name.as_str()).collect();
            let known = if there.is_empty() { "none".into() } else { there.join(", ") };
            let reason = format!("it is the headline (`eval.task`), but the tasks are: {known}");
            return Err(task_error(headline, reason));
        }
        if self.train.epochs > 0 && self.tasks.values().all(|task| task.weight == 0.0) {
            let reason = "every task has weight 0, so nothing would be trained; set train.epochs = 0";
            return Err(task_error(headline, reason));
        }
        Ok(())
    }

    /// Returns the reason why a task cannot share the head that it names, if there is one.
    fn shared_head_fault(&self, name: &str, task: &TaskSettings) -> Option<String> {
        let shared = task.shares.as_str();
        if shared.is_empty() {
            return None;
        }
        match self.tasks.get(shared).filter(|_| name != shared) {
            None => Some(format!("it shares the head of `{shared}`, which is not another task")),
            Some(other) if !other.shares.is_empty() => {
                Some(format!("`{shared}` has no head of its own to share"))
            }
            Some(other) if other.unit() != task.unit() => {
                Some(format!("it labels other units than `{shared}`, whose head it shares"))
            }
            Some(_) => None,
        }
    }
}

fn task_error(task: &str, reason: impl Into<String>) -> PlanError {
    PlanError::Task { task: task.into(), reason: reason.into() }
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
        the policy `none+adaptive` is invalid: it freezes blocks during the run, but `unfreeze.every = 1` unfreezes blocks; choose one of the two
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
        there is no policy `frist-4`. The policies are: none, all, first-K, last-K and top-K (K from 1 to the number of blocks, or such as 25%), alternating, blocks-0.2 (any of 0 to the last block), fisher-K, rgn-K, snr-K, probe-K, drift-K and random-K (only the K best blocks learn), head-only, lp-ft (heads first, then everything), lisa-K@N (K blocks at a time, others every N steps); each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, they may by +lora, +dora, +ia3, +adapters, +bitfit or +norms alone, or freeze during the run with +adaptive; each with +mix

        `"frist-4"` does not fit the setting `policy`: there is no policy `frist-4`. The policies are: none, all, first-K, last-K and top-K (K from 1 to the number of blocks, or such as 25%), alternating, blocks-0.2 (any of 0 to the last block), fisher-K, rgn-K, snr-K, probe-K, drift-K and random-K (only the K best blocks learn), head-only, lp-ft (heads first, then everything), lisa-K@N (K blocks at a time, others every N steps); each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, they may by +lora, +dora, +ia3, +adapters, +bitfit or +norms alone, or freeze during the run with +adaptive; each with +mix
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
