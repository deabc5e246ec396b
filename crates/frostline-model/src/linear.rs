//! Linear layers, with low-rank matrices if they were added, and LayerNorms.

use burn::module::{Module, Param};
use burn::prelude::*;
use frostline_kernels::{Activation, AddNorm, Dropout, Kernels, Precision, Rows};

use crate::extras::LoraShape;
use crate::{EncoderConfig, Matrix, ModelError, ParameterSource};

/// A linear layer.
#[derive(Module, Debug)]
pub struct Linear<B: Backend> {
    /// \[in, out\]
    pub weight: Param<Tensor<B, 2>>,
    /// \[out\], if the layer adds a bias.
    pub bias: Option<Param<Tensor<B, 1>>>,
    /// Low-rank matrices added to the weight, if any.
    pub lora: Option<Lora<B>>,
}

/// A LayerNorm or an RMSNorm.
#[derive(Module, Debug)]
pub struct Norm<B: Backend> {
    /// \[H\]
    pub gamma: Param<Tensor<B, 1>>,
    /// \[H\], if the norm adds a bias.
    pub beta: Option<Param<Tensor<B, 1>>>,
    /// Whether the mean of a row is subtracted (LayerNorm) or not (RMSNorm).
    #[module(skip)]
    pub centred: bool,
}

/// Low-rank matrices of a linear layer.
#[derive(Module, Debug)]
pub struct Lora<B: Backend> {
    /// \[in, rank\]
    pub a: Param<Tensor<B, 2>>,
    /// \[rank, out\]
    pub b: Param<Tensor<B, 2>>,
    /// The factor of their product.
    #[module(skip)]
    pub scale: f64,
}

/// Builds tensors from a [`ParameterSource`].
pub(crate) struct Builder<'a, B: Backend> {
    pub source: &'a dyn ParameterSource,
    pub device: &'a B::Device,
}

impl<B: Backend> Builder<'_, B> {
    pub fn tensor<const D: usize>(
        &self,
        path: &str,
        shape: [usize; D],
    ) -> Result<Param<Tensor<B, D>>, ModelError> {
        Ok(self.parameter(self.source.values(path, &shape)?, shape))
    }

    pub fn parameter<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<B, D>> {
        Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), self.device))
    }

    pub fn linear(
        &self,
        path: &str,
        [from, to]: [usize; 2],
        has_bias: bool,
    ) -> Result<Linear<B>, ModelError> {
        let weight = self.tensor(&format!("{path}.weight"), [from, to])?;
        let bias = has_bias.then(|| self.tensor(&format!("{path}.bias"), [to])).transpose()?;
        Ok(Linear { weight, bias, lora: None })
    }

    pub fn norm(&self, path: &str, config: &EncoderConfig, width: usize) -> Result<Norm<B>, ModelError> {
        let gamma = self.tensor(&format!("{path}.gamma"), [width])?;
        let has_bias = config.architecture.norm_bias;
        let beta = has_bias.then(|| self.tensor(&format!("{path}.beta"), [width])).transpose()?;
        Ok(Norm { gamma, beta, centred: config.architecture.centred_norms })
    }

    /// Returns the low-rank matrices of a block's linear layer, if it has them.
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
}

impl<B: Kernels> Linear<B> {
    /// Returns the weight and the bias, if these are all there is.
    pub(crate) fn weight_and_bias(&self) -> Option<(Tensor<B, 2>, Tensor<B, 1>)> {
        self.lora.is_none().then(|| (self.weight.val(), self.bias_or_zeros()))
    }

    /// Returns the bias; zeros, which are no parameter, if the layer has none.
    fn bias_or_zeros(&self) -> Tensor<B, 1> {
        match &self.bias {
            Some(bias) => bias.val(),
            None => {
                let weight = self.weight.val();
                Tensor::zeros([weight.dims()[1]], &weight.device())
            }
        }
    }

    /// x \[N, in\] -> \[N, out\].
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, precision: Precision) -> Tensor<B, 2> {
        let own = |x| B::k_linear(x, self.weight.val(), self.bias_or_zeros(), precision);
        match &self.lora {
            None => own(x),
            Some(lora) => own(x.clone()) + lora.forward(x, precision),
        }
    }
}

impl<B: Kernels> Linear<B> {
    /// Returns the activation of the layer: x \[N, in\] -> \[N, out\].
    pub(crate) fn forward_activation(
        &self,
        x: Tensor<B, 2>,
        activation: Activation,
        precision: Precision,
    ) -> Tensor<B, 2> {
        match self.weight_and_bias().filter(|_| activation == Activation::Gelu) {
            Some((weight, bias)) => B::k_linear_gelu(x, weight, bias, precision),
            None => B::k_activation(self.forward(x, precision), activation),
        }
    }

    /// Returns the output of the layer, the residual and the norm: x \[N, in\] -> \[N, out\].
    pub(crate) fn forward_add_norm(
        &self,
        x: Tensor<B, 2>,
        add: AddNorm<'_, B>,
        precision: Precision,
    ) -> Tensor<B, 2> {
        match self.weight_and_bias() {
            Some(layer) => B::k_linear_add_norm(x, layer, add, precision),
            None => add_norm(self.forward(x, precision), add),
        }
    }
}

/// Adds the residual and applies the norm after a layer, or after its bottleneck.
pub(crate) fn add_norm<B: Kernels>(x: Tensor<B, 2>, add: AddNorm<'_, B>) -> Tensor<B, 2> {
    let AddNorm { residual, affine, eps, dropout, rows } = add;
    B::k_drop_add_norm(x, Some(residual), affine, eps, dropout, rows)
}

impl<B: Kernels> Norm<B> {
    pub(crate) fn parts(&self) -> [Tensor<B, 1>; 2] {
        let gamma = self.gamma.val();
        let beta = match &self.beta {
            Some(beta) => beta.val(),
            None => Tensor::zeros(gamma.dims(), &gamma.device()),
        };
        [gamma, beta]
    }

    /// Returns the normed rows.
    ///
    /// # Shapes
    /// \[N, H\] -> \[N, H\]
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, eps: f64, rows: &Rows) -> Tensor<B, 2> {
        match self.centred {
            true => B::k_drop_add_norm(x, None, self.parts(), eps, Dropout::OFF, rows),
            false => B::k_rms_norm(x, self.gamma.val(), eps, rows),
        }
    }
}

impl<B: Kernels> Lora<B> {
    /// Returns the term that is added to the layer's output.
    ///
    /// # Shapes
    /// \[N, in\] -> \[N, out\]
    #[must_use]
    pub fn forward(&self, x: Tensor<B, 2>, precision: Precision) -> Tensor<B, 2> {
        let inner = B::k_product(x, self.a.val(), precision).mul_scalar(self.scale);
        B::k_product(inner, self.b.val(), precision)
    }
}
