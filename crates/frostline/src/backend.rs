//! The backends this build carries, and the one `match` that picks one at run time.

use anyhow::{Result, bail};
use frostline_record::NATIVE_BF16;

/// Names of the backends of this build, the preferred one first.
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
pub trait Task {
    /// What comes out.
    type Output;
    /// Does the work on backend `B`.
    fn run<B: frostline_kernels::Train>(self, device: &B::Device) -> Self::Output;
}

/// Runs a task on the backend of this name.
///
/// # Errors
/// Where this build lacks the backend, or the machine lacks its device; where `FROSTLINE_ISA` names
/// nothing that the kernels know.
pub fn on<T: Task>(name: &str, task: T) -> Result<T::Output> {
    let asked = std::env::var("FROSTLINE_ISA").unwrap_or_default();
    if !["", "avx2", "portable"].contains(&asked.as_str()) {
        bail!(
            "FROSTLINE_ISA is `{asked}`, which is no instruction set to step down to: `avx2` and `portable` \
             are; unset it to use all that the processor has"
        );
    }
    match name {
        #[cfg(feature = "flex")]
        "flex" => Ok(task.run::<burn::backend::Autodiff<burn::backend::Flex>>(&Default::default())),
        #[cfg(feature = "ndarray")]
        "ndarray" => Ok(task.run::<burn::backend::Autodiff<burn::backend::NdArray>>(&Default::default())),
        #[cfg(feature = "cuda")]
        "cuda" => {
            cuda_device()?;
            Ok(task.run::<burn::backend::Autodiff<burn::backend::Cuda>>(&Default::default()))
        }
        other => bail!(
            "this build has no backend `{other}`; it has: {}. Build with `--features {other}` \
             (flex, ndarray and cuda exist), or let `cargo xtask sweep --backend {other}` do it",
            names().join(", ")
        ),
    }
}

/// Checks that the backend's device is there.
///
/// # Errors
/// Where the build lacks the backend or the machine its device.
pub fn check(name: &str) -> Result<()> {
    struct Nothing;
    impl Task for Nothing {
        type Output = ();
        fn run<B: frostline_kernels::Train>(self, _: &B::Device) {}
    }
    on(name, Nothing)
}

/// Opens the GPU once: burn panics where there is none.
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
        bail!(
            "the backend `cuda` needs an NVIDIA GPU with its driver, and none could be opened here; \
             `nvidia-smi` shows what the system sees. The backend `flex` runs on any processor"
        );
    }
    Ok(())
}

/// What products run on here, as records tell it in `made_by.isa`.
///
/// # Errors
/// As [`on`].
pub fn isa(name: &str) -> Result<String> {
    struct Isa;
    impl Task for Isa {
        type Output = String;
        fn run<B: frostline_kernels::Train>(self, device: &B::Device) -> String {
            isa_on::<B>(device)
        }
    }
    on(name, Isa)
}

/// The instruction set of the kernels, with [`NATIVE_BF16`] where products of bf16 are native. All
/// that the machine adds to a result: what differs in it does not repeat bit for bit.
pub(crate) fn isa_on<B: frostline_kernels::Kernels>(device: &B::Device) -> String {
    let bf16 = if B::k_bf16(device) { NATIVE_BF16 } else { "" };
    format!("{}{bf16}", B::k_isa())
}
