//! A learned mix of all blocks' outputs.

use burn::module::{Module, Param};
use burn::prelude::*;
use frostline_kernels::Kernels;

use crate::linear::Builder;
use crate::{EncoderConfig, ModelError};

/// A mix of hidden states: gamma times their mean, weighted by the softmax of the weights.
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
    /// Returns the mix, if there is one.
    pub fn mix(&self, config: &EncoderConfig) -> Result<Option<Mix<B>>, ModelError> {
        if !config.extras.mix {
            return Ok(None);
        }
        let weights = self.tensor("mix.weights", [config.depth + 1])?;
        Ok(Some(Mix { weights, gamma: self.tensor("mix.gamma", [1])? }))
    }
}

impl<B: Kernels> Mix<B> {
    /// Mixes the embeddings' output and the output of each block.
    ///
    /// # Panics
    /// If `layers` is empty.
    ///
    /// # Shapes
    /// depth + 1 of \[M, H\] -> \[M, H\]
    #[must_use]
    pub fn forward(&self, layers: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
        let shares = B::k_shares(self.weights.val(), self.gamma.val());
        let parts = layers.into_iter().enumerate();
        let parts = parts.map(|(number, layer)| B::k_scaled(layer, shares.clone(), number));
        parts.reduce(|sum, part| sum + part).expect("a mix has at least one part")
    }
}
