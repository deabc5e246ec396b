//! Light ways to learn: a few numbers of a block learn, or some that are added to it, while its
//! weights stay.

/// A way in which a group learns that is not frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Light {
    /// Biases, those of LayerNorms too.
    ///
    /// # Source
    /// Ben Zaken, Goldberg and Ravfogel, *BitFit*, 2022.
    Biases,
    /// Gains and biases of LayerNorms.
    Norms,
    /// Low-rank matrices beside linear layers.
    ///
    /// # Source
    /// Hu et al., *LoRA: Low-Rank Adaptation of Large Language Models*, 2021.
    Lora,
    /// A bottleneck after the feed-forward layer.
    ///
    /// # Source
    /// Houlsby et al., *Parameter-Efficient Transfer Learning for NLP*, 2019; its place in the block
    /// as in Pfeiffer et al., *AdapterFusion*, 2021.
    Adapters,
}

impl Light {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Biases, Self::Norms, Self::Lora, Self::Adapters];

    /// What stands behind the `+` of a policy.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Biases => "bitfit",
            Self::Norms => "norms",
            Self::Lora => "lora",
            Self::Adapters => "adapters",
        }
    }

    /// Whether its parameters are added to the encoder's own. They stand in blocks alone.
    #[must_use]
    pub const fn is_added(self) -> bool {
        matches!(self, Self::Lora | Self::Adapters)
    }

    /// The way to which an added parameter belongs; nothing for one of the encoder's own.
    pub(crate) fn adding(path: &str) -> Option<Self> {
        path.split('.').find_map(|segment| match segment {
            "lora" => Some(Self::Lora),
            "adapter" => Some(Self::Adapters),
            _ => None,
        })
    }

    /// Whether the parameter at this path learns this way.
    #[must_use]
    pub fn selects(self, path: &str) -> bool {
        let leaf = path.rsplit('.').next().unwrap_or(path);
        match (self, Self::adding(path)) {
            (way, Some(added)) => way == added,
            (Self::Biases, None) => matches!(leaf, "bias" | "beta"),
            (Self::Norms, None) => matches!(leaf, "gamma" | "beta"),
            (Self::Lora | Self::Adapters, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_selects_its_own() {
        let ways = |path| Light::ALL.into_iter().filter(|way| way.selects(path)).collect::<Vec<_>>();
        assert_eq!(ways("encoder.blocks.0.query.weight"), []);
        assert_eq!(ways("encoder.blocks.0.query.bias"), [Light::Biases]);
        assert_eq!(ways("encoder.blocks.0.output_norm.beta"), [Light::Biases, Light::Norms]);
        assert_eq!(ways("encoder.embeddings.norm.gamma"), [Light::Norms]);
        assert_eq!(ways("encoder.blocks.0.query.lora.a"), [Light::Lora]);
        assert_eq!(ways("encoder.blocks.0.adapter.down.bias"), [Light::Adapters]);
    }
}
