//! The backends of this build, and the one `match` that selects one of them at run time.

pub use crate::built::{BackendError, Found, names};
#[cfg(feature = "gpu")]
use crate::gpu::quiet::quietly;
use crate::{Kernels, Train};

/// The result of choosing a backend.
type Result<T> = std::result::Result<T, BackendError>;

/// Work that is generic over the differentiating backend.
pub trait Work {
    /// The result.
    type Output;
    /// Does the work on backend `B`.
    fn run<B: Train>(self, device: &B::Device) -> Self::Output;
}

/// Runs work on the backend of this name.
///
/// # Errors
/// If this build lacks the backend, the machine lacks its device, or `FROSTLINE_ISA` does not name a
/// supported instruction set.
#[cfg_attr(not(any(feature = "flex", feature = "ndarray", feature = "gpu")), allow(unused_variables))]
pub fn on<W: Work>(name: &str, work: W) -> Result<W::Output> {
    let requested = std::env::var("FROSTLINE_ISA").unwrap_or_default();
    if !["", "avx2", "portable"].contains(&requested.as_str()) {
        return Err(BackendError::InstructionSet(requested));
    }
    match name {
        #[cfg(feature = "flex")]
        "flex" => Ok(work.run::<burn::backend::Autodiff<burn::backend::Flex>>(&Default::default())),
        #[cfg(feature = "ndarray")]
        "ndarray" => Ok(work.run::<burn::backend::Autodiff<burn::backend::NdArray>>(&Default::default())),
        #[cfg(feature = "cuda")]
        "cuda" => {
            let chosen = crate::gpu::devices::cuda()?;
            opened::<burn::backend::Cuda>("cuda", &chosen.device)?;
            Ok(work.run::<burn::backend::Autodiff<burn::backend::Cuda>>(&chosen.device))
        }
        #[cfg(feature = "wgpu")]
        "wgpu" => {
            let chosen = crate::gpu::devices::wgpu()?;
            opened::<burn::backend::Wgpu>("wgpu", &chosen.device)?;
            Ok(work.run::<burn::backend::Autodiff<burn::backend::Wgpu>>(&chosen.device))
        }
        other => Err(BackendError::NotBuilt(other.into())),
    }
}

/// Checks that the backend can be used.
///
/// # Errors
/// As [`on`].
pub fn check(name: &str) -> Result<()> {
    struct Nothing;
    impl Work for Nothing {
        type Output = ();
        fn run<B: Train>(self, _: &B::Device) {}
    }
    on(name, Nothing)
}

/// Opens a GPU once, since burn panics where that fails.
#[cfg(feature = "gpu")]
fn opened<B: burn::prelude::Backend>(backend: &'static str, device: &B::Device) -> Result<()> {
    let open = || burn::tensor::Tensor::<B, 1>::ones([1], device).into_data();
    quietly(std::panic::AssertUnwindSafe(open)).map(drop).ok_or(BackendError::NoDevice { backend })
}

/// The device that a GPU backend computes on; nothing for a backend on the processor.
///
/// # Errors
/// As [`on`].
pub fn device(name: &str) -> Result<Option<String>> {
    match name {
        #[cfg(feature = "cuda")]
        "cuda" => Ok(Some(crate::gpu::devices::cuda()?.about.clone())),
        #[cfg(feature = "wgpu")]
        "wgpu" => Ok(Some(crate::gpu::devices::wgpu()?.about.clone())),
        _ => check(name).map(|()| None),
    }
}

/// The devices that a GPU backend finds; none for a backend on the processor.
#[must_use]
pub fn devices(name: &str) -> Vec<Found> {
    match name {
        #[cfg(feature = "cuda")]
        "cuda" => crate::gpu::devices::cuda_found(),
        #[cfg(feature = "wgpu")]
        "wgpu" => crate::gpu::devices::wgpu_found(),
        _ => Vec::new(),
    }
}

/// The fastest backend of this build that can compute here: CUDA, then any other GPU, then a processor.
#[must_use]
pub fn best() -> Option<&'static str> {
    let names = names();
    let has_gpu = |name: &str| devices(name).iter().any(|device| device.gpu);
    let gpu = ["cuda", "wgpu"].into_iter().find(|name| names.contains(name) && has_gpu(name));
    gpu.or_else(|| names.iter().copied().find(|name| check(name).is_ok()))
}

/// How many GPUs a backend can compute on here; 0 for a backend on the processor.
#[must_use]
pub fn gpus(name: &str) -> usize {
    devices(name).iter().filter(|device| device.gpu).count()
}

/// What a backend computes with here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// As [`crate::Kernels::k_isa`].
    pub isa: &'static str,
    /// As [`crate::Kernels::k_bf16`].
    pub bf16: bool,
    /// As [`crate::Kernels::k_reproducible`].
    pub reproducible: bool,
}

impl Arithmetic {
    /// That of a backend that is already chosen.
    #[must_use]
    pub fn of<B: Kernels>(device: &B::Device) -> Self {
        Self { isa: B::k_isa(), bf16: B::k_bf16(device), reproducible: B::k_reproducible() }
    }
}

/// What this backend computes with here.
///
/// # Errors
/// As [`on`].
pub fn arithmetic(name: &str) -> Result<Arithmetic> {
    struct Query;
    impl Work for Query {
        type Output = Arithmetic;
        fn run<B: Train>(self, device: &B::Device) -> Self::Output {
            Arithmetic::of::<B>(device)
        }
    }
    on(name, Query)
}
