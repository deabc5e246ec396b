//! Stages: parts of a run that continue one another, each with the settings it changes.

use crate::paths::values_by_path;
use crate::{FileName, NameError, PlanError, Settings, Stage};

/// The sections that a stage may change: the training, not the data.
const CHANGEABLE: [&str; 7] = ["policy", "unfreeze", "adaptive", "train", "optimizer", "schedule", "dropout"];

impl Settings {
    /// Returns the settings of each stage with its name, in order; of the run itself, as `train`, if there are
    /// no stages.
    ///
    /// # Errors
    /// If a stage changes a setting that it must not change or that does not exist, or has a value out of
    /// range.
    pub fn in_stages(&self) -> Result<Vec<(FileName, Self)>, PlanError> {
        let base = Self { stages: Vec::new(), ..self.clone() };
        if self.stages.is_empty() {
            if self.save.stages {
                return Err(PlanError::NoStages);
            }
            base.check()?;
            return Ok(vec![("train".parse().expect("a name"), base)]);
        }
        let mut all: Vec<(FileName, Self)> = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let mut settings = base.clone();
            let mut name = format!("stage {}", number + 1);
            for (path, value) in flatten_paths(stage) {
                if path == "name" {
                    name = value.as_str().map_or_else(|| value.to_string(), String::from);
                } else {
                    settings.change_setting(&name, &path, value)?;
                }
            }
            let name: FileName = name.parse().map_err(|error: NameError| PlanError::Stage {
                stage: format!("number {}", number + 1),
                reason: error.to_string(),
            })?;
            if all.iter().any(|(known, _)| *known == name) {
                let reason = "two stages have this name".into();
                return Err(PlanError::Stage { stage: name.into(), reason });
            }
            settings.check()?;
            all.push((name, settings));
        }
        Ok(all)
    }

    /// Returns the stages that have their own value of the setting at this path: name and value.
    #[must_use]
    pub fn stages_with(&self, path: &str) -> Vec<(String, toml::Value)> {
        let named = self.stages.iter().enumerate().map(|(at, stage)| (name_of(at, stage), stage));
        named.filter_map(|(name, stage)| value_in(stage, path).map(|value| (name, value))).collect()
    }

    /// Returns the stage whose name begins this path, and the rest of the path. Names may contain dots.
    fn stage_at<'a>(&self, rest: &'a str) -> Option<(usize, &'a str)> {
        let names = self.stages.iter().enumerate().map(|(at, stage)| (at, name_of(at, stage)));
        let fits = |(at, name): (usize, String)| Some((at, rest.strip_prefix(&*name)?.strip_prefix('.')?));
        names.filter_map(fits).min_by_key(|(_, rest)| rest.len())
    }

    /// Returns the value that a stage has at `NAME.PATH`.
    pub(crate) fn get_in_stage(&self, rest: &str) -> Option<toml::Value> {
        let (at, path) = self.stage_at(rest)?;
        value_in(&self.stages[at], path)
    }

    /// Sets a change of one stage, at `NAME.PATH`.
    pub(crate) fn set_in_stage(
        &mut self,
        path: &str,
        rest: &str,
        value: toml::Value,
    ) -> Result<(), PlanError> {
        let Some((at, inner)) = self.stage_at(rest) else {
            let names: Vec<String> = self
                .stages
                .iter()
                .enumerate()
                .map(|(at, stage)| format!("`{}`", name_of(at, stage)))
                .collect();
            let known = match &names[..] {
                [] => "the plan has no stages".into(),
                names => format!("there are {}; write `stages.NAME.SETTING=VALUE`", names.join(", ")),
            };
            let name = rest.split('.').next().unwrap_or_default().into();
            return Err(PlanError::UnknownStage { path: path.into(), name, known });
        };
        let name = name_of(at, &self.stages[at]);
        self.clone().change_setting(&name, inner, value.clone())?;
        let mut leaves = flatten_paths(&self.stages[at]);
        leaves.retain(|(known, _)| known != inner && !known.starts_with(&format!("{inner}.")));
        leaves.push((inner.into(), value));
        self.stages[at] = leaves.into_iter().collect();
        Ok(())
    }

    fn change_setting(&mut self, stage: &str, path: &str, value: toml::Value) -> Result<(), PlanError> {
        let first = path.split('.').next().unwrap_or_default();
        let weight = first == "tasks" && path.ends_with(".weight");
        let same_for_all = ["train.precision"].contains(&path);
        if same_for_all || !(weight || CHANGEABLE.contains(&first)) {
            let reason = format!(
                "it cannot change `{path}`; a stage has a name and changes {} or tasks.NAME.weight",
                CHANGEABLE.join(", ")
            );
            return Err(PlanError::Stage { stage: stage.into(), reason });
        }
        self.set(path, value)
    }
}

