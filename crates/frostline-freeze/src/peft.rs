//! Parameter-efficient fine-tuning (PEFT): only a few parameters of a block are trained, or parameters added to
//! it, while its weights stay fixed.

/// A method of training a group that is not frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeftMethod {
    /// Biases, including the biases of LayerNorms.
    ///
    /// # Source
    /// Ben Zaken, Goldberg and Ravfogel, *BitFit*, 2022.
    BitFit,
    /// Gains (gamma) and biases (beta) of LayerNorms.
    Norms,
    /// Low-rank matrices added to linear layers.
    ///
    /// # Source
    /// Hu et al., *LoRA: Low-Rank Adaptation of Large Language Models*, 2021.
    Lora,
    /// LoRA, with a learned norm for each column of the layer.
    ///
    /// # Source
    /// Liu et al., *DoRA: Weight-Decomposed Low-Rank Adaptation*, 2024.
    Dora,
    /// Learned factors of keys, of values and of the feed-forward layer's inner activations.
    ///
    /// # Source
    /// Liu et al., *Few-Shot Parameter-Efficient Fine-Tuning is Better and Cheaper than In-Context Learning*, 2022.
    Ia3,
    /// A bottleneck after the feed-forward layer.
    ///
    /// # Source
    /// Houlsby et al., *Parameter-Efficient Transfer Learning for NLP*, 2019; its place in the block
    /// as in Pfeiffer et al., *AdapterFusion*, 2021.
    Adapters,
}

impl PeftMethod {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::BitFit, Self::Norms, Self::Lora, Self::Dora, Self::Ia3, Self::Adapters];

    /// Returns the method's name after a policy's `+`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitFit => "bitfit",
            Self::Norms => "norms",
            Self::Lora => "lora",
            Self::Dora => "dora",
            Self::Ia3 => "ia3",
            Self::Adapters => "adapters",
        }
    }

    /// Returns whether the method adds parameters to the encoder. They are only in blocks.
    #[must_use]
    pub const fn is_added(self) -> bool {
        matches!(self, Self::Lora | Self::Dora | Self::Ia3 | Self::Adapters)
    }

    /// Returns whether the method trains LoRA's matrices.
    #[must_use]
    pub const fn has_matrices(self) -> bool {
        matches!(self, Self::Lora | Self::Dora)
    }

    /// Returns the method to which an added parameter belongs; nothing for one of the encoder's own.
    pub(crate) fn method_of_parameter(path: &str) -> Option<Self> {
        path.split('.').find_map(|segment| match segment {
            "lora" => Some(Self::Lora),
            "ia3" => Some(Self::Ia3),
            "adapter" => Some(Self::Adapters),
            _ => None,
        })
    }

    /// Returns whether this method trains the parameter at this path.
    #[must_use]
    pub fn trains_parameter(self, path: &str) -> bool {
        let leaf = path.rsplit('.').next().unwrap_or(path);
        match (self, Self::method_of_parameter(path)) {
            (Self::Lora, Some(Self::Lora)) => leaf != "magnitude",
            (Self::Dora, Some(Self::Lora)) => true,
            (method, Some(added)) => method == added,
            (Self::BitFit, None) => matches!(leaf, "bias" | "beta"),
            (Self::Norms, None) => matches!(leaf, "gamma" | "beta"),
            (Self::Lora | Self::Dora | Self::Ia3 | Self::Adapters, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_selects_its_own() {
        let methods = |path| {
            PeftMethod::ALL.into_iter().filter(|method| method.trains_parameter(path)).collect::<Vec<_>>()
        };
        assert_eq!(methods("encoder.blocks.0.query.weight"), []);
        assert_eq!(methods("encoder.blocks.0.query.bias"), [PeftMethod::BitFit]);
        assert_eq!(methods("encoder.blocks.0.output_norm.beta"), [PeftMethod::BitFit, PeftMethod::Norms]);
        assert_eq!(methods("encoder.embeddings.norm.gamma"), [PeftMethod::Norms]);
        assert_eq!(methods("encoder.blocks.0.query.lora.a"), [PeftMethod::Lora, PeftMethod::Dora]);
        assert_eq!(methods("encoder.blocks.0.query.lora.magnitude"), [PeftMethod::Dora]);
        assert_eq!(methods("encoder.blocks.0.key.ia3.factors"), [PeftMethod::Ia3]);
        assert_eq!(methods("encoder.blocks.0.adapter.down.bias"), [PeftMethod::Adapters]);
    }
}
