//! What can be added to an encoder: low-rank matrices beside linear layers, bottlenecks in blocks, a
//! learned mix of all blocks' outputs. Matrices and bottlenecks start so that the encoder computes what
//! it did before, the mix as a plain mean.

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::prelude::*;
use burn::tensor::activation;
use frostline_kernels::{Kernels, Precision};

use crate::encoder::Builder;
use crate::{EncoderConfig, Linear, ModelError, Values};

/// What is added; nothing by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    /// Low-rank matrices.
    pub lora: Option<LoraShape>,
    /// Bottlenecks.
    pub adapters: Option<AdapterShape>,
    /// Whether heads read a mix of all blocks' outputs.
    pub mix: bool,
}

/// Low-rank matrices: a linear layer with weight W then multiplies with W + alpha / rank · A B.
///
/// # Source
/// Hu et al., *LoRA: Low-Rank Adaptation of Large Language Models*, 2021.
#[derive(Clone, Debug, PartialEq)]
pub struct LoraShape {
    /// Columns of A and rows of B.
    pub rank: usize,
    /// See above.
    pub alpha: f64,
    /// The linear layers of a block that have them.
    pub matrices: Vec<Matrix>,
    /// The blocks that have them.
    pub blocks: Vec<usize>,
}

/// Bottlenecks: x + up(GELU(down(x))) after the feed-forward layer, before its LayerNorm.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterShape {
    /// Width inside.
    pub size: usize,
    /// The blocks that have one.
    pub blocks: Vec<usize>,
}

/// The linear layers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Matrix {
    /// Queries.
    Query,
    /// Keys.
    Key,
    /// Values.
    Value,
    /// What attention's context goes through.
    AttentionOutput,
    /// Into the feed-forward layer.
    Intermediate,
    /// Out of the feed-forward layer.
    Output,
}

impl Matrix {
    /// All of them, in a block's order.
    pub const ALL: [Self; 6] =
        [Self::Query, Self::Key, Self::Value, Self::AttentionOutput, Self::Intermediate, Self::Output];

    /// Its segment in a parameter's path.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Key => "key",
            Self::Value => "value",
            Self::AttentionOutput => "attention_output",
            Self::Intermediate => "intermediate",
            Self::Output => "output",
        }
    }

    /// Numbers of a row that goes in, and of one that comes out.
    #[must_use]
    pub const fn sides(self, config: &EncoderConfig) -> [usize; 2] {
        match self {
            Self::Query | Self::Key | Self::Value | Self::AttentionOutput => [config.hidden, config.hidden],
            Self::Intermediate => [config.hidden, config.intermediate],
            Self::Output => [config.intermediate, config.hidden],
        }
    }

    /// Whether it stands before attention, where every subword is needed.
    #[must_use]
    pub const fn is_before_attention(self) -> bool {
        matches!(self, Self::Query | Self::Key | Self::Value)
    }
}

impl LoraShape {
    /// What the low-rank product is multiplied with.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.alpha / self.rank as f64
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

    /// Numbers of the matrices that a block gets which has all of it: before and after attention.
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
}

/// A model's parameters with LoRA's matrices merged into the weights beside which they stand.
#[must_use]
pub fn merged(parameters: &BTreeMap<String, Values>, config: &EncoderConfig) -> BTreeMap<String, Values> {
    let own = |(path, _): &(&String, &Values)| !path.contains(".lora.");
    let mut out: BTreeMap<String, Values> =
        parameters.iter().filter(own).map(|(path, values)| (path.clone(), values.clone())).collect();
    let Some(lora) = &config.extras.lora else { return out };
    for (path, a) in parameters {
        let Some(layer) = path.strip_suffix(".lora.a") else { continue };
        let (Some(b), Some(weight)) =
            (parameters.get(&format!("{layer}.lora.b")), out.get_mut(&format!("{layer}.weight")))
        else {
            continue;
        };
        let columns = b.shape[1];
        for (row, numbers) in weight.data.chunks_exact_mut(columns).enumerate() {
            for (column, number) in numbers.iter_mut().enumerate() {
                let term = |k: usize| {
                    f64::from(a.data[row * lora.rank + k]) * f64::from(b.data[k * columns + column])
                };
                *number += (lora.scale() * (0..lora.rank).map(term).sum::<f64>()) as f32;
            }
        }
    }
    out
}