/// Returns a stage's name; without one, its number.
fn name_of(at: usize, stage: &Stage) -> String {
    match stage.get("name").and_then(toml::Value::as_str) {
        Some(name) => name.into(),
        None => format!("stage {}", at + 1),
    }
}

/// Returns the value that a stage has at this path.
fn value_in(stage: &Stage, path: &str) -> Option<toml::Value> {
    flatten_paths(stage).into_iter().find(|(known, _)| known == path).map(|(_, value)| value)
}

/// Returns nested tables as dotted paths, with the name first, so that errors can include it.
fn flatten_paths(stage: &Stage) -> Vec<(String, toml::Value)> {
    let mut out = values_by_path(stage);
    out.sort_by_key(|(path, _)| path != "name");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_settings(text: &str) -> Settings {
        toml::from_str(text).expect("settings")
    }

    #[test]
    fn a_run_without_stages_is_one() {
        let stages = Settings::default().in_stages().expect("one stage");
        assert_eq!(stages, [("train".parse().expect("a name"), Settings::default())]);
    }

    #[test]
    fn stages_change_what_they_name() {
        let settings = parse_settings(
            "policy = 'none'\n[[stages]]\nname = 'head'\npolicy = 'head-only'\ntrain.epochs = 2\noptimizer.lr = 5e-4\n\
             [[stages]]\n'optimizer.lr' = 2e-5\ntasks.upos.weight = 2",
        );
        let stages = settings.in_stages().expect("two stages");
        let shown: Vec<_> = stages
            .iter()
            .map(|(name, s)| {
                (name.as_str(), s.policy.as_str(), s.train.epochs, s.optimizer.lr, s.tasks["upos"].weight)
            })
            .collect();
        assert_eq!(shown, [("head", "head-only", 2, 5e-4, 1.0), ("stage 2", "none", 5, 2e-5, 2.0)]);
    }

    #[test]
    fn one_stage_is_changed_by_its_name() {
        let text = "[[stages]]\nname = 'head'\ntrain = { epochs = 2, batch = 4 }\n[[stages]]\nname = 'head.2'\n\
                    train.epochs = 3\n[[stages]]\npolicy = 'none'";
        let mut settings = parse_settings(text);
        settings.set("stages.head.train.epochs", 7.into()).expect("a stage");
        settings.set("stages.head.2.optimizer.lr", 1.into()).expect("a name with a dot");
        settings.set("stages.stage 3.policy", "first-2".into()).expect("a stage without a name");
        let stages = settings.in_stages().expect("stages");
        let shown: Vec<_> = stages
            .iter()
            .map(|(_, s)| (s.train.epochs, s.train.batch, s.optimizer.lr, s.policy.as_str()))
            .collect();
        assert_eq!(shown, [(7, 4, 5e-5, "none"), (3, 16, 1.0, "none"), (5, 16, 5e-5, "first-2")]);
        assert_eq!(settings.get("stages.head.train.epochs"), Some(7.into()));
        assert_eq!(settings.get("stages.head.optimizer.lr"), None);
        assert_eq!(settings.get("train.epochs"), Some(5.into()));
        let errors = [
            "stages.tail.train.epochs",
            "stages.0.train.epochs",
            "stages.head.data.first",
            "stages.head.train.epoch",
        ]
        .map(|path| settings.set(path, 1.into()).expect_err(path).to_string());
        let none = Settings::default().set("stages.head.train.epochs", 1.into()).expect_err("no stages");
        insta::assert_snapshot!(format!("{}\n{none}", errors.join("\n")));
    }

    #[test]
    fn a_stage_cannot_change_what_is_learned_from() {
        let error = |text: &&str| parse_settings(text).in_stages().expect_err(text).to_string();
        let errors = [
            "[[stages]]\nname = 'x'\nseed = 3",
            "[[stages]]\ndata.first = 3",
            "[[stages]]\noptimizer.rate = 3",
            "[[stages]]\noptimizer.lr = -1",
            "[[stages]]\nname='a'\n[[stages]]\nname='a'",
        ];
        insta::assert_snapshot!(errors.iter().map(error).collect::<Vec<_>>().join("\n"));
    }
}
