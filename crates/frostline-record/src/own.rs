//! Settings of single policies, where one is to be trained otherwise than the rest.

use frostline_freeze::Policy;

use crate::paths::leaves;
use crate::{Plan, PlanError, Settings};

/// What a policy may have of its own: how the model learns, not what it learns from.
const CHANGEABLE: [&str; 8] =
    ["unfreeze", "adaptive", "lora", "adapters", "train", "optimizer", "schedule", "dropout"];

/// A policy with the dotted paths and the values of its own settings.
pub(crate) type Own = (Policy, Vec<(String, toml::Value)>);

impl Plan {
    /// The settings that a policy has instead of the plan's: dotted paths with values.
    #[must_use]
    pub fn own_settings(&self, policy: &Policy) -> Vec<(String, toml::Value)> {
        let named =
            self.policies.iter().find(|(name, _)| name.parse().is_ok_and(|named: Policy| named == *policy));
        named.map_or_else(Vec::new, |(_, own)| leaves(own))
    }

    /// All policies' own settings, each of which fits.
    pub(crate) fn checked_own(&self) -> Result<Vec<Own>, PlanError> {
        let check = |(name, own): (&String, _)| {
            let fault = |reason| PlanError::OwnSetting { policy: name.clone(), reason };
            let policy: Policy = name.parse().map_err(|error| fault(format!("{error}")))?;
            let mut settings = Settings { policy: policy.clone(), ..self.settings.clone() };
            let own = leaves(own);
            for (path, value) in &own {
                if !is_changeable(path) {
                    let changed = CHANGEABLE.join(", ");
                    return Err(fault(format!(
                        "a policy has no `{path}` of its own, only settings of {changed}"
                    )));
                }
                if self.grid.contains_key(path) {
                    return Err(fault(format!("`{path}` is an axis of the grid too; leave one of them out")));
                }
                settings.set(path, value.clone()).map_err(|error| fault(error.to_string()))?;
            }
            settings.in_stages().map_err(|error| fault(error.to_string()))?;
            Ok((policy, own))
        };
        self.policies.iter().map(check).collect()
    }

    /// Checks that each policy which has settings of its own is among those that the plan compares.
    pub(crate) fn check_own_are_compared(&self) -> Result<(), PlanError> {
        let Some(values) = self.grid.get("policy") else {
            return self
                .policies
                .keys()
                .try_for_each(|name| compared(name, std::iter::once(self.settings.policy.as_str())));
        };
        let names = || values.iter().filter_map(toml::Value::as_str);
        if names().any(|name| [Policy::SUBSETS, Policy::GREEDY].contains(&name)) {
            return Ok(());
        }
        self.policies.keys().try_for_each(|name| compared(name, names()))
    }

    /// Sets what one policy has of its own, at `POLICY.PATH`. Names of policies may contain dots.
    pub(crate) fn set_own(&mut self, path: &str, value: toml::Value) -> Result<(), PlanError> {
        let splits = path.match_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]));
        let Some((policy, inner)) =
            splits.into_iter().find(|(name, inner)| name.parse::<Policy>().is_ok() && is_changeable(inner))
        else {
            return Err(PlanError::OwnSetting {
                policy: path.into(),
                reason: format!(
                    "write `policies.POLICY.SETTING=VALUE`, with a setting of {}",
                    CHANGEABLE.join(", ")
                ),
            });
        };
        let named = self.policies.keys().find(|name| name.parse::<Policy>().ok() == policy.parse().ok());
        let own = self.policies.entry(named.map_or(policy, |name| name).to_string()).or_default();
        let mut leaves = leaves(&*own);
        leaves.retain(|(known, _)| known != inner);
        leaves.push((inner.into(), value));
        *own = leaves.into_iter().collect();
        Ok(())
    }

    /// Gives up every policy's own value of a setting that becomes an axis.
    pub(crate) fn drop_own(&mut self, path: &str) {
        for own in self.policies.values_mut() {
            *own = leaves(&*own).into_iter().filter(|(known, _)| known != path).collect();
        }
        self.policies.retain(|_, own| !own.is_empty());
    }
}

fn is_changeable(path: &str) -> bool {
    path.split_once('.').is_some_and(|(first, _)| CHANGEABLE.contains(&first))
}

