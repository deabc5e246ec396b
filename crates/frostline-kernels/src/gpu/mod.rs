//! Frostline's own kernels for GPUs, written once in CubeCL for CUDA, Vulkan, Metal and DirectX 12.
//!
//! Every sum has a fixed order: there are no atomics. Kernels of a training step read row numbers, labels, boundaries and
//! identities from one buffer per batch; dropout masks are computed where they are needed.

mod adamw;
mod attention;
mod autodiff;
mod backend;
mod columns;
pub(crate) mod devices;
mod gather;
mod gelu;
mod loss;
mod mask;
mod memory;
mod norm;
mod product;
pub(crate) mod quiet;
mod reduce;
mod self_attention;

use burn::prelude::*;
use burn::tensor::{DType, Shape, TensorPrimitive};
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime};
use cubecl::bytes::Bytes;
use cubecl::prelude::{ArrayArg, ComputeClient, CubeCount, CubeDim};
use cubecl::server::Handle;

use crate::Values;
use crate::numbers::{DeviceList, TransferLayout};

/// burn's backend for the devices of a runtime.
type Cube<R, BT> = CubeBackend<R, f32, i32, BT>;

/// Most units of a cube that every device has.
const UNITS: u32 = 256;

/// Most cubes in one dimension that every device has.
const MOST_CUBES: u32 = 65_535;

/// The contiguous values of a tensor.
fn raw<R: CubeRuntime, BT: BoolElement, const D: usize>(tensor: Tensor<Cube<R, BT>, D>) -> CubeTensor<R> {
    into_contiguous(tensor.into_primitive().tensor())
}

fn wrap<B: Backend, const D: usize>(tensor: B::FloatTensorPrimitive) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(tensor))
}

/// A tensor of this shape beside another one, with undefined values.
fn fresh<R: CubeRuntime, const D: usize>(beside: &CubeTensor<R>, shape: [usize; D]) -> CubeTensor<R> {
    let shape = Shape::from(shape.to_vec());
    let tensor =
        empty_device_contiguous_dtype(beside.client.clone(), beside.device.clone(), shape, DType::F32);
    memory::note(&beside.client);
    tensor
}

/// Rows and columns of a matrix.
fn sides<R: CubeRuntime>(matrix: &CubeTensor<R>) -> [usize; 2] {
    let shape = matrix.meta.shape();
    [shape[0], shape[1]]
}

/// Cubes and units for one unit per element.
fn per_element(elements: usize) -> (CubeCount, CubeDim) {
    (cubes(elements.div_ceil(UNITS as usize)), CubeDim::new_1d(UNITS))
}

/// So many cubes or a few more; a kernel ends those that have nothing to do.
fn cubes(count: usize) -> CubeCount {
    let count = count.max(1) as u32;
    match count {
        0..=MOST_CUBES => CubeCount::Static(count, 1, 1),
        _ => CubeCount::Static(MOST_CUBES, count.div_ceil(MOST_CUBES), 1),
    }
}

/// The device's copy of a list, and of the order of its places (see [`TransferLayout::words`]).
fn copied<R: CubeRuntime>(list: &impl DeviceList, client: &ComputeClient<R>) -> [Handle; 2] {
    let transfer = |layout: TransferLayout| {
        let (words, starts) = layout.into_parts();
        let bytes = words.len() * size_of::<u32>();
        let _told = tracing::trace_span!("upload", bytes).entered();
        ((client.create(Bytes::from_elems(words)), bytes), starts)
    };
    let (copy, starts) = list.on_device::<(Handle, usize)>(transfer);
    let (handle, bytes) = copy;
    let words = list.words().max(1);
    starts.map(|start| {
        let (first, last) = (start * size_of::<u32>(), (start + words) * size_of::<u32>());
        handle.clone().offset_start(first as u64).offset_end((bytes - last) as u64)
    })
}

/// A list of numbers on the device of a tensor, and the order of its places.
fn numbers<R: CubeRuntime>(list: &impl DeviceList, beside: &CubeTensor<R>) -> [ArrayArg<R>; 2] {
    let words = list.words().max(1);
    // SAFETY: the parts lie within their buffer and have so many words.
    copied(list, &beside.client).map(|part| unsafe { ArrayArg::from_raw_parts(part, words) })
}

/// A matrix that came with a batch: a part of the batch's buffer, which is never written to.
fn matrix<R: CubeRuntime>(values: &Values, device: &R::Device) -> CubeTensor<R> {
    let client = R::client(device);
    let [part, _] = copied(values, &client);
    let shape = Shape::from(values.shape().to_vec());
    CubeTensor::new_contiguous(client, device.clone(), shape, part, DType::F32)
}

/// A list of numbers on the device of a tensor.
fn list<R: CubeRuntime>(list: &impl DeviceList, beside: &CubeTensor<R>) -> ArrayArg<R> {
    let [values, _] = numbers(list, beside);
    values
}
