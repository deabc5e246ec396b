//! How large a plan may be, and that every number of it can be stored.

use crate::check::check_ranges;
use crate::{Plan, PlanError, TimingSettings};

/// The most cells of a plan.
pub const MOST_CELLS: usize = 100_000;

/// The most workers at a time.
pub const MOST_JOBS: usize = 256;

/// The most treebanks that a plan names, stages of a cell, tasks of a cell and claims of a plan.
const MOST_NAMED: usize = 1000;

/// The most MiB that a worker may keep in memory of constant prefixes: 16 TiB.
const MOST_MEMORY_MIB: u64 = 1 << 24;

impl Plan {
    /// Checks the plan's own numbers, and that all in it can be stored and computed with. JSON has no infinite number, so
    /// that a record or `sweep.json` with one could not be read again; training has single precision, in which very
    /// small numbers are 0 and very large ones infinite.
    pub(crate) fn check_limits(&self) -> Result<(), PlanError> {
        let minutes = self.checkpoints.minutes;
        let memory = self.prefix_cache.memory_mib;
        let TimingSettings { within_percent, limit_s, .. } = self.timing;
        let few = |name, count: usize| (name, count as f64, count <= MOST_NAMED, "at most 1000 of them");
        let rules = [
            ("jobs", self.jobs as f64, self.jobs <= MOST_JOBS, "from 0 to 256"),
            ("prefix_cache.memory_mib", memory as f64, memory <= MOST_MEMORY_MIB, "at most 16777216"),
            ("checkpoints.minutes", minutes, (0.0..1e6).contains(&minutes), "in [0, 1000000)"),
            (
                "timing.within_percent",
                within_percent,
                (0.01..=100.0).contains(&within_percent),
                "from 0.01 to 100",
            ),
            ("timing.limit_s", limit_s, (0.0..=1e6).contains(&limit_s), "from 0 to 1000000"),
            few("treebanks", self.treebanks.len()),
            few("claims", self.claims.len()),
            few("settings.stages", self.settings.stages.len()),
            few("settings.tasks", self.settings.tasks.len()),
        ];
        check_ranges(rules.into_iter().chain(self.search.range_rules()))?;
        let all = toml::Value::try_from(self).map_err(|error| PlanError::Syntax {
            path: format!("the plan `{}`", self.name),
            reason: error.to_string(),
        })?;
        match unusable_number("", &all) {
            None => Ok(()),
            Some((path, value)) => {
                Err(PlanError::OutOfRange { path, value, range: "0, or from 1e-30 to 1e30 in size".into() })
            }
        }
    }
}

/// Returns the first number that is infinite, no number, or neither of these only in double precision, with its
/// path.
fn unusable_number(path: &str, value: &toml::Value) -> Option<(String, f64)> {
    let below = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Float(number) if *number != 0.0 && !(1e-30..=1e30).contains(&number.abs()) => {
            Some((path.into(), *number))
        }
        toml::Value::Array(all) => {
            all.iter().enumerate().find_map(|(at, value)| unusable_number(&format!("{path}[{at}]"), value))
        }
        toml::Value::Table(all) => all.iter().find_map(|(key, value)| unusable_number(&below(key), value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range_error(text: &str) -> String {
        let text = format!("schema = 4\nname = 'x'\n{text}\n[treebanks]\nen = 'EN'");
        let plan = Plan::parse(&text, "x.toml");
        plan.and_then(|plan| plan.cells().map(|_| ())).expect_err(&text).to_string()
    }

    #[test]
    fn numbers_that_no_record_can_hold_or_that_training_cannot_use_are_refused() {
        let settings = [
            "optimizer.lr",
            "optimizer.beta1",
            "optimizer.beta2",
            "optimizer.eps",
            "optimizer.weight_decay",
            "optimizer.layer_decay",
            "optimizer.head_factor",
            "optimizer.clip_norm",
            "train.temperature",
            "data.fraction",
            "data.cut_test",
            "data.cut_dev",
            "data.train_from_dev",
            "schedule.warmup",
            "dropout.head",
            "lora.alpha",
            "adaptive.percentile",
            "tasks.upos.weight",
        ];
        for number in ["inf", "-inf", "nan", "1e-320", "1e-40", "1e40", "1e308"] {
            for setting in settings {
                range_error(&format!("settings.{setting} = {number}"));
                range_error(&format!("grid.'{setting}' = [{number}]"));
                range_error(&format!("[[settings.stages]]\n'{setting}' = {number}"));
            }
            range_error(&format!("checkpoints.minutes = {number}"));
        }
    }

    #[test]
    fn a_message_about_a_long_line_is_short() {
        let text = format!("schema = 4\nname = '{}'\nnamed = 1", "x".repeat(1 << 20));
        let syntax = Plan::parse(&text, "x.toml").expect_err("no such key").to_string();
        let value = Plan::parse(&text.replace("'\nnamed = 1", ""), "x.toml").expect_err("no end").to_string();
        for error in [syntax, value] {
            assert!(error.len() < 2000 && error.contains("line "), "{} bytes", error.len());
        }
    }

    #[test]
    fn a_plan_has_limits() {
        let errors = [
            "jobs = 1000000000",
            "prefix_cache.memory_mib = 9223372036854775807",
            "checkpoints.minutes = -1",
            "checkpoints.minutes = inf",
            "timing.within_percent = 0",
            "timing.limit_s = nan",
            "settings.optimizer.eps = inf",
            "grid.'optimizer.clip_norm' = [1.0, inf]",
            "[[settings.stages]]\noptimizer.weight_decay = nan",
            "settings.lora.rank = 10000000000",
            "settings.adapters.size = 10000000000",
            "settings.train.batch = 10000000000",
            "settings.eval.batch_tokens = 9223372036854775807",
            "settings.data.max_length = 9223372036854775807",
        ]
        .map(range_error);
        insta::assert_snapshot!(errors.join("\n"));
    }
}
