//! Settings of what policies add or decide on the way: LoRA, adapters, adaptive freezing.

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

/// When blocks freeze in a policy with `+adaptive`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveSettings {
    /// Steps over which gradients are added up before they are held against the stretch before.
    pub every: u64,
    /// The share of the parts that still learn, in percent, whose change counts as small.
    pub percentile: f64,
    /// Blocks nearest the head that never freeze.
    pub keep: usize,
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

impl Default for AdaptiveSettings {
    fn default() -> Self {
        Self { every: 50, percentile: 50.0, keep: 1 }
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
