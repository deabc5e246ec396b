//! The backends of this build, and the one `match` that selects one of them at run time.
//!
//! # To add a backend
//!
//! `ndarray.rs` is the example; another runtime of CubeCL needs no kernels, only a list of its devices in
//! `gpu/devices.rs`. In `crates/frostline-kernels`: a feature; a file with two empty `impl Kernels` (the backend
//! and its `Autodiff`: stock operations throughout), declared in `lib.rs`; in `src/backend.rs` its name in `names`,
//! an arm of the `match` in `on`, a check that its device is there (as `open_device`), the text of the errors, and the
//! feature in the `cfg_attr` of what is unused without any backend. The feature is passed on in the `Cargo.toml` of
//! `frostline-tagger`, `frostline-cell` and `frostline`; its name is a `Backend` (with `Display`) in
//! `crates/frostline-sweep/src/args.rs`, from which `xtask/src/build.rs` takes the feature. Then the tables of
//! `docs/backends.md` and of the crates' READMEs, the glossary, the help texts that list backends, the peer's device
//! (`bench/src/peer.rs`), and a step in `xtask/src/ci/steps.rs`.

pub use crate::built::{BackendError, Found, feature, names};
#[cfg(feature = "gpu")]
use crate::gpu::quiet::quietly;
use crate::{Kernels, Precision, Train};

/// The result of choosing a backend.
type Result<T> = std::result::Result<T, BackendError>;

/// Work that is generic over the differentiating backend.
pub trait Work {
    /// The result.
    type Output;
    /// Does the work on backend `B`.
    fn run<B: Train>(self, device: &B::Device) -> Self::Output;
}

/// Runs work on the backend of this name. `amx` is `flex` with bf16 in the matrix unit, on this thread and for this work alone:
/// other threads and later calls need [`MatrixUnitChoice`].
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
        "flex" | "amx" => {
            let asked = name == "amx";
            if asked && !crate::cpu::has_matrix_unit() {
                return Err(BackendError::NoMatrixUnit);
            }
            Ok(crate::cpu::with_matrix_unit(asked, || {
                work.run::<burn::backend::Autodiff<burn::backend::Flex>>(&Default::default())
            }))
        }
        #[cfg(feature = "ndarray")]
        "ndarray" => Ok(work.run::<burn::backend::Autodiff<burn::backend::NdArray>>(&Default::default())),
        #[cfg(feature = "cuda")]
        "cuda" => {
            let chosen = crate::gpu::devices::cuda()?;
            open_device::<burn::backend::Cuda>("cuda", &chosen.device)?;
            Ok(work.run::<burn::backend::Autodiff<burn::backend::Cuda>>(&chosen.device))
        }
        #[cfg(feature = "wgpu")]
        "wgpu" => {
            let chosen = crate::gpu::devices::wgpu()?;
            open_device::<burn::backend::Wgpu>("wgpu", &chosen.device)?;
            Ok(work.run::<burn::backend::Autodiff<burn::backend::Wgpu>>(&chosen.device))
        }
        other => Err(BackendError::NotBuilt(other.into())),
    }
}

/// What [`on`] chose for this thread and a backend's type does not say: whether products of bf16 run in the matrix unit.
#[derive(Clone, Copy, Debug)]
pub struct MatrixUnitChoice {
    /// Only ever true where there is one.
    in_matrix_unit: bool,
}

impl MatrixUnitChoice {
    /// That of this thread.
    #[must_use]
    pub fn here() -> Self {
        #[cfg(feature = "flex")]
        let in_matrix_unit = crate::cpu::in_matrix_unit();
        #[cfg(not(feature = "flex"))]
        let in_matrix_unit = false;
        Self { in_matrix_unit }
    }

    /// Whether it is the matrix unit.
    #[must_use]
    pub const fn is_matrix_unit(self) -> bool {
        self.in_matrix_unit
    }

    /// Whether threads may compute forward passes side by side: on a processor where a result depends neither on the other rows of a
    /// pass nor on the number of threads.
    #[must_use]
    pub fn passes_on_threads<B: Kernels>(self) -> bool {
        B::k_reproducible() || self.in_matrix_unit
    }

    /// Runs work with it, on whatever thread.
    pub fn run<T>(self, work: impl FnOnce() -> T) -> T {
        #[cfg(feature = "flex")]
        return crate::cpu::with_matrix_unit(self.in_matrix_unit, work);
        #[cfg(not(feature = "flex"))]
        work()
    }
}

/// A backend to compute on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendChoice {
    /// Its name.
    pub name: String,
    /// Why this one, if the program chose it among several: its device, or what GPU backends of this build lack here.
    pub reason: Option<String>,
}

/// Returns the backend that is asked for, which is not checked. `auto` is the fastest backend that can compute here. Without a
/// name, the answer is [`default_name`]'s.
///
/// # Errors
/// If no backend of this build can compute here.
pub fn choose_backend(asked: Option<&str>) -> Result<BackendChoice> {
    let asked = match asked {
        Some(name) => Some(name),
        None => default_name(),
    };
    match asked.ok_or(BackendError::NoneHere)? {
        "auto" => {
            let name = best().ok_or(BackendError::NoneHere)?;
            Ok(BackendChoice { name: name.into(), reason: Some(explain_choice(name)) })
        }
        name => Ok(BackendChoice { name: name.into(), reason: None }),
    }
}

