//! burn's ndarray backend: stock operations throughout.

use burn::backend::{Autodiff, NdArray, autodiff::checkpoint::strategy::CheckpointStrategy};

use crate::Kernels;

impl Kernels for NdArray {}
impl<C: CheckpointStrategy> Kernels for Autodiff<NdArray, C> {}
