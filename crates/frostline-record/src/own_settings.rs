//! Settings of single policies and languages that are trained differently from the rest.

use std::collections::BTreeMap;

use frostline_freeze::Policy;
use toml::Value;

use crate::paths::values_by_path;
use crate::search::{may_come, stands_for_sets};
use crate::{FileName, Plan, PlanError, Settings, Stage};

/// Dotted paths of settings with values.
type PathValues = Vec<(String, Value)>;

/// Settings of single policies and languages that replace the plan's settings, each of which fits.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnSettings {
    policies: Vec<(Policy, PathValues)>,
    langs: Vec<(FileName, PathValues)>,
}

impl OwnSettings {
    pub(crate) fn of_policy(&self, policy: &Policy) -> &[(String, Value)] {
        self.policies.iter().find(|(named, _)| named == policy).map_or(&[], |(_, own)| own)
    }

    fn of_lang(&self, lang: &FileName) -> &[(String, Value)] {
        self.langs.iter().find(|(named, _)| named == lang).map_or(&[], |(_, own)| own)
    }

    /// Returns an error in these settings, with whose own settings they hold.
    pub(crate) fn blame_own_settings(&self, settings: &Settings, error: PlanError) -> PlanError {
        let (policy, lang) = (&settings.policy, &settings.lang);
        if !self.of_policy(policy).is_empty() {
            return OwnedBy::Policies.own_settings_error(policy.as_str(), error.to_string());
        }
        if self.of_lang(lang).is_empty() {
            error
        } else {
            OwnedBy::Langs.own_settings_error(lang, error.to_string())
        }
    }

    /// Returns the policy or language whose own value these settings contain at a path, with the value.
    pub(crate) fn instead_of(&self, path: &str, settings: &Settings) -> Option<(String, Value)> {
        let (policy, lang) = (&settings.policy, &settings.lang);
        let in_policy = self.of_policy(policy).iter().map(|change| (format!("policies.{policy}"), change));
        let in_lang = self.of_lang(lang).iter().map(|change| (format!("langs.{lang}"), change));
        let found = in_policy.chain(in_lang).find(|(_, (known, _))| known == path);
        found.map(|(name, (_, value))| (name, value.clone()))
    }

    /// Returns settings with the values of their policy and their language.
    pub(crate) fn put_into(&self, mut settings: Settings) -> Settings {
        let (policy, lang) = (settings.policy.clone(), settings.lang.clone());
        for (path, value) in self.of_policy(&policy).iter().chain(self.of_lang(&lang)) {
            settings.set(path, value.clone()).expect("a value that was set before");
        }
        settings
    }
}

/// Which table of a plan.
#[derive(Clone, Copy, PartialEq)]
enum OwnedBy {
    Policies,
    Langs,
}

impl OwnedBy {
    fn table_name(self) -> &'static str {
        match self {
            Self::Policies => "policies",
            Self::Langs => "langs",
        }
    }

    /// Returns the sections that may be changed: for a policy the training, for a language the data.
    fn changeable_sections(self) -> &'static [&'static str] {
        match self {
            Self::Policies => {
                &["unfreeze", "adaptive", "lora", "adapters", "train", "optimizer", "schedule", "dropout"]
            }
            Self::Langs => &["data"],
        }
    }

    fn may_change(self, path: &str) -> bool {
        path.split_once('.').is_some_and(|(first, _)| self.changeable_sections().contains(&first))
    }

    /// Returns the name and the setting in `NAME.SETTING`. Names of policies may contain dots.
    fn split(self, rest: &str) -> Option<(&str, &str)> {
        let splits = rest.match_indices('.').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
        let can_be = |name: &str| self == Self::Langs || name.parse::<Policy>().is_ok();
        splits.into_iter().find(|(name, inner)| can_be(name) && self.may_change(inner))
    }

    fn own_settings_error(self, name: &str, reason: impl Into<String>) -> PlanError {
        PlanError::OwnSetting { place: format!("{}.{name}", self.table_name()), reason: reason.into() }
    }
}

impl Plan {
    /// Returns the settings of a policy that replace the plan's: dotted paths with values.
    #[must_use]
    pub fn own_of_policy(&self, policy: &Policy) -> Vec<(String, Value)> {
        self.policies.get(policy.as_str()).map_or_else(Vec::new, values_by_path)
    }

    /// Returns the settings of a language that replace the plan's: dotted paths with values.
    #[must_use]
    pub fn own_of_lang(&self, lang: &FileName) -> Vec<(String, Value)> {
        self.langs.get(lang).map_or_else(Vec::new, values_by_path)
    }

