//! Paths and shapes of all parameters of a model, in this crate's layout.

use crate::{EncoderConfig, Extras, FactorSide, HeadKind, HeadShape, Matrix, RelativeTable};

impl EncoderConfig {
    /// Path and shape of every parameter of the encoder with these heads, in this crate's layout.
    #[must_use]
    pub fn parameters(&self, heads: &[HeadShape]) -> Vec<(String, Vec<usize>)> {
        let (architecture, h) = (&self.architecture, self.hidden);
        let mut out: Vec<(String, Vec<usize>)> = Vec::new();
        let mut add = |path: String, shape: &[usize]| out.push((path, shape.to_vec()));
        add("encoder.embeddings.word".into(), &[self.vocabulary, self.embedding]);
        if architecture.learned_positions {
            add("encoder.embeddings.position".into(), &[self.positions, self.embedding]);
        }
        if self.token_types > 0 {
            add("encoder.embeddings.token_type".into(), &[self.token_types, self.embedding]);
        }
        if let Some(table) = &architecture.relative {
            add("encoder.embeddings.relative".into(), &[2 * table.span(), h]);
        }
        let mut norm = |path: String, width: usize| {
            add(format!("{path}.gamma"), &[width]);
            if architecture.norm_bias {
                add(format!("{path}.beta"), &[width]);
            }
        };
        if architecture.embedding_norm {
            norm("encoder.embeddings.norm".into(), self.embedding);
        }
        if RelativeTable::is_normed(architecture.relative.as_ref()) {
            norm("encoder.embeddings.relative_norm".into(), h);
        }
        let owners = || (0..self.depth).filter(|&block| architecture.owns_weights(block));
        for block in owners() {
            if architecture.has_attention_norm(block) {
                norm(format!("encoder.blocks.{block}.attention_norm"), h);
            }
            norm(format!("encoder.blocks.{block}.output_norm"), h);
        }
        if architecture.has_final_norm() {
            norm("encoder.final_norm".into(), h);
        }
        let heads: Vec<HeadShape> = heads.iter().map(|head| head.in_encoder(self)).collect();
        for (number, _) in heads.iter().enumerate().filter(|(_, head)| head.kind.has_norm()) {
            norm(format!("heads.{number}.norm"), h);
        }
        let mut linear = |path: String, [from, to]: [usize; 2], bias: bool| {
            add(format!("{path}.weight"), &[from, to]);
            if bias {
                add(format!("{path}.bias"), &[to]);
            }
        };
        if self.embedding != h {
            linear("encoder.embeddings.projection".into(), [self.embedding, h], true);
        }
        for block in owners() {
            for matrix in Matrix::ALL.into_iter().filter(|matrix| matrix.exists_in(self)) {
                let path = format!("encoder.blocks.{block}.{}", matrix.name());
                linear(path, matrix.sides(self), matrix.has_bias(self));
            }
        }
        for (number, head) in heads.iter().enumerate() {
            if head.kind != HeadKind::Linear {
                linear(format!("heads.{number}.dense"), [h, h], head.kind.has_dense_bias());
            }
            linear(format!("heads.{number}.classifier"), [h, head.labels], true);
        }
        out.extend(self.extras.parameters(self));
        out
    }
}

impl Matrix {
    /// Returns whether a block of this encoder has the layer.
    #[must_use]
    pub const fn exists_in(self, config: &EncoderConfig) -> bool {
        !matches!(self, Self::Gate) || config.architecture.gated
    }

    /// Returns whether the layer of this encoder adds a bias.
    #[must_use]
    pub const fn has_bias(self, config: &EncoderConfig) -> bool {
        match self {
            Self::Query | Self::Key | Self::Value | Self::AttentionOutput => {
                config.architecture.attention_bias
            }
            Self::Intermediate | Self::Gate => config.architecture.inner_bias,
            Self::Output => config.architecture.output_bias,
        }
    }

    /// Returns the number of IA3's factors of the layer, if it has some.
    pub(crate) fn ia3_width(self, config: &EncoderConfig) -> Option<usize> {
        let [from, to] = self.sides(config);
        Some(match self.ia3_side()? {
            FactorSide::Input => from,
            FactorSide::Output => to,
        })
    }

