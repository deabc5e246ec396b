//! Linear layers, with low-rank matrices if they were added, and LayerNorms.

use burn::module::{Module, Param};
use burn::prelude::*;
use frostline_kernels::{Activation, AddNorm, Dropout, Kernels, Precision, Rows};

use crate::extras::{FactorSide, LoraShape};
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
    /// Learned factors of the input or of the output, if any.
    pub ia3: Option<Factors<B>>,
}

/// Learned factors of a layer's input or output.
#[derive(Module, Debug)]
pub struct Factors<B: Backend> {
    /// \[in\] or \[out\]
    pub factors: Param<Tensor<B, 1>>,
    /// Whether the input is multiplied, or the output.
    #[module(skip)]
    pub of_input: bool,
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
    /// \[out\]: the learned norms of the columns, if the layer has them (DoRA).
    pub magnitude: Option<Param<Tensor<B, 1>>>,
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
    /// Returns IA3's factors of a block's linear layer, if it has them.
    pub fn ia3(
        &self,
        config: &EncoderConfig,
        block: usize,
        matrix: Matrix,
    ) -> Result<Option<Factors<B>>, ModelError> {
        let width = matrix.ia3_width(config).filter(|_| config.extras.ia3.contains(&block));
        let path = format!("encoder.blocks.{block}.{}.ia3.factors", matrix.name());
        let of_input = matrix.ia3_side() == Some(FactorSide::Input);
        width.map(|width| Ok(Factors { factors: self.tensor(&path, [width])?, of_input })).transpose()
    }

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
        Ok(Linear { weight, bias, lora: None, ia3: None })
    }

    pub fn norm(&self, path: &str, config: &EncoderConfig, width: usize) -> Result<Norm<B>, ModelError> {
        let gamma = self.tensor(&format!("{path}.gamma"), [width])?;
        let has_bias = config.architecture.norm_bias;
        let beta = has_bias.then(|| self.tensor(&format!("{path}.beta"), [width])).transpose()?;
        Ok(Norm { gamma, beta, centred: config.architecture.centred_norms })
    }

    /// Returns the low-rank matrices of a block's linear layer, if it has them. Learned norms start as the norms of the weight's
    /// columns.
    pub fn lora(
        &self,
        config: &EncoderConfig,
        block: usize,
        matrix: Matrix,
        weight: &Tensor<B, 2>,
    ) -> Result<Option<Lora<B>>, ModelError> {
        let wanted = |lora: &&LoraShape| lora.blocks.contains(&block) && lora.matrices.contains(&matrix);
        let Some(lora) = config.extras.lora.as_ref().filter(wanted) else { return Ok(None) };
        let path = format!("encoder.blocks.{block}.{}.lora", matrix.name());
        let [from, to] = matrix.sides(config);
        Ok(Some(Lora {
            a: self.tensor(&format!("{path}.a"), [from, lora.rank])?,
            b: self.tensor(&format!("{path}.b"), [lora.rank, to])?,
            magnitude: lora
                .normed_blocks
                .contains(&block)
                .then(|| self.parameter(column_norms(weight), [to])),
            scale: lora.scale(),
        }))
    }
}

/// Returns the norm of each column of a weight.
fn column_norms<B: Backend>(weight: &Tensor<B, 2>) -> Vec<f32> {
    let values = weight.to_data().into_vec::<f32>().expect("weights are f32");
    norms_of(&values, weight.dims()[1]).into_iter().map(|norm| norm as f32).collect()
}

/// Returns the norm of each of a matrix's columns.
pub(crate) fn norms_of(values: &[f32], columns: usize) -> Vec<f64> {
    let mut squares = vec![0f64; columns];
    for row in values.chunks_exact(columns) {
        squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value).powi(2));
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// Returns rows that are all the same, as a product: its gradient is then summed as a linear layer sums.
///
/// # Shapes
/// \[1, W\] -> \[N, W\]
fn repeated<B: Kernels>(row: Tensor<B, 2>, rows: usize) -> Tensor<B, 2> {
    B::k_product(Tensor::ones([rows, 1], &row.device()), row, Precision::F32)
}

/// Multiplies each row by the same factors: x \[N, W\], factors \[W\] -> \[N, W\].
fn scaled<B: Kernels>(x: Tensor<B, 2>, factors: Tensor<B, 1>) -> Tensor<B, 2> {
    let rows = x.dims()[0];
    x * repeated(factors.unsqueeze(), rows)
}

impl<B: Kernels> Linear<B> {
    /// Returns the weight and the bias, if these are all there is.
    pub(crate) fn weight_and_bias(&self) -> Option<(Tensor<B, 2>, Tensor<B, 1>)> {
        let is_plain = self.lora.is_none() && self.ia3.is_none();
        is_plain.then(|| (self.weight.val(), self.bias_or_zeros()))
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
        match &self.ia3 {
            None => self.forward_unscaled(x, precision),
            Some(Factors { factors, of_input: true }) => {
                self.forward_unscaled(scaled(x, factors.val()), precision)
            }
            Some(Factors { factors, .. }) => scaled(self.forward_unscaled(x, precision), factors.val()),
        }
    }

    /// Returns the output without IA3's factors.
    fn forward_unscaled(&self, x: Tensor<B, 2>, precision: Precision) -> Tensor<B, 2> {
        let own = |x| B::k_linear(x, self.weight.val(), self.bias_or_zeros(), precision);
        let Some(lora) = &self.lora else { return own(x) };
        let Some(magnitude) = &lora.magnitude else { return own(x.clone()) + lora.forward(x, precision) };
        let rows = x.dims()[0];
        let product = B::k_product(x.clone(), self.weight.val(), precision) + lora.forward(x, precision);
        let ratio = magnitude.val() / lora.norms_of_columns(self.weight.val());
        let normed = scaled(product, ratio);
        match &self.bias {
            None => normed,
            Some(bias) => normed + repeated(bias.val().unsqueeze(), rows),
        }
    }

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
    /// Returns the norms of the columns of the weight with the low-rank product, through which no gradient passes, as in the
    /// paper's section 4.3.
    ///
    /// # Shapes
    /// \[in, out\] -> \[out\]
    fn norms_of_columns(&self, weight: Tensor<B, 2>) -> Tensor<B, 1> {
        let (a, b) = (self.a.val().detach(), self.b.val().detach());
        let inputs = weight.dims()[0];
        let whole = weight.detach() + B::k_product(a.mul_scalar(self.scale), b, Precision::F32);
        let ones = Tensor::ones([1, inputs], &whole.device());
        B::k_product(ones, whole.clone() * whole, Precision::F32).sqrt().squeeze_dim(0)
    }

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