    /// Returns all own settings: `policies.NAME` or `langs.NAME`, the dotted path and the value.
    pub fn own_settings(&self) -> impl Iterator<Item = (String, String, Value)> + '_ {
        let policies = self.policies.iter().map(|(name, own)| (format!("policies.{name}"), own));
        let langs = self.langs.iter().map(|(name, own)| (format!("langs.{name}"), own));
        policies.chain(langs).flat_map(|(name, own)| {
            values_by_path(own).into_iter().map(move |(path, value)| (name.clone(), path, value))
        })
    }

    /// Returns all settings of single policies and languages, each of which fits.
    pub(crate) fn checked_own(&self) -> Result<OwnSettings, PlanError> {
        let policies = self.policies.iter().map(|(name, own)| {
            let policy: Policy = name
                .parse()
                .map_err(|error| OwnedBy::Policies.own_settings_error(name, format!("{error}")))?;
            if stands_for_sets(name) {
                let reason = "it means many policies; name one of them, such as `blocks-0.2`";
                return Err(OwnedBy::Policies.own_settings_error(name, reason));
            }
            let settings = Settings { policy: policy.clone(), ..self.settings.clone() };
            Ok((policy, self.check_changes(OwnedBy::Policies, name, own, settings)?))
        });
        let langs = self.langs.iter().map(|(lang, own)| {
            let settings = Settings { lang: lang.clone(), ..self.settings.clone() };
            Ok((lang.clone(), self.check_changes(OwnedBy::Langs, lang, own, settings)?))
        });
        Ok(OwnSettings {
            policies: policies.collect::<Result<_, _>>()?,
            langs: langs.collect::<Result<_, _>>()?,
        })
    }

    fn check_changes(
        &self,
        of: OwnedBy,
        name: &str,
        own: &Stage,
        mut settings: Settings,
    ) -> Result<PathValues, PlanError> {
        let own = values_by_path(own);
        for (path, value) in &own {
            if path == "train.precision" {
                return Err(of.own_settings_error(name, "all cells that are compared have one precision"));
            }
            if !of.may_change(path) {
                let changed = of.changeable_sections().join(", ");
                return Err(of.own_settings_error(
                    name,
                    format!("it cannot change `{path}`; it can change settings of {changed}"),
                ));
            }
            if self.grid.contains_key(path) {
                let reason = format!("`{path}` is an axis of the grid too; leave one of them out");
                return Err(of.own_settings_error(name, reason));
            }
            settings
                .set(path, value.clone())
                .map_err(|error| of.own_settings_error(name, error.to_string()))?;
        }
        Ok(own)
    }

    /// Checks that policies and languages with their own settings occur in the plan's grid.
    pub(crate) fn check_own_are_compared(&self) -> Result<(), PlanError> {
        let axis = |axis: &str, usual: &str| match self.grid.get(axis) {
            Some(values) => values.iter().filter_map(Value::as_str).map(String::from).collect(),
            None => vec![usual.to_string()],
        };
        let (policies, langs) =
            (axis("policy", self.settings.policy.as_str()), axis("lang", &self.settings.lang));
        let check = |of: OwnedBy, name: &str, all: &[String]| {
            let known =
                all.iter().any(|other| other == name) || of == OwnedBy::Policies && may_come(name, all);
            let all = all.join(", ");
            if known {
                Ok(())
            } else {
                Err(of.own_settings_error(name, format!("the plan does not have it, only {all}")))
            }
        };
        let well_formed = self.policies.keys().filter(|name| name.parse::<Policy>().is_ok());
        well_formed.into_iter().try_for_each(|name| check(OwnedBy::Policies, name, &policies))?;
        self.langs.keys().try_for_each(|name| check(OwnedBy::Langs, name, &langs))
    }

    /// Sets a setting of one policy or language, at `policies.NAME.PATH` or `langs.NAME.PATH`; returns `None`
    /// if the path begins otherwise. Names of policies may contain dots.
    pub(crate) fn set_own(&mut self, path: &str, value: &Value) -> Option<Result<(), PlanError>> {
        let (of, rest) = in_table(path)?;
        let Some((name, inner)) = of.split(rest) else {
            let (table, changed) = (of.table_name(), of.changeable_sections().join(", "));
            let reason = format!("write `{table}.NAME.SETTING=VALUE`, with a setting of {changed}");
            return Some(Err(of.own_settings_error(rest, reason)));
        };
        let own = match of {
            OwnedBy::Policies => self.policies.entry(name.to_string()).or_default(),
            OwnedBy::Langs => match name.parse::<FileName>() {
                Ok(name) => self.langs.entry(name).or_default(),
                Err(error) => return Some(Err(of.own_settings_error(name, error.to_string()))),
            },
        };
        if value.is_array() {
            let reason = "it has one value; make the setting an axis for all, or run a sweep for each value";
            return Some(Err(of.own_settings_error(&format!("{name}.{inner}"), reason)));
        }
        let mut all = values_by_path(&*own);
        all.retain(|(known, _)| known != inner);
        all.push((inner.into(), value.clone()));
        *own = all.into_iter().collect();
        Some(Ok(()))
    }

    /// Gives up all own values of a setting that becomes an axis.
    pub(crate) fn drop_own(&mut self, path: &str) {
        remove_path(&mut self.policies, path);
        remove_path(&mut self.langs, path);
    }

    /// Why a value that was set for one policy or language reaches no cell; none if it does, or was not set for one.
    pub(crate) fn reaches_no_cell(
        &self,
        path: &str,
        langs: &[FileName],
        policies: &[Policy],
    ) -> Option<String> {
        let (of, rest) = in_table(path)?;
        let all: Vec<String> = match of {
            OwnedBy::Policies => policies.iter().map(ToString::to_string).collect(),
            OwnedBy::Langs => langs.iter().map(ToString::to_string).collect(),
        };
        let (name, inner) = of.split(rest)?;
        if !(all.iter().any(|other| other == name) || of == OwnedBy::Policies && may_come(name, &all)) {
            return Some(format!("the sweep does not have it, only {}", all.join(", ")));
        }
        let own = match of {
            OwnedBy::Policies => self.policies.get(name).map(values_by_path),
            OwnedBy::Langs => {
                self.langs.iter().find(|(lang, _)| lang.as_str() == name).map(|(_, own)| values_by_path(own))
            }
        };
        let kept = own.is_some_and(|own| own.iter().any(|(known, _)| known == inner));
        (!kept).then(|| format!("`{inner}` was made an axis after it; leave one of them out"))
    }
}

