//! burn's CUDA backend: stock operations throughout.

use burn::backend::{Autodiff, Cuda, autodiff::checkpoint::strategy::CheckpointStrategy};

use crate::Kernels;

impl Kernels for Cuda {}
impl<C: CheckpointStrategy> Kernels for Autodiff<Cuda, C> {}
