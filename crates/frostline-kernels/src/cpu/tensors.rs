//! From burn's tensors on flex to slices and back.

use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::prelude::*;
use burn::tensor::TensorPrimitive;
use burn::tensor::ops::FloatTensor;

/// A tensor of `Autodiff<Flex, C>`: one type for every checkpoint strategy C.
pub type TrackedFlex = FloatTensor<Autodiff<Flex>>;

/// The tensor with its elements one after the other.
pub fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.as_slice::<f32>().is_some() { tensor } else { tensor.to_contiguous() }
}

/// The tensor with all of its buffer, so that writing to the buffer changes only this tensor.
pub fn whole(tensor: FlexTensor) -> FlexTensor {
    tensor.to_contiguous()
}

/// The elements of a contiguous tensor.
pub fn data(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("kernels see contiguous f32 tensors")
}

/// A tensor of these elements.
pub fn flex<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// A tensor of any backend.
pub fn wrap<B: Backend, const D: usize>(tensor: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(tensor))
}

/// The shape of a matrix.
pub fn shape2(tensor: &FlexTensor) -> [usize; 2] {
    let shape = tensor.layout().shape();
    [shape[0], shape[1]]
}