/// Returns the table of single policies or languages that contains a path, and the rest of the path.
fn in_table(path: &str) -> Option<(OwnedBy, &str)> {
    let mut tables = [OwnedBy::Policies, OwnedBy::Langs].into_iter();
    tables.find_map(|of| Some((of, path.strip_prefix(of.table_name())?.strip_prefix('.')?)))
}

fn remove_path<K: Ord>(tables: &mut BTreeMap<K, Stage>, path: &str) {
    for own in tables.values_mut() {
        *own = values_by_path(&*own).into_iter().filter(|(known, _)| known != path).collect();
    }
    tables.retain(|_, own| !own.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "schema = 4\nname = 'x'\n[treebanks]\nen = 'EN'\nid = 'ID'\n\
                        [grid]\npolicy = ['none', 'none+lora', 'blocks-0.2']\nseed = [1, 2]\nlang = ['en', 'id']\n";

    fn parse_plan(own: &str) -> Plan {
        Plan::parse(&format!("{PLAN}{own}"), "x.toml").expect(own)
    }

    fn rates_by_policy(plan: &Plan) -> Vec<(String, f64, usize)> {
        let cells = plan.expand().expect("cells");
        cells.iter().take(3).map(|s| (s.policy.to_string(), s.optimizer.lr, s.lora.rank)).collect()
    }

    #[test]
    fn a_policy_has_its_own_values_in_every_cell_of_it() {
        let mut plan = parse_plan("[policies.'none+lora']\noptimizer.lr = 1e-2\nlora = { rank = 4 }");
        let cells = |none, lora, blocks| {
            [("none".into(), none, 8), ("none+lora".into(), lora, 4), ("blocks-0.2".into(), blocks, 8)]
        };
        assert_eq!(rates_by_policy(&plan), cells(5e-5, 1e-2, 5e-5));
        assert_eq!(plan.expand().expect("cells")[10].optimizer.lr, 1e-2);
        plan.assign("optimizer.lr=1e-4").expect("all others'");
        plan.assign("policies.blocks-0.2.optimizer.lr=1e-3").expect("a name with a dot");
        plan.assign("policies.none+lora.optimizer.lr=2e-2").expect("one that is there");
        assert_eq!(rates_by_policy(&plan), cells(1e-4, 2e-2, 1e-3));
        plan.assign("optimizer.lr=[1e-5, 2e-5]").expect("an axis for all");
        assert_eq!(plan.cells().expect("cells").len(), 24);
        assert_eq!(plan.policies.len(), 1, "the rank stays");
    }

    #[test]
    fn a_language_has_its_own_data() {
        let mut plan = parse_plan("[langs.id]\ndata.cut_dev = 0.1");
        let cut = |plan: &Plan| {
            let grid = plan.cells().expect("cells");
            let files: Vec<f64> = grid.of_langs().map(|settings| settings.data.cut_dev).collect();
            let cells: Vec<f64> = grid.iter().map(|settings| settings.data.cut_dev).collect();
            assert_eq!(cells.len(), 12);
            (files, cells[..6].to_vec())
        };
        assert_eq!(cut(&plan), (vec![0.0, 0.1], vec![0.0, 0.0, 0.0, 0.1, 0.1, 0.1]));
        plan.assign("langs.en.data.cut_dev=0.2").expect("another's");
        assert_eq!(cut(&plan).0, [0.2, 0.1]);
    }

    #[test]
    fn sets_of_blocks_that_are_still_to_come_may_have_their_own() {
        let text = "schema = 4\nname = 'x'\n[treebanks]\nen = 'EN'\n[grid]\npolicy = ['subsets']\n";
        let plan = |own: &str| {
            Plan::parse(&format!("{text}{own}"), "x.toml").and_then(|plan| plan.cells().map(|_| plan))
        };
        let mut whole = plan("[policies.'blocks-0.2']\noptimizer.lr = 1").expect("one of them");
        whole.assign("policies.blocks-1.optimizer.lr=1e-3").expect("another");
        whole.check_effect(["policies.blocks-1.optimizer.lr"]).expect("it may come");
        let errors = ["head-only", "subsets"]
            .map(|name| plan(&format!("[policies.{name}]\noptimizer.lr = 1")).expect_err(name).to_string());
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let errors = [
            "[policies.'none+lora']\ndata.first = 1",
            "[policies.'none+lora']\nseed = 1",
            "[policies.'none+lora']\noptimizer.rate = 1",
            "[policies.'none+lora']\noptimizer.lr = -1",
            "[policies.nothing]\noptimizer.lr = 1",
            "[policies.none]\ntrain.precision = 'bf16'",
            "[langs.id]\ndata.draw = 3",
            "[policies.first-2]\noptimizer.lr = 1",
            "'optimizer.lr' = [1, 2]\n[policies.none]\noptimizer.lr = 1",
            "[policies.none]\nlora.rank = 4",
            "[langs.de]\ndata.cut_dev = 0.1",
            "[langs.id]\noptimizer.lr = 1",
            "[langs.id]\ndata.cut_dev = 2",
        ]
        .map(|own| {
            let plan = Plan::parse(&format!("{PLAN}{own}"), "x.toml");
            plan.and_then(|plan| plan.check_effect([])).expect_err(own).to_string()
        });
        let mut plan = parse_plan("");
        let set = ["policies.none", "policies.none.seed", "policies.nothing.optimizer.lr", "langs.id"]
            .map(|path| plan.assign(&format!("{path}=1")).expect_err(path).to_string());
        insta::assert_snapshot!(format!("{}\n{}", errors.join("\n"), set.join("\n")));
    }

    #[test]
    fn what_is_set_must_reach_a_cell() {
        let error = |own: &str, set: &str| {
            let mut plan = parse_plan(own);
            plan.assign(set).expect(set);
            let path = set.split('=').next().unwrap_or_default();
            plan.check_effect([path]).expect_err(set).to_string()
        };
        let all =
            "[policies]\nnone.optimizer.lr = 1\n'none+lora'.optimizer.lr = 2\n'blocks-0.2'.optimizer.lr = 3";
        let errors = [
            error(all, "optimizer.lr=1e-3"),
            error("[langs]\nen.data.first = 2\nid.data.first = 3", "data.first=100"),
            error("", "policies.first-1.optimizer.lr=1e-3"),
            error("", "policies.none.lora.rank=2"),
            error("", "langs.de.data.first=2"),
        ];
        let mut twice = parse_plan("");
        for set in ["policies.none.optimizer.lr=1e-2", "optimizer.lr=[1e-5, 5e-5]"] {
            twice.assign(set).expect(set);
        }
        let lost = twice.check_effect(["policies.none.optimizer.lr"]).expect_err("an axis").to_string();
        let several =
            parse_plan("").assign("policies.none.optimizer.lr=[1, 2]").expect_err("a list").to_string();
        let errors = errors.into_iter().chain([lost, several]).collect::<Vec<_>>();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
