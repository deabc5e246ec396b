//! What the optimiser keeps of a parameter.

use std::collections::HashMap;

use burn::module::ParamId;
use burn::prelude::*;

/// A parameter's state. Its steps count from its own first gradient, as in PyTorch, so that what
/// is unfrozen late is corrected for its own beginning.
pub(crate) struct Moments<B: Backend> {
    pub steps: u64,
    /// First and second moment, flattened.
    pub values: [Tensor<B, 1>; 2],
}

/// The state of each parameter that has received a gradient.
pub(crate) type AllMoments<B> = HashMap<ParamId, Moments<B>>;
