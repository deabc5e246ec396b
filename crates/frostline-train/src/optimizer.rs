//! AdamW over a module's parameters: global-norm clipping, no decay on biases and LayerNorms, and
//! no state for what is frozen.

use std::collections::HashMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::prelude::*;
use burn::tensor::backend::AutodiffBackend;
use frostline_freeze::{Group, LayerDecay};
use frostline_kernels::{AdamW, Kernels, Train};

use crate::OptimizerConfig;

/// AdamW with its state.
pub struct Optimizer<B: Backend> {
    config: OptimizerConfig,
    rates: LayerDecay,
    step: u64,
    /// First and second moment of each parameter that has received a gradient, flattened.
    moments: HashMap<ParamId, [Tensor<B, 1>; 2]>,
}

impl<B: Kernels> Optimizer<B> {
    /// An optimiser that has taken no step, for an encoder of `depth` blocks.
    #[must_use]
    pub fn new(config: OptimizerConfig, depth: usize) -> Self {
        let rates = LayerDecay::new(config.layer_decay, depth);
        Self { config, rates, step: 0, moments: HashMap::new() }
    }

    /// Parameters that have state.
    #[must_use]
    pub fn states(&self) -> usize {
        self.moments.len()
    }

    /// Takes a step with this learning rate. Returns the model and the gradients' global norm
    /// before clipping.
    pub fn step<A, M>(&mut self, lr: f64, model: M, gradients: GradientsParams) -> (M, f64)
    where
        A: Train + AutodiffBackend<InnerBackend = B>,
        M: Module<A>,
    {
        self.step += 1;
        let mut norm = Norm { gradients: &gradients, squares: 0.0 };
        model.visit(&mut norm);
        let norm = norm.squares.sqrt();
        let clip = self.config.clip_norm;
        let gradient_scale = if clip > 0.0 { (clip / (norm + 1e-6)).min(1.0) } else { 1.0 };
        let rule = AdamW {
            lr,
            beta1: self.config.beta1,
            beta2: self.config.beta2,
            eps: self.config.eps,
            weight_decay: self.config.weight_decay,
            step: self.step,
            gradient_scale,
        };
        let (rates, moments, path) = (self.rates, &mut self.moments, Vec::new());
        (model.map(&mut Update { rule, rates, gradients, moments, path }), norm)
    }
}

/// Adds up the squares of all gradients in the order of the model's parameters.
struct Norm<'a> {
    gradients: &'a GradientsParams,
    squares: f64,
}

impl<A: Train> ModuleVisitor<A> for Norm<'_> {
    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<A, D>>) {
        if let Some(gradient) = self.gradients.get::<A::InnerBackend, D>(parameter.id) {
            self.squares += <A::InnerBackend as Kernels>::k_sum_squares(&gradient);
        }
    }
}

struct Update<'a, B: Backend> {
    rule: AdamW,
    rates: LayerDecay,
    gradients: GradientsParams,
    moments: &'a mut HashMap<ParamId, [Tensor<B, 1>; 2]>,
    path: Vec<String>,
}

impl<A: Train> ModuleMapper<A> for Update<'_, A::InnerBackend> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<A, D>>) -> Param<Tensor<A, D>> {
        let Some(gradient) = self.gradients.remove::<A::InnerBackend, D>(parameter.id) else {
            return parameter;
        };
        let (id, tensor, mapper) = parameter.consume();
        let shape = tensor.dims();
        let count: usize = shape.iter().product();
        let tensor = tensor.inner().reshape([count]);
        let leaf = self.path.last().map_or("", String::as_str);
        let decayed = !matches!(leaf, "bias" | "gamma" | "beta");
        let rule = AdamW {
            lr: self.rule.lr * self.rates.of(Group::of(&self.path.join("."))),
            weight_decay: if decayed { self.rule.weight_decay } else { 0.0 },
            ..self.rule
        };
        let moments = self.moments.remove(&id).unwrap_or_else(|| {
            let device = tensor.device();
            [Tensor::zeros([count], &device), Tensor::zeros([count], &device)]
        });
        let gradient = gradient.reshape([count]);
        let (tensor, moments) = <A::InnerBackend as Kernels>::k_adamw(&rule, tensor, gradient, moments);
        self.moments.insert(id, moments);
        let tensor = Tensor::from_inner(tensor.reshape(shape)).require_grad();
        Param::from_mapped_value(id, tensor, mapper)
    }
}
