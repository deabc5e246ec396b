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
        "this build has no backend `{0}`; it has: {list}. Build frostline with `--features {0}` (flex, ndarray and \
         cuda exist), or let `cargo xtask sweep --backend {0}` do it",
        list = names().join(", ")
    )]
    NotBuilt(String),
    /// The backend's device is missing.
    #[error(
        "the backend `cuda` needs an NVIDIA GPU with its driver, and none could be opened here; `nvidia-smi` shows \
         what the system sees. The backend `flex` runs on any processor"
    )]
    NoDevice,
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
#[cfg_attr(not(any(feature = "flex", feature = "ndarray", feature = "cuda")), allow(unused_variables))]
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
            cuda_device()?;
            Ok(work.run::<burn::backend::Autodiff<burn::backend::Cuda>>(&Default::default()))
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

/// Opens the GPU once, since burn panics if there is none.
#[cfg(feature = "cuda")]
fn cuda_device() -> Result<()> {
    use burn::backend::{Cuda, cuda::CudaDevice};
    use burn::tensor::Tensor;
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let opened = std::panic::catch_unwind(|| {
        Tensor::<Cuda, 1>::ones([1], &CudaDevice::default()).into_data();
    });
    std::panic::set_hook(hook);
    if opened.is_err() {
        return Err(BackendError::NoDevice);
    }
    Ok(())
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