/// Low-rank matrices beside a linear layer.
#[derive(Module, Debug)]
pub struct Lora<B: Backend> {
    /// \[in, rank\]
    pub a: Param<Tensor<B, 2>>,
    /// \[rank, out\]
    pub b: Param<Tensor<B, 2>>,
    /// What their product is multiplied with.
    #[module(skip)]
    pub scale: f64,
}

/// A bottleneck with a residual.
#[derive(Module, Debug)]
pub struct Adapter<B: Backend> {
    /// \[H, size\]
    pub down: Linear<B>,
    /// \[size, H\]
    pub up: Linear<B>,
}

/// A mix of hidden states: gamma times their mean, weighted with the softmax of the weights.
///
/// # Source
/// Peters et al., *Deep contextualized word representations*, 2018, equation 1.
#[derive(Module, Debug)]
pub struct Mix<B: Backend> {
    /// \[depth + 1\]: the embeddings' output, then each block's.
    pub weights: Param<Tensor<B, 1>>,
    /// \[1\]
    pub gamma: Param<Tensor<B, 1>>,
}

impl<B: Backend> Builder<'_, B> {
    /// The matrices beside a block's linear layer, where it has them.
    pub fn lora(
        &self,
        config: &EncoderConfig,
        block: usize,
        matrix: Matrix,
    ) -> Result<Option<Lora<B>>, ModelError> {
        let wanted = |lora: &&LoraShape| lora.blocks.contains(&block) && lora.matrices.contains(&matrix);
        let Some(lora) = config.extras.lora.as_ref().filter(wanted) else { return Ok(None) };
        let path = format!("encoder.blocks.{block}.{}.lora", matrix.name());
        let [from, to] = matrix.sides(config);
        Ok(Some(Lora {
            a: self.tensor(&format!("{path}.a"), [from, lora.rank])?,
            b: self.tensor(&format!("{path}.b"), [lora.rank, to])?,
            scale: lora.scale(),
        }))
    }

    /// A block's bottleneck, where it has one.
    pub fn adapter(&self, config: &EncoderConfig, block: usize) -> Result<Option<Adapter<B>>, ModelError> {
        let wanted = |adapters: &&AdapterShape| adapters.blocks.contains(&block);
        let Some(adapters) = config.extras.adapters.as_ref().filter(wanted) else { return Ok(None) };
        let path = format!("encoder.blocks.{block}.adapter");
        let (h, size) = (config.hidden, adapters.size);
        let [down, up] = ["down", "up"].map(|part| format!("{path}.{part}"));
        Ok(Some(Adapter { down: self.linear(&down, h, size)?, up: self.linear(&up, size, h)? }))
    }

    /// The mix, where there is one.
    pub fn mix(&self, config: &EncoderConfig) -> Result<Option<Mix<B>>, ModelError> {
        if !config.extras.mix {
            return Ok(None);
        }
        let weights = self.tensor("mix.weights", [config.depth + 1])?;
        Ok(Some(Mix { weights, gamma: self.tensor("mix.gamma", [1])? }))
    }
}

impl<B: Kernels> Lora<B> {
    /// What is added to the layer's output.
    ///
    /// # Shapes
    /// \[N, in\] -> \[N, out\]
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, precision: Precision) -> Tensor<B, 2> {
        let (a, b) = (self.a.val(), self.b.val());
        let none = |columns| Tensor::zeros([columns], &x.device());
        let ([_, rank], [_, to]) = (a.dims(), b.dims());
        let (before, after) = (none(rank), none(to));
        B::k_linear(B::k_linear(x, a, before, precision).mul_scalar(self.scale), b, after, precision)
    }
}

impl<B: Kernels> Adapter<B> {
    /// \[N, H\] -> \[N, H\].
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, precision: Precision) -> Tensor<B, 2> {
        let inner = B::k_gelu(self.down.forward(x.clone(), precision));
        x + self.up.forward(inner, precision)
    }
}

impl<B: Kernels> Mix<B> {
    /// One of these tensors for the embeddings' output and each block's.
    ///
    /// # Shapes
    /// depth + 1 of \[M, H\] -> \[M, H\]
    #[must_use]
    pub fn forward(&self, layers: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        let shares = activation::softmax(self.weights.val(), 0) * self.gamma.val();
        let share = |layer: usize| shares.clone().narrow(0, layer, 1).unsqueeze::<2>();
        let parts = layers.into_iter().enumerate().map(|(number, layer)| layer * share(number));
        parts.reduce(|sum, part| sum + part).expect("a mix has at least one part")
    }
}