fn compared<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Result<(), PlanError> {
    let all: Vec<&str> = all.collect();
    let wanted = name.parse::<Policy>();
    if wanted.is_err()
        || all.iter().any(|other| other.parse::<Policy>().ok() == wanted.as_ref().ok().cloned())
    {
        return Ok(());
    }
    let reason = format!("the plan does not compare it, but {}", all.join(", "));
    Err(PlanError::OwnSetting { policy: name.into(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "schema = 4\nname = 'x'\n[treebanks]\nen = 'EN'\n\
                        [grid]\npolicy = ['none', 'none+lora', 'blocks-0.2']\nseed = [1, 2]\n";

    fn plan(own: &str) -> Plan {
        Plan::parse(&format!("{PLAN}{own}"), "x.toml").expect(own)
    }

    fn rates(plan: &Plan) -> Vec<(String, f64, usize)> {
        let cells = plan.expand().expect("cells");
        cells.iter().take(3).map(|s| (s.policy.to_string(), s.optimizer.lr, s.lora.rank)).collect()
    }

    #[test]
    fn a_policy_has_its_own_values_in_every_cell_of_it() {
        let mut plan = plan("[policies.'none+lora']\noptimizer.lr = 1e-2\nlora = { rank = 4 }");
        let cells = |none, lora, blocks| {
            [("none".into(), none, 8), ("none+lora".into(), lora, 4), ("blocks-0.2".into(), blocks, 8)]
        };
        assert_eq!(rates(&plan), cells(5e-5, 1e-2, 5e-5));
        assert_eq!(plan.expand().expect("cells")[4].optimizer.lr, 1e-2);
        plan.assign("optimizer.lr=1e-4").expect("all others'");
        plan.assign("policies.blocks-0.2.optimizer.lr=1e-3").expect("a name with a dot");
        plan.assign("policies.none+lora.optimizer.lr=2e-2").expect("one that is there");
        assert_eq!(rates(&plan), cells(1e-4, 2e-2, 1e-3));
        plan.assign("optimizer.lr=[1e-5, 2e-5]").expect("an axis for all");
        assert_eq!(plan.cells().expect("cells").len(), 12);
        assert_eq!(plan.policies.len(), 1, "the rank stays");
    }

    #[test]
    fn what_cannot_be_is_named() {
        let errors = [
            "[policies.'none+lora']\ndata.first = 1",
            "[policies.'none+lora']\nseed = 1",
            "[policies.'none+lora']\noptimizer.rate = 1",
            "[policies.'none+lora']\noptimizer.lr = -1",
            "[policies.nothing]\noptimizer.lr = 1",
            "[policies.first-2]\noptimizer.lr = 1",
            "'optimizer.lr' = [1, 2]\n[policies.none]\noptimizer.lr = 1",
            "[policies.none]\nlora.rank = 4",
        ]
        .map(|own| {
            let plan = Plan::parse(&format!("{PLAN}{own}"), "x.toml");
            plan.and_then(|plan| plan.check_effect([])).expect_err(own).to_string()
        });
        let mut plan = plan("");
        let text = ["policies.none", "policies.none.seed", "policies.nothing.optimizer.lr"]
            .map(|path| plan.assign(&format!("{path}=1")).expect_err(path).to_string());
        insta::assert_snapshot!(format!("{}\n{}", errors.join("\n"), text.join("\n")));
    }

    #[test]
    fn what_is_set_must_reach_a_policy() {
        let error = |own: &str, set: &str| {
            let mut plan = plan(own);
            plan.assign(set).expect(set);
            let path = set.split('=').next().unwrap_or_default();
            plan.check_effect([path]).expect_err(set).to_string()
        };
        let all =
            "[policies]\nnone.optimizer.lr = 1\nnone+lora.optimizer.lr = 2\n'blocks-0.2'.optimizer.lr = 3"
                .replace("none+lora", "'none+lora'");
        insta::assert_snapshot!(
            [
                error(&all, "optimizer.lr=1e-3"),
                error("", "policies.first-1.optimizer.lr=1e-3"),
                error("", "policies.none.lora.rank=2"),
            ]
            .join("\n")
        );
    }
}
