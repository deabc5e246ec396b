//! Settings of a policy's parts: LoRA, adapters, adaptive freezing; and what a policy rules out.

use frostline_freeze::FreezeSchedule;
use serde::{Deserialize, Serialize};

use crate::{PlanError, Settings};

/// Low-rank matrices of a policy with `+lora`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoraSettings {
    /// Their rank.
    pub rank: usize,
    /// Their product is multiplied with alpha / rank.
    pub alpha: f64,
    /// The linear layers of a block that have them, joined by `+`, or `all`.
    pub matrices: String,
}

/// Bottlenecks of a policy with `+adapters`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdapterSettings {
    /// Width inside.
    pub size: usize,
}

impl Default for LoraSettings {
    fn default() -> Self {
        Self { rank: 8, alpha: 16.0, matrices: "query+value".into() }
    }
}

impl Default for AdapterSettings {
    fn default() -> Self {
        Self { size: 48 }
    }
}

/// The linear layers of a block, in its order.
const MATRICES: [&str; 6] = ["query", "key", "value", "attention_output", "intermediate", "output"];

impl LoraSettings {
    /// The names of the layers that have matrices, in a block's order.
    ///
    /// # Errors
    /// Where a name is unknown or given twice.
    pub fn layers(&self) -> Result<Vec<&'static str>, PlanError> {
        if self.matrices == "all" {
            return Ok(MATRICES.to_vec());
        }
        let asked: Vec<&str> = self.matrices.split('+').collect();
        let fail = |reason: String| PlanError::BadValue {
            path: "lora.matrices".into(),
            value: self.matrices.clone(),
            reason: format!("{reason}; join some of {} by `+`, or write `all`", MATRICES.join(", ")),
        };
        for (number, name) in asked.iter().enumerate() {
            if !MATRICES.contains(name) {
                return Err(fail(format!("there is no layer `{name}`")));
            }
            if asked[..number].contains(name) {
                return Err(fail(format!("`{name}` stands there twice")));
            }
        }
        Ok(MATRICES.into_iter().filter(|name| asked.contains(name)).collect())
    }
}

impl Settings {
    /// Whether the settings of this file are in their ranges.
    pub(crate) fn check_light(&self) -> Result<(), PlanError> {
        let (lora, adaptive) = (&self.lora, &self.adaptive);
        let rules = [
            ("lora.rank", lora.rank as f64, lora.rank >= 1, "at least 1"),
            ("lora.alpha", lora.alpha, lora.alpha > 0.0 && lora.alpha.is_finite(), "above 0"),
            ("adapters.size", self.adapters.size as f64, self.adapters.size >= 1, "at least 1"),
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
        if save.model && !policy.tuning().keeps_architecture() {
            return fail(
                "a Hugging Face folder has no place for what it adds; leave `save.model` off, or learn with +lora, \
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_stand_in_a_blocks_order() {
        let layers =
            |matrices: &str| LoraSettings { matrices: matrices.into(), ..LoraSettings::default() }.layers();
        assert_eq!(layers("value+query").unwrap(), ["query", "value"]);
        assert_eq!(layers("all").unwrap().len(), 6);
        for wrong in ["", "query,value", "query+query", "query+head"] {
            let error = layers(wrong).unwrap_err().to_string();
            assert!(error.contains("lora.matrices") && error.contains("attention_output"), "{error}");
        }
    }

    #[test]
    fn settings_that_a_policy_rules_out() {
        let error = |text: &&str| toml::from_str::<Settings>(text).unwrap().check().unwrap_err().to_string();
        let errors =
            ["policy = 'none+adaptive'\nunfreeze.every = 1", "policy = 'none+mix'\nsave.model = true"];
        insta::assert_snapshot!(errors.iter().map(error).collect::<Vec<_>>().join("\n"), @r"
        the policy `none+adaptive` cannot be: it freezes blocks during the run, but `unfreeze.every = 1` unfreezes them; choose one of the two
        the policy `none+mix` cannot be: a Hugging Face folder has no place for what it adds; leave `save.model` off, or learn with +lora, which is merged into the weights
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
        there is no policy `frist-4`. The policies are: none, all, first-K, last-K and top-K (K from 1 to the number of blocks), alternating, blocks-0.2 (any of 0 to the last block), head-only; each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, they may by +lora, +adapters, +bitfit or +norms alone, or freeze during the run with +adaptive; each with +mix

        `"frist-4"` does not fit the setting `policy`: there is no policy `frist-4`. The policies are: none, all, first-K, last-K and top-K (K from 1 to the number of blocks), alternating, blocks-0.2 (any of 0 to the last block), head-only; each but head-only and top-K also with +embeddings; each with +heads or +head.NAME; where blocks learn, they may by +lora, +adapters, +bitfit or +norms alone, or freeze during the run with +adaptive; each with +mix
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
