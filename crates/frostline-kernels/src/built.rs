//! What this build has: the names of its backends, and why one cannot be used.

/// The names of the backends of this build, the preferred one first.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    if cfg!(feature = "flex") {
        names.push("flex");
        if cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            names.push("amx");
        }
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

/// The feature of the program that has a backend.
#[must_use]
pub fn feature(backend: &str) -> &str {
    if backend == "amx" { "flex" } else { backend }
}

/// A device that a backend can compute on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The number by which `FROSTLINE_DEVICE` names it; `software` for what is not a GPU.
    pub asked: String,
    /// Its name, kind and driver.
    pub about: String,
    /// Whether it is a GPU, and not a processor that takes its place.
    pub gpu: bool,
}

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
        "this build has no backend `{0}`; it has: {list}. Build frostline with `--features {feature}` (flex, ndarray, cuda \
         and wgpu exist), or let `cargo xtask sweep --backend {0}` do it",
        feature = feature(_0),
        list = names().join(", ")
    )]
    NotBuilt(String),
    /// No backend can compute here.
    #[error(
        "no backend of this build can compute here; it has: {list}. Build frostline with `--features flex`, which runs on \
         any processor",
        list = if names().is_empty() { "none".into() } else { names().join(", ") }
    )]
    NoneHere,
    /// The processor has no matrix unit.
    #[error(
        "the backend `amx` needs an Intel processor with AMX (`amx_bf16` in /proc/cpuinfo: Xeon since 2023), on Linux, and \
         without FROSTLINE_ISA; the backend `flex` computes bf16 on any processor"
    )]
    NoMatrixUnit,
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