/// Returns the backend of this build if none is asked for: `auto` if it has a GPU's among others, otherwise its first.
#[must_use]
pub fn default_name() -> Option<&'static str> {
    let names = names();
    match names.iter().any(|name| ["cuda", "wgpu"].contains(name)) && names.len() > 1 {
        true => Some("auto"),
        false => names.first().copied(),
    }
}

/// Explains why [`best`] is this backend.
fn explain_choice(name: &str) -> String {
    if let Ok(Some(about)) = device(name) {
        let others: Vec<&str> = names().into_iter().filter(|other| *other != name).collect();
        return format!("on {about}; this build also has {}", others.join(", "));
    }
    let gpus = ["cuda", "wgpu"].into_iter().filter(|gpu| names().contains(gpu));
    let lacks: Vec<String> = gpus
        .map(|gpu| match devices(gpu).first() {
            None => format!("{gpu} finds no GPU"),
            Some(found) if found.gpu => format!("{gpu} cannot open {}", found.about),
            Some(found) => format!("{gpu} finds no GPU, only {}", found.about),
        })
        .collect();
    match lacks.is_empty() {
        true => "this build has no backend for GPUs".into(),
        false => lacks.join("; "),
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
fn open_device<B: burn::prelude::Backend>(backend: &'static str, device: &B::Device) -> Result<()> {
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

/// The fastest backend of this build that can compute here: CUDA, then any other GPU, then a processor. A GPU is opened to
/// find out: one that a driver lists may be in use or broken.
#[must_use]
pub fn best() -> Option<&'static str> {
    let names = names();
    let computes_on_gpu = |name: &str| is_gpu(name) && check(name).is_ok();
    let gpu = ["cuda", "wgpu"].into_iter().find(|name| names.contains(name) && computes_on_gpu(name));
    gpu.or_else(|| names.iter().copied().find(|name| check(name).is_ok()))
}

/// Whether the device that this backend would choose is a GPU, and not software that takes its place.
#[must_use]
pub fn is_gpu(name: &str) -> bool {
    match name {
        #[cfg(feature = "cuda")]
        "cuda" => crate::gpu::devices::cuda().is_ok_and(|device| !device.software),
        #[cfg(feature = "wgpu")]
        "wgpu" => crate::gpu::devices::wgpu().is_ok_and(|device| !device.software),
        _ => false,
    }
}

/// How many GPUs a backend can compute on here; 0 for a backend on the processor.
#[must_use]
pub fn gpus(name: &str) -> usize {
    devices(name).iter().filter(|device| device.gpu).count()
}

/// Whether a step on this backend updates only the rows of a word table that it reads: [`Kernels::k_lazy_table`].
#[must_use]
pub fn has_lazy_tables(name: &str) -> bool {
    ["flex", "amx"].contains(&name)
}

/// What a backend computes with here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// As [`crate::Kernels::k_isa`].
    pub isa: &'static str,
    /// The precisions besides f32 whose products are native: [`crate::Kernels::k_native`].
    pub native: Vec<Precision>,
    /// As [`crate::Kernels::k_reproducible`].
    pub reproducible: bool,
}

impl Arithmetic {
    /// That of a backend that is already chosen.
    #[must_use]
    pub fn of<B: Kernels>(device: &B::Device) -> Self {
        let native =
            Precision::ROUNDING.into_iter().filter(|precision| B::k_native(*precision, device)).collect();
        Self { isa: B::k_isa(), native, reproducible: B::k_reproducible() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lazy_tables_are_said_of_backends_that_make_them() {
        struct Makes;
        impl Work for Makes {
            type Output = bool;
            fn run<B: Train>(self, _: &B::Device) -> bool {
                B::InnerBackend::k_lazy_table().is_some()
            }
        }
        for name in names() {
            if let Ok(makes) = on(name, Makes) {
                assert_eq!(has_lazy_tables(name), makes, "{name}");
            }
        }
    }

    #[test]
    fn auto_is_a_backend_that_computes_here() {
        match choose_backend(Some("auto")) {
            Ok(BackendChoice { name, reason }) => {
                assert_eq!(Some(name.as_str()), best());
                assert!(names().contains(&name.as_str()) && check(&name).is_ok(), "{name}");
                assert!(reason.is_some_and(|reason| !reason.is_empty()), "{name}");
            }
            Err(error) => assert!(matches!(error, BackendError::NoneHere), "{error}"),
        }
        let asked = choose_backend(Some("abacus")).expect("a name as it is");
        assert_eq!(asked, BackendChoice { name: "abacus".into(), reason: None });
    }

    #[test]
    fn a_build_with_a_gpu_backend_among_others_chooses_by_itself() {
        let has_gpu = cfg!(feature = "gpu");
        let has_others =
            cfg!(any(feature = "flex", feature = "ndarray", all(feature = "cuda", feature = "wgpu")));
        let expected = if has_gpu && has_others { Some("auto") } else { names().first().copied() };
        assert_eq!(default_name(), expected);
        let reason = choose_backend(None).ok().and_then(|choice| choice.reason);
        assert_eq!(reason.is_some(), expected == Some("auto"));
    }

    /// Software that takes a GPU's place is slower than a processor's backend, so it is never the fastest.
    #[cfg(all(feature = "flex", feature = "wgpu"))]
    #[test]
    fn software_is_not_the_fastest() {
        let has_gpu = devices("wgpu").iter().any(|device| device.gpu);
        let is_software = std::env::var("FROSTLINE_DEVICE").is_ok_and(|asked| asked == "software");
        if !has_gpu || is_software {
            assert_ne!(best(), Some("wgpu"));
        }
    }
}
