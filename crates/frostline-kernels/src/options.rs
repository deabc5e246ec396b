//! Arguments of operations: updates of parameters, and what follows a linear layer.

use burn::prelude::*;

use crate::{Dropout, Rows};

/// What follows a linear layer in a block: dropout, a residual and a LayerNorm.
#[derive(Debug)]
pub struct AddNorm<'a, B: Backend> {
    /// \[N, H\]
    pub residual: Tensor<B, 2>,
    /// Gamma and beta, \[H\] each.
    pub affine: [Tensor<B, 1>; 2],
    /// Added to the variance.
    pub eps: f64,
    /// Before the residual is added.
    pub dropout: Dropout,
    /// The identities of the rows.
    pub rows: &'a Rows,
}

/// The hyperparameters of one AdamW update.
///
/// # Source
/// Loshchilov and Hutter, 2019, with PyTorch's order of operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    /// Learning rate of this step.
    pub lr: f64,
    /// Decay rate of the first moment.
    pub beta1: f64,
    /// Decay rate of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay; 0 for biases and LayerNorms.
    pub weight_decay: f64,
    /// The number of this step, from 1.
    pub step: u64,
}

impl AdamW {
    /// What corrects the two moments for having begun at 0.
    pub(crate) fn bias(&self) -> [f64; 2] {
        [self.beta1, self.beta2].map(|beta| 1.0 - libm::pow(beta, self.step as f64))
    }
}

/// A parameter and what its update needs, as vectors of one length.
#[derive(Debug)]
pub struct Update<B: Backend> {
    /// The hyperparameters.
    pub rule: AdamW,
    /// The parameter.
    pub parameter: Tensor<B, 1>,
    /// Its gradient.
    pub gradient: Tensor<B, 1>,
    /// Its first and second moment.
    pub moments: [Tensor<B, 1>; 2],
}

/// A parameter and its moments after an update.
pub type Updated<B> = (Tensor<B, 1>, [Tensor<B, 1>; 2]);

/// What gradients whose squares have these sums are multiplied with, so that their global norm is at most `clip`.
///
/// # Source
/// PyTorch's `clip_grad_norm_`.
#[must_use]
pub fn clipping<B: Backend>(squares: &Tensor<B, 1>, clip: Option<f64>) -> f64 {
    let Some(clip) = clip else { return 1.0 };
    let norm = squares.to_data().iter::<f64>().sum::<f64>().sqrt();
    (clip / (norm + 1e-6)).min(1.0)
}

/// A table and its moments, of which a step updates only the rows that it reads. What AdamW does to a row without a gradient
/// is done when the row is next read, with the same bits.
pub trait LazyTable: Send {
    /// These rows as they are after the last update.
    ///
    /// # Shapes
    /// U row numbers, ascending -> \[U, H\]
    ///
    /// # Panics
    /// If the numbers do not ascend, or one is not below V.
    fn read(&mut self, rows: &[u32]) -> Vec<f32>;

    /// An update in which the rows that were read last have a gradient, which is first multiplied by `scale`.
    ///
    /// # Shapes
    /// gradient \[U, H\]
    ///
    /// # Panics
    /// If the gradient is of other rows.
    fn update(&mut self, rule: &AdamW, scale: f64, gradient: &[f32]);

    /// All rows and their two moments as they are after the last update.
    ///
    /// # Shapes
    /// \[V, H\] each
    fn finish(self: Box<Self>) -> [Vec<f32>; 3];
}

/// Makes a lazy table from the width H, and a table and its moments, \[V, H\] each.
pub type MakeLazyTable = fn(usize, [Vec<f32>; 3]) -> Box<dyn LazyTable>;
