//! Settings that were asked for by name, but that no stage or task of a plan would read.

use std::collections::BTreeMap;

use frostline_freeze::{FreezeSchedule, PeftMethod};

use crate::{Mixing, OptimizerKind, Plan, PlanError, Select, Settings};

impl Plan {
    /// Checks that each of these settings is read by a cell: the axes of the grid, and what a command assigned.
    ///
    /// # Errors
    /// If no cell reads a setting; the error names it, the overriding values, and the replacement. A plan whose
    /// cells cannot be made is an error too.
    pub fn check_effect<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Result<(), PlanError> {
        let grid = self.cells()?;
        let variants = || {
            let langs = || grid.langs().iter();
            grid.variants()
                .flat_map(move |one| langs().map(move |lang| Settings { lang: lang.clone(), ..one.clone() }))
        };
        for policy in grid.policies() {
            for (path, _) in grid.own_settings().of_policy(policy) {
                let mut reasons =
                    variants().filter(|one| one.policy == *policy).map(|one| one.why_unread(path));
                let first = reasons.next().flatten();
                if let Some(reason) = first.filter(|_| reasons.all(|reason| reason.is_some())) {
                    return Err(PlanError::NoEffect { path: format!("policies.{policy}.{path}"), reason });
                }
            }
        }
        for path in paths {
            if let Some(reason) = self.reaches_no_cell(path, grid.langs(), grid.policies()) {
                return Err(PlanError::NoEffect { path: path.into(), reason });
            }
            let (mut unread, mut owners, mut is_read) = (None, BTreeMap::new(), false);
            for settings in variants() {
                match (settings.why_unread(path), grid.own_settings().instead_of(path, &settings)) {
                    (Some(reason), _) => unread = Some(reason),
                    (None, Some((name, value))) => drop(owners.insert(name, value)),
                    (None, None) => is_read = true,
                }
            }
            let reason = owners.first_key_value().map(|(first, _)| {
                let each: Vec<String> = owners.iter().map(|(name, value)| format!("`{name}` {value}")).collect();
                let each = each.join(", ");
                format!("its readers have their own values ({each}); change those, as in `--set '{first}.{path}=VALUE'`")
            });
            if let Some(reason) = reason.or(unread).filter(|_| !is_read)
                && !variants().all(|settings| settings.says_the_same(path))
            {
                return Err(PlanError::NoEffect { path: path.into(), reason });
            }
        }
        Ok(())
    }
}

impl Settings {
    /// Why no part of a run with these settings reads the setting at this path.
    fn why_unread(&self, path: &str) -> Option<String> {
        self.overriding_values(path).or_else(|| self.not_needed(path))
    }

    /// Returns the values that override the setting: every stage's own value, or every task's.
    fn overriding_values(&self, path: &str) -> Option<String> {
        let set = self.stages_with(path);
        if !set.is_empty() && set.len() == self.stages.len() {
            let each: Vec<String> = set.iter().map(|(name, value)| format!("`{name}` {value}")).collect();
            let (name, _) = &set[0];
            return Some(format!(
                "every stage has its own value ({}); change a stage's, as in `--set 'stages.{name}.{path}=VALUE'`",
                each.join(", ")
            ));
        }
        if path == "lang" && !self.tasks.is_empty() && self.tasks.values().all(|task| !task.data.is_empty()) {
            let each: Vec<String> =
                self.tasks.iter().map(|(name, task)| format!("`{name}` learns `{}`", task.data)).collect();
            let name = self.headline();
            return Some(format!(
                "every task names its own dataset ({}); change a task's, as in `--set tasks.{name}.data=NAME`",
                each.join(", ")
            ));
        }
        let task = path.strip_prefix("tasks.").and_then(|rest| rest.strip_suffix(".head"))?;
        let shares = &self.tasks.get(task)?.shares;
        (!shares.is_empty()).then(|| {
            format!("the task shares the head of `{shares}`; change that one, as in `--set tasks.{shares}.head=KIND`")
        })
    }

    /// Returns the setting that would have to be enabled first.
    fn not_needed(&self, path: &str) -> Option<String> {
        let part = path.split('.').next().unwrap_or_default();
        let stages = self.in_stages().ok()?;
        let some = |wants: &dyn Fn(&Self) -> bool| stages.iter().any(|(_, stage)| wants(stage));
        let tunes = |method| move |stage: &Self| stage.policy.tuning().methods.contains(&method);
        let (read, needs) = match path {
            "train.temperature" => {
                (some(&|s| s.train.mixing == Mixing::Temperature), "only `train.mixing=temperature` reads it")
            }
            "train.select_by" => (
                some(&|s| s.train.select == Select::Best || s.train.patience > 0),
                "only `train.select=best` and `train.patience` above 0 read it",
            ),
            "optimizer.weight_decay" => {
                (some(&|s| s.optimizer.kind == OptimizerKind::Adamw), "only `optimizer.kind=adamw` reads it")
            }
            "unfreeze.unit" => (some(&|s| s.unfreeze.every > 0), "only `unfreeze.every` above 0 reads it"),
            _ => match part {
                "lora" => (
                    some(&|s| s.policy.tuning().methods.iter().any(|method| method.has_matrices())),
                    "only policies with +lora or +dora read it, as `none+lora`",
                ),
                "adapters" => (
                    some(&tunes(PeftMethod::Adapters)),
                    "only policies with +adapters read it, as `none+adapters`",
                ),
                "adaptive" => (
                    some(&|s| s.policy.schedule() == FreezeSchedule::Adaptive),
                    "only policies with +adaptive read it, as `none+adaptive`",
                ),
                _ => (true, ""),
            },
        };
        (!read).then(|| format!("{needs}; choose that too, or leave this out"))
    }

