//! The hyperparameters of an update.

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
    /// The factor by which gradients are multiplied first (clipping).
    pub gradient_scale: f64,
}
