//! The backends of this build, and the one `match` that selects one of them at run time.

use crate::Train;

/// Why a backend cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// `FROSTLINE_ISA` does not name an instruction set.
    #[error(
        "FROSTLINE_ISA is `{0}`, which is no instruction set to step down to: `avx2` and `portable` are; unset it to \
         use all that the processor has"
    )]
    InstructionSet(String),
    /// This build does not have the backend.
    #[error(
        "this build has no backend `{0}`; it has: {list}. Build frostline with `--features {0}` (flex, ndarray, cuda \
         and wgpu exist), or let `cargo xtask sweep --backend {0}` do it",
        list = names().join(", ")
    )]
    NotBuilt(String),
    /// The backend's device is missing.
    #[error(
        "the backend `{backend}` needs {needs}, and none could be opened here; `{look}` shows what the system sees. The \
         backend `flex` runs on any processor",
        needs = if *backend == "cuda" { "an NVIDIA GPU with its driver" } else { "a GPU with Vulkan, Metal or DirectX 12" },
        look = if *backend == "cuda" { "nvidia-smi" } else { "vulkaninfo --summary" }
    )]
    NoDevice {
        /// Its name.
        backend: &'static str,
    },
    /// There is no GPU, only a processor that takes its place.
    #[error(
        "the backend `{backend}` finds no GPU here, only {about}, which is much slower than the backend `flex`; \
         FROSTLINE_DEVICE=software uses it nevertheless"
    )]
    Software {
        /// Its name.
        backend: &'static str,
        /// The device.
        about: String,
    },
    /// There is no device of this number.
    #[error(
        "FROSTLINE_DEVICE is `{asked}`, but the backend `{backend}` finds {count} GPUs here, counted from 0"
    )]
    NoSuchDevice {
        /// Its name.
        backend: &'static str,
        /// What was asked for.
        asked: String,
        /// How many there are.
        count: usize,
    },
    /// `FROSTLINE_DEVICE` does not name a device.
    #[error("FROSTLINE_DEVICE is `{0}`, which is neither a device's number, counted from 0, nor `software`")]
    Asked(String),
}

/// The result of choosing a backend.
type Result<T> = std::result::Result<T, BackendError>;

/// The names of the backends of this build, the preferred one first.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    if cfg!(feature = "flex") {
        names.push("flex");
    }
    if cfg!(feature = "ndarray") {
        names.push("ndarray");
    }
    if cfg!(feature = "cuda") {
        names.push("cuda");
    }
    if cfg!(feature = "wgpu") {
        names.push("wgpu");
    }
    names
}

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
            opened::<burn::backend::Cuda>(name, &chosen.device)?;
            Ok(work.run::<burn::backend::Autodiff<burn::backend::Cuda>>(&chosen.device))
        }
        #[cfg(feature = "wgpu")]
        "wgpu" => {
            let chosen = crate::gpu::devices::wgpu()?;
            opened::<burn::backend::Wgpu>(name, &chosen.device)?;
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
fn opened<B: burn::prelude::Backend>(name: &str, device: &B::Device) -> Result<()> {
    let open = || burn::tensor::Tensor::<B, 1>::ones([1], device).into_data();
    let backend = if name == "cuda" { "cuda" } else { "wgpu" };
    quietly(std::panic::AssertUnwindSafe(open)).map(drop).ok_or(BackendError::NoDevice { backend })
}

/// What something yields; nothing where it panics, of which nothing is printed.
#[cfg(feature = "gpu")]
pub(crate) fn quietly<T>(of: impl FnOnce() -> T + std::panic::UnwindSafe) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let found = std::panic::catch_unwind(of);
    std::panic::set_hook(hook);
    found.ok()
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

/// How many GPUs a backend can compute on here; 0 for a backend on the processor.
#[must_use]
pub fn gpus(name: &str) -> usize {
    match name {
        #[cfg(feature = "cuda")]
        "cuda" => crate::gpu::devices::cuda_gpus(),
        #[cfg(feature = "wgpu")]
        "wgpu" => crate::gpu::devices::wgpu_gpus(),
        _ => 0,
    }
}

/// The instruction set of the kernels on this backend, and whether products of bf16 operands are native.
///
/// # Errors
/// As [`on`].
pub fn instruction_set(name: &str) -> Result<(&'static str, bool)> {
    struct Query;
    impl Work for Query {
        type Output = (&'static str, bool);
        fn run<B: Train>(self, device: &B::Device) -> Self::Output {
            (B::k_isa(), B::k_bf16(device))
        }
    }
    on(name, Query)
}
