//! Paths and shapes of all parameters of a model, in this crate's layout.

use crate::{EncoderConfig, Extras, HeadKind, HeadShape, Matrix};

impl EncoderConfig {
    /// Path and shape of every parameter of the encoder with these heads, in this crate's layout.
    #[must_use]
    pub fn parameters(&self, heads: &[HeadShape]) -> Vec<(String, Vec<usize>)> {
        let h = self.hidden;
        let mut out: Vec<(String, Vec<usize>)> = Vec::new();
        let mut add = |path: String, shape: &[usize]| out.push((path, shape.to_vec()));
        add("encoder.embeddings.word".into(), &[self.vocabulary, h]);
        add("encoder.embeddings.position".into(), &[self.positions, h]);
        if self.token_types > 0 {
            add("encoder.embeddings.token_type".into(), &[self.token_types, h]);
        }
        let mut norm = |path: String| {
            add(format!("{path}.gamma"), &[h]);
            add(format!("{path}.beta"), &[h]);
        };
        norm("encoder.embeddings.norm".into());
        for block in 0..self.depth {
            norm(format!("encoder.blocks.{block}.attention_norm"));
            norm(format!("encoder.blocks.{block}.output_norm"));
        }
        let mut linear = |path: String, from: usize, to: usize| {
            add(format!("{path}.weight"), &[from, to]);
            add(format!("{path}.bias"), &[to]);
        };
        for block in 0..self.depth {
            for part in ["query", "key", "value", "attention_output"] {
                linear(format!("encoder.blocks.{block}.{part}"), h, h);
            }
            linear(format!("encoder.blocks.{block}.intermediate"), h, self.intermediate);
            linear(format!("encoder.blocks.{block}.output"), self.intermediate, h);
        }
        for (number, head) in heads.iter().enumerate() {
            if head.kind != HeadKind::Linear {
                linear(format!("heads.{number}.dense"), h, h);
            }
            linear(format!("heads.{number}.classifier"), h, head.labels);
        }
        out.extend(self.extras.parameters(self));
        out
    }
}

impl Matrix {
    /// Returns the sizes of an input row and of an output row.
    #[must_use]
    pub const fn sides(self, config: &EncoderConfig) -> [usize; 2] {
        match self {
            Self::Query | Self::Key | Self::Value | Self::AttentionOutput => [config.hidden, config.hidden],
            Self::Intermediate => [config.hidden, config.intermediate],
            Self::Output => [config.intermediate, config.hidden],
        }
    }
}

impl Extras {
    /// Path and shape of every parameter that is added to an encoder of this shape.
    #[must_use]
    pub fn parameters(&self, config: &EncoderConfig) -> Vec<(String, Vec<usize>)> {
        let mut out = Vec::new();
        for (block, lora) in self.lora.iter().flat_map(|lora| lora.blocks.iter().map(move |b| (b, lora))) {
            for matrix in &lora.matrices {
                let path = format!("encoder.blocks.{block}.{}.lora", matrix.name());
                let [from, to] = matrix.sides(config);
                out.push((format!("{path}.a"), vec![from, lora.rank]));
                out.push((format!("{path}.b"), vec![lora.rank, to]));
            }
        }
        for (block, adapters) in self.adapters.iter().flat_map(|all| all.blocks.iter().map(move |b| (b, all)))
        {
            for (part, from, to) in
                [("down", config.hidden, adapters.size), ("up", adapters.size, config.hidden)]
            {
                out.push((format!("encoder.blocks.{block}.adapter.{part}.weight"), vec![from, to]));
                out.push((format!("encoder.blocks.{block}.adapter.{part}.bias"), vec![to]));
            }
        }
        if self.mix {
            out.push(("mix.weights".into(), vec![config.depth + 1]));
            out.push(("mix.gamma".into(), vec![1]));
        }
        out
    }

    /// Returns the number of values added to a block that has all extras: before and after attention.
    #[must_use]
    pub fn per_block(&self, config: &EncoderConfig) -> [usize; 2] {
        let mut numbers = [0, 0];
        if let Some(lora) = &self.lora {
            for matrix in &lora.matrices {
                let side = usize::from(!matrix.is_before_attention());
                numbers[side] += lora.rank * matrix.sides(config).iter().sum::<usize>();
            }
        }
        numbers[1] += self.adapters.as_ref().map_or(0, |adapters| 2 * adapters.size * config.hidden);
        numbers
    }

    /// Returns the numbers per row that the gradients of these values read: the inputs of additions before and
    /// after attention.
    #[must_use]
    pub fn inputs_per_row(&self, config: &EncoderConfig) -> [usize; 2] {
        let matrices = || self.lora.iter().flat_map(|lora| &lora.matrices);
        // Queries, keys and values are of one input.
        let before = if matrices().any(|matrix| matrix.is_before_attention()) { config.hidden } else { 0 };
        let later = matrices().filter(|matrix| !matrix.is_before_attention());
        let adapter = if self.adapters.is_some() { config.hidden } else { 0 };
        [before, later.map(|matrix| matrix.sides(config)[0]).sum::<usize>() + adapter]
    }
}
