//! Settings of a policy's additions to the encoder: LoRA and adapters.

use serde::{Deserialize, Serialize};

use crate::PlanError;

/// Low-rank matrices of a policy with `+lora`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LoraSettings {
    /// The rank of the matrices.
    pub rank: usize,
    /// The matrices' product is multiplied by alpha / rank.
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

/// The linear layers of a block, in its order; only gated feed-forward parts have a `gate`.
const MATRICES: [&str; 7] = ["query", "key", "value", "attention_output", "intermediate", "gate", "output"];

impl LoraSettings {
    /// Returns the names of the layers that have matrices, in a block's order.
    ///
    /// # Errors
    /// If a name is unknown or given twice.
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
                return Err(fail(format!("`{name}` occurs twice")));
            }
        }
        Ok(MATRICES.into_iter().filter(|name| asked.contains(name)).collect())
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
        assert_eq!(layers("all").unwrap().len(), 7);
        for wrong in ["", "query,value", "query+query", "query+head"] {
            let error = layers(wrong).unwrap_err().to_string();
            assert!(error.contains("lora.matrices") && error.contains("attention_output"), "{error}");
        }
    }
}
