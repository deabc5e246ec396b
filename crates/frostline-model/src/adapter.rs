//! Bottleneck adapters.

use burn::module::Module;
use burn::prelude::*;
use frostline_kernels::{Kernels, Precision};

use crate::extras::AdapterShape;
use crate::linear::{Builder, Linear};
use crate::{EncoderConfig, ModelError};

/// A bottleneck with a residual.
#[derive(Module, Debug)]
pub struct Adapter<B: Backend> {
    /// \[H, size\]
    pub down: Linear<B>,
    /// \[size, H\]
    pub up: Linear<B>,
}

impl<B: Backend> Builder<'_, B> {
    /// Returns a block's bottleneck, if it has one.
    pub fn adapter(&self, config: &EncoderConfig, block: usize) -> Result<Option<Adapter<B>>, ModelError> {
        let wanted = |adapters: &&AdapterShape| adapters.blocks.contains(&block);
        let Some(adapters) = config.extras.adapters.as_ref().filter(wanted) else { return Ok(None) };
        let path = format!("encoder.blocks.{block}.adapter");
        let (h, size) = (config.hidden, adapters.size);
        let [down, up] = ["down", "up"].map(|part| format!("{path}.{part}"));
        Ok(Some(Adapter {
            down: self.linear(&down, [h, size], true)?,
            up: self.linear(&up, [size, h], true)?,
        }))
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