    /// Returns whether the value at this path equals the overriding value, so that it misleads no reader.
    fn says_the_same(&self, path: &str) -> bool {
        if path == "lang" {
            return self.tasks.get(self.headline()).is_some_and(|task| *task.data == *self.lang);
        }
        let set = self.stages_with(path);
        !set.is_empty()
            && set.iter().all(|(_, value)| self.get(path).is_some_and(|own| are_equal(&own, value)))
    }
}

/// Returns whether two values are equal; 1 and 1.0 are.
fn are_equal(a: &toml::Value, b: &toml::Value) -> bool {
    let number =
        |value: &toml::Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAGED: &str = "[[settings.stages]]\nname = 'head'\npolicy = 'head-only'\ntrain.epochs = 2\n\
                          [[settings.stages]]\nname = 'full'\npolicy = 'none'\ntrain = { epochs = 3, batch = 4 }\n";

    fn parse_plan(text: &str, assignments: &[&str]) -> Plan {
        let text = format!("schema = 4\nname = 'x'\n[treebanks]\nen = 'EN'\npcm = 'PCM'\n{text}");
        let mut plan = Plan::parse(&text, "x.toml").expect("a plan");
        for assignment in assignments {
            plan.assign(assignment).expect(assignment);
        }
        plan
    }

    fn check_plan(text: &str, assignments: &[&str]) -> Result<(), PlanError> {
        let paths = assignments.iter().map(|text| text.split_once('=').expect("an assignment").0);
        parse_plan(text, assignments).check_effect(paths)
    }

    #[test]
    fn what_nothing_reads_is_named_with_what_to_write_instead() {
        let transfer = "[settings.tasks.a]\ndata = 'en'\n[settings.tasks.b]\ndata = 'pcm'\nshares = 'a'\n\
                        [settings.eval]\ntask = 'b'\n";
        let sentences =
            "[settings.tasks.a]\nlabels = 'genre'\n[settings.tasks.b]\nlabels = 'genre'\nshares = 'a'\n";
        let cases: [(&str, &[&str]); 14] = [
            (STAGED, &["train.epochs=1"]),
            (STAGED, &["train.epochs=[1, 5]"]),
            (STAGED, &["policy=[\"none\", \"first-4\"]"]),
            (transfer, &["lang=[\"en\", \"pcm\"]"]),
            (transfer, &["lang=en"]),
            (sentences, &["tasks.b.head=pooler"]),
            ("", &["lora.rank=4"]),
            ("", &["policy=[\"none\", \"first-4+lora\"]", "adapters.size=[8, 16]"]),
            ("", &["adaptive.percentile=20"]),
            ("", &["train.temperature=3"]),
            ("", &["train.select_by=accuracy"]),
            ("", &["optimizer.kind=adam", "optimizer.weight_decay=0.1"]),
            ("", &["unfreeze.unit=steps"]),
            (STAGED, &["stages.full.policy=none+adaptive", "lora.rank=4"]),
        ];
        let error = |(text, assignments): (&str, &[&str])| match check_plan(text, assignments) {
            Err(error @ PlanError::NoEffect { .. }) => error.to_string(),
            other => panic!("{assignments:?}: {other:?}"),
        };
        insta::assert_snapshot!(cases.map(error).join("\n"));
    }

    #[test]
    fn what_a_stage_task_or_policy_reads_passes() {
        let transfer =
            "[settings.tasks.a]\ndata = 'en'\n[settings.tasks.b]\ndata = 'pcm'\n[settings.eval]\ntask='b'\n";
        let cases: [(&str, &[&str]); 9] = [
            (STAGED, &["train.batch=8"]),
            (STAGED, &["stages.head.train.epochs=1", "stages.full.train.batch=[2, 8]"]),
            (STAGED, &["data.first=100", "optimizer.lr=1e-3"]),
            // Both stages have this value: it misleads no reader.
            (STAGED, &["stages.full.train.epochs=2", "train.epochs=2"]),
            (transfer, &["lang=pcm"]),
            ("", &["policy=[\"none\", \"none+lora\"]", "lora.rank=[2, 4]"]),
            ("", &["train.select=best", "train.select_by=accuracy"]),
            ("", &["unfreeze.every=1", "unfreeze.unit=steps"]),
            ("[settings.tasks.upos]\n[settings.tasks.a]\ndata = 'pcm'", &["lang=[\"en\", \"pcm\"]"]),
        ];
        for (text, assignments) in cases {
            check_plan(text, assignments).unwrap_or_else(|error| panic!("{assignments:?}: {error}"));
        }
    }
}
