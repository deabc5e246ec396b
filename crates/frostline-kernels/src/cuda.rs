//! CUDA: stock burn, with bf16 products on request and attention in few different shapes.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::{Autodiff, Cuda};
use burn::prelude::*;

use crate::{Dropout, Kernels, Pack, Precision, stock};

/// Sentences are padded to a multiple of this many positions, so that few shapes occur.
const BUCKET: usize = 16;

fn linear<B: Backend>(
    x: Tensor<B, 2>,
    weight: Tensor<B, 2>,
    bias: Tensor<B, 1>,
    precision: Precision,
) -> Tensor<B, 2> {
    match precision {
        Precision::F32 => stock::linear(x, weight, bias),
        Precision::Bf16 => stock::linear_bf16(x, weight, bias),
    }
}

fn attention<B: Backend>(
    qkv: [Tensor<B, 2>; 3],
    heads: usize,
    pack: &Pack,
    dropout: Dropout,
) -> Tensor<B, 2> {
    stock::attention_padded(qkv, heads, pack, dropout, pack.longest().next_multiple_of(BUCKET))
}

macro_rules! kernels {
    () => {
        fn k_bf16(_: &Self::Device) -> bool {
            true
        }

        fn k_linear(
            x: Tensor<Self, 2>,
            weight: Tensor<Self, 2>,
            bias: Tensor<Self, 1>,
            precision: Precision,
        ) -> Tensor<Self, 2> {
            linear(x, weight, bias, precision)
        }

        fn k_attention(
            qkv: [Tensor<Self, 2>; 3],
            heads: usize,
            pack: &Pack,
            dropout: Dropout,
        ) -> Tensor<Self, 2> {
            attention(qkv, heads, pack, dropout)
        }
    };
}

impl Kernels for Cuda {
    kernels!();
}

impl<C: CheckpointStrategy> Kernels for Autodiff<Cuda, C> {
    kernels!();
}
