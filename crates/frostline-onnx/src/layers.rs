//! Linear layers, norms and activations as nodes.

use frostline_kernels::Activation;
use frostline_model::{EncoderConfig, ParameterSource};

use crate::error::OnnxError;
use crate::graph::{Graph, Value, float, int, ints};
use crate::tensor::Data;

/// Turns an encoder's parts into nodes. Each method adds the nodes of one part and returns its result.
pub(crate) struct Builder<'a> {
    pub graph: Graph,
    pub config: &'a EncoderConfig,
    pub weights: &'a dyn ParameterSource,
}

/// A linear layer.
pub(crate) struct LinearLayer<'a> {
    /// The names of its nodes begin with this.
    pub place: &'a str,
    /// The path of its parameters.
    pub path: &'a str,
    /// The sizes of an input row and of an output row.
    pub sides: [usize; 2],
    pub has_bias: bool,
}

impl Builder<'_> {
    /// Returns a parameter as a constant, which is read once.
    pub fn parameter(&mut self, path: &str, shape: &[usize]) -> Result<Value, OnnxError> {
        self.renamed_parameter(path, path, shape)
    }

    /// Returns the parameter of a path as a constant of another name.
    pub fn renamed_parameter(&mut self, name: &str, path: &str, shape: &[usize]) -> Result<Value, OnnxError> {
        match self.graph.known(name) {
            Some(known) => Ok(known),
            None => Ok(self.graph.tensor(name, shape, Data::F32(self.weights.values(path, shape)?))),
        }
    }

    /// `x W + b`.
    ///
    /// # Shapes
    /// \[…, in\] -> \[…, out\]
    pub fn linear(&mut self, x: &Value, layer: &LinearLayer<'_>) -> Result<Value, OnnxError> {
        let LinearLayer { place, path, sides, has_bias } = *layer;
        let weight = self.parameter(&format!("{path}.weight"), &sides)?;
        let product = self.graph.node(place, "MatMul", &[x, &weight], &[]);
        if !has_bias {
            return Ok(product);
        }
        let bias = self.parameter(&format!("{path}.bias"), &sides[1..])?;
        Ok(self.graph.node(place, "Add", &[&product, &bias], &[]))
    }

    /// The norm of each row, with the parameters of this path.
    ///
    /// # Shapes
    /// \[…, width\] -> \[…, width\]
    pub fn norm(&mut self, x: &Value, path: &str, width: usize) -> Result<Value, OnnxError> {
        let gamma = self.parameter(&format!("{path}.gamma"), &[width])?;
        let eps = self.config.norm_eps as f32;
        if !self.config.architecture.centred_norms {
            return Ok(self.root_mean_square_norm(x, path, &gamma));
        }
        let attributes = [int("axis", -1), float("epsilon", eps)];
        let mut inputs = vec![x, &gamma];
        let beta;
        if self.config.architecture.norm_bias {
            beta = self.parameter(&format!("{path}.beta"), &[width])?;
            inputs.push(&beta);
        }
        Ok(self.graph.node(path, "LayerNormalization", &inputs, &attributes))
    }

    /// RMSNorm, which is an operator only from opset 23 on. Runtimes replace these nodes by their own.
    fn root_mean_square_norm(&mut self, x: &Value, place: &str, gamma: &Value) -> Value {
        let g = &mut self.graph;
        let (two, eps) = (g.number(2.0), g.number(self.config.norm_eps as f32));
        let squares = g.node(place, "Pow", &[x, &two], &[]);
        let mean = g.node(place, "ReduceMean", &[&squares], &[ints("axes", &[-1]), int("keepdims", 1)]);
        let mean = g.node(place, "Add", &[&mean, &eps], &[]);
        let root = g.node(place, "Sqrt", &[&mean], &[]);
        let normed = g.node(place, "Div", &[x, &root], &[]);
        g.node(place, "Mul", &[&normed, gamma], &[])
    }

    /// The activation of each number. Where the operators lack a function, its nodes have the form that runtimes replace by
    /// their own.
    pub fn activation(&mut self, x: &Value, place: &str, activation: Activation) -> Value {
        let g = &mut self.graph;
        match activation {
            Activation::Relu => g.node(place, "Relu", &[x], &[]),
            Activation::Silu => {
                let share = g.node(place, "Sigmoid", &[x], &[]);
                g.node(place, "Mul", &[x, &share], &[])
            }
            Activation::Gelu => {
                let (root, one, half) = (g.number(std::f32::consts::SQRT_2), g.number(1.0), g.number(0.5));
                let scaled = g.node(place, "Div", &[x, &root], &[]);
                let area = g.node(place, "Erf", &[&scaled], &[]);
                let area = g.node(place, "Add", &[&area, &one], &[]);
                let product = g.node(place, "Mul", &[x, &area], &[]);
                g.node(place, "Mul", &[&product, &half], &[])
            }
            Activation::GeluTanh => self.gelu_tanh(x, place),
        }
    }

    fn gelu_tanh(&mut self, x: &Value, place: &str) -> Value {
        let g = &mut self.graph;
        let [three, share, factor] =
            [3.0, 0.044_715, std::f32::consts::FRAC_2_PI.sqrt()].map(|number| g.number(number));
        let (one, half) = (g.number(1.0), g.number(0.5));
        let cube = g.node(place, "Pow", &[x, &three], &[]);
        let cube = g.node(place, "Mul", &[&cube, &share], &[]);
        let sum = g.node(place, "Add", &[x, &cube], &[]);
        let inner = g.node(place, "Mul", &[&sum, &factor], &[]);
        let inner = g.node(place, "Tanh", &[&inner], &[]);
        let inner = g.node(place, "Add", &[&inner, &one], &[]);
        let product = g.node(place, "Mul", &[x, &inner], &[]);
        g.node(place, "Mul", &[&product, &half], &[])
    }
}
