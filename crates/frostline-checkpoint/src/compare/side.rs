//! One of the two checkpoints of a comparison.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::tensor::Weights;
use crate::{Checkpoint, OptimiserState};

/// One of the two checkpoints.
#[derive(Clone, Copy)]
pub struct ComparedSide<'a> {
    pub(super) weights: &'a dyn Weights,
    pub(super) optimiser: Option<&'a OptimiserState>,
    pub(super) adapter: Option<&'a Value>,
    pub(super) left_out: Option<&'a BTreeMap<String, String>>,
}

impl<'a> ComparedSide<'a> {
    /// Describes weights without an optimiser, such as a state dict in memory.
    #[must_use]
    pub fn new(weights: &'a dyn Weights) -> Self {
        Self { weights, optimiser: None, adapter: None, left_out: None }
    }

    /// Adds an optimiser's state.
    #[must_use]
    pub const fn with_optimiser(self, optimiser: Option<&'a OptimiserState>) -> Self {
        Self { optimiser, ..self }
    }
}

impl<'a> From<&'a Checkpoint> for ComparedSide<'a> {
    fn from(checkpoint: &'a Checkpoint) -> Self {
        Self {
            weights: checkpoint,
            optimiser: checkpoint.optimiser(),
            adapter: checkpoint.adapter(),
            left_out: Some(checkpoint.left_out()),
        }
    }
}