    /// Returns the sizes of an input row and of an output row.
    #[must_use]
    pub const fn sides(self, config: &EncoderConfig) -> [usize; 2] {
        match self {
            Self::Query | Self::AttentionOutput => [config.hidden, config.hidden],
            Self::Key | Self::Value => [config.hidden, config.hidden / config.heads * config.key_heads],
            Self::Intermediate | Self::Gate => [config.hidden, config.intermediate],
            Self::Output => [config.intermediate, config.hidden],
        }
    }
}

impl Extras {
    /// Path and shape of every parameter that is added to an encoder of this shape.
    #[must_use]
    pub fn parameters(&self, config: &EncoderConfig) -> Vec<(String, Vec<usize>)> {
        let mut out = Vec::new();
        let owns = |block: &usize| config.architecture.owns_weights(*block);
        for (block, lora) in
            self.lora.iter().flat_map(|lora| lora.blocks.iter().filter(|b| owns(b)).map(move |b| (b, lora)))
        {
            for matrix in lora.matrices.iter().filter(|matrix| matrix.exists_in(config)) {
                let path = format!("encoder.blocks.{block}.{}.lora", matrix.name());
                let [from, to] = matrix.sides(config);
                out.push((format!("{path}.a"), vec![from, lora.rank]));
                out.push((format!("{path}.b"), vec![lora.rank, to]));
                if lora.normed_blocks.contains(block) {
                    out.push((format!("{path}.magnitude"), vec![to]));
                }
            }
        }
        for block in self.ia3.iter().filter(|block| owns(block)) {
            for (matrix, width) in Matrix::ALL.into_iter().filter_map(|it| Some((it, it.ia3_width(config)?)))
            {
                out.push((format!("encoder.blocks.{block}.{}.ia3.factors", matrix.name()), vec![width]));
            }
        }
        for (block, adapters) in
            self.adapters.iter().flat_map(|all| all.blocks.iter().filter(|b| owns(b)).map(move |b| (b, all)))
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
            for matrix in lora.matrices.iter().filter(|matrix| matrix.exists_in(config)) {
                let side = usize::from(!matrix.is_before_attention());
                let norms = if lora.normed_blocks.is_empty() { 0 } else { matrix.sides(config)[1] };
                numbers[side] += lora.rank * matrix.sides(config).iter().sum::<usize>() + norms;
            }
        }
        if !self.ia3.is_empty() {
            for (matrix, width) in Matrix::ALL.into_iter().filter_map(|it| Some((it, it.ia3_width(config)?)))
            {
                numbers[usize::from(!matrix.is_before_attention())] += width;
            }
        }
        numbers[1] += self.adapters.as_ref().map_or(0, |adapters| 2 * adapters.size * config.hidden);
        numbers
    }

    /// Returns the numbers per row that the gradients of these values read: the inputs of additions before and
    /// after attention.
    #[must_use]
    pub fn inputs_per_row(&self, config: &EncoderConfig) -> [usize; 2] {
        let exists = |matrix: &&Matrix| matrix.exists_in(config);
        let matrices = || self.lora.iter().flat_map(|lora| &lora.matrices).filter(exists);
        // Queries, keys and values are of one input.
        let before = if matrices().any(|matrix| matrix.is_before_attention()) { config.hidden } else { 0 };
        let later = matrices().filter(|matrix| !matrix.is_before_attention());
        let adapter = if self.adapters.is_some() { config.hidden } else { 0 };
        let mut numbers = [before, later.map(|matrix| matrix.sides(config)[0]).sum::<usize>() + adapter];
        // Factors read what they multiply: of DoRA and of keys and values the layer's output.
        let normed = self.lora.iter().filter(|lora| !lora.normed_blocks.is_empty());
        let outputs = normed.flat_map(|lora| &lora.matrices).filter(exists);
        let outputs = outputs.map(|matrix| (*matrix, matrix.sides(config)[1]));
        let factors = Matrix::ALL.into_iter().filter(|_| !self.ia3.is_empty());
        let factors = factors.filter_map(|matrix| Some((matrix, matrix.ia3_width(config)?)));
        for (matrix, width) in outputs.chain(factors) {
            numbers[usize::from(!matrix.is_before_attention())] += width;
        }
        numbers
    }
}
