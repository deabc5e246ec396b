//! The GPUs of this machine, and which of them computes.

use std::sync::OnceLock;

use crate::built::{BackendError, Found};

/// The environment variable that selects one of several devices: its number, or [`SOFTWARE`].
const ASKED: &str = "FROSTLINE_DEVICE";

/// The device that is not a GPU, such as Mesa's software Vulkan: for tests.
const SOFTWARE: &str = "software";

/// A device that a GPU backend can compute on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuDevice<D> {
    /// What burn calls it.
    pub device: D,
    /// Its name, kind and driver.
    pub about: String,
    /// Whether a processor computes what it is asked to.
    pub software: bool,
}

/// The device that is asked for among those that are there: the first GPU, unless [`ASKED`] says otherwise.
fn choose<D: Clone>(backend: &'static str, all: &[GpuDevice<D>]) -> Result<GpuDevice<D>, BackendError> {
    let asked = std::env::var(ASKED).unwrap_or_default();
    choose_asked(backend, all, &asked)
}

fn choose_asked<D: Clone>(
    backend: &'static str,
    all: &[GpuDevice<D>],
    asked: &str,
) -> Result<GpuDevice<D>, BackendError> {
    let gpus: Vec<&GpuDevice<D>> = all.iter().filter(|device| !device.software).collect();
    let found = match asked {
        SOFTWARE => all.iter().find(|device| device.software),
        "" => gpus.first().copied(),
        number => match number.parse::<usize>() {
            Ok(number) => gpus.get(number).copied(),
            Err(_) => return Err(BackendError::Asked(asked.into())),
        },
    };
    let software = all.iter().find(|device| device.software && gpus.is_empty());
    found.cloned().ok_or_else(|| match (asked, software) {
        ("", Some(software)) => BackendError::Software { backend, about: software.about.clone() },
        ("" | SOFTWARE, _) => BackendError::NoDevice { backend },
        _ => BackendError::NoSuchDevice { backend, asked: asked.into(), count: gpus.len() },
    })
}

/// The adapter that computes, found once.
///
/// # Errors
/// If there is none, or not the one that is asked for.
#[cfg(feature = "wgpu")]
pub(crate) fn wgpu() -> Result<&'static GpuDevice<burn::backend::wgpu::WgpuDevice>, BackendError> {
    static CHOSEN: OnceLock<GpuDevice<burn::backend::wgpu::WgpuDevice>> = OnceLock::new();
    remembered(&CHOSEN, || choose("wgpu", &wgpu_devices()))
}

/// The GPU that computes, found once.
///
/// # Errors
/// If there is none, or not the one that is asked for.
#[cfg(feature = "cuda")]
pub(crate) fn cuda() -> Result<&'static GpuDevice<burn::backend::cuda::CudaDevice>, BackendError> {
    static CHOSEN: OnceLock<GpuDevice<burn::backend::cuda::CudaDevice>> = OnceLock::new();
    remembered(&CHOSEN, || choose("cuda", &cuda_devices()))
}

/// The devices that wgpu finds.
#[cfg(feature = "wgpu")]
pub(crate) fn wgpu_found() -> Vec<Found> {
    found(wgpu_devices())
}

/// The devices that CUDA finds.
#[cfg(feature = "cuda")]
pub(crate) fn cuda_found() -> Vec<Found> {
    found(cuda_devices())
}

/// Devices with what [`ASKED`] calls them: GPUs are counted from 0.
fn found<D>(all: Vec<GpuDevice<D>>) -> Vec<Found> {
    let mut gpus = 0..;
    let name = |device: GpuDevice<D>| {
        let number = if device.software { None } else { gpus.next() };
        let asked = number.map_or_else(|| SOFTWARE.into(), |number: usize| number.to_string());
        Found { asked, about: device.about, gpu: !device.software }
    };
    all.into_iter().map(name).collect()
}

fn remembered<D>(
    chosen: &'static OnceLock<GpuDevice<D>>,
    choose: impl FnOnce() -> Result<GpuDevice<D>, BackendError>,
) -> Result<&'static GpuDevice<D>, BackendError> {
    match chosen.get() {
        Some(device) => Ok(device),
        None => choose().map(|device| chosen.get_or_init(|| device)),
    }
}

/// Every adapter of the system's graphics interface.
#[cfg(feature = "wgpu")]
fn wgpu_devices() -> Vec<GpuDevice<burn::backend::wgpu::WgpuDevice>> {
    use burn::backend::wgpu::WgpuDevice;
    use burn::backend::wgpu::graphics::{AutoGraphicsApi, GraphicsApi as _};
    use wgpu::DeviceType::{Cpu, DiscreteGpu, IntegratedGpu, Other, VirtualGpu};
    let backends = AutoGraphicsApi::backend().into();
    let plain = wgpu::InstanceDescriptor::new_without_display_handle();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor { backends, ..plain });
    let adapters = cubecl::future::block_on(instance.enumerate_adapters(backends));
    let mut counts = [0usize; 3];
    let mut next = |kind: usize| {
        counts[kind] += 1;
        counts[kind] - 1
    };
    let mut all: Vec<(u8, GpuDevice<WgpuDevice>)> = Vec::new();
    for adapter in adapters {
        let info = adapter.get_info();
        let (rank, kind, device) = match info.device_type {
            DiscreteGpu => (0, "discrete GPU", WgpuDevice::DiscreteGpu(next(0))),
            VirtualGpu => (1, "virtual GPU", WgpuDevice::VirtualGpu(next(1))),
            IntegratedGpu => (2, "integrated GPU", WgpuDevice::IntegratedGpu(next(2))),
            Cpu => (3, "software", WgpuDevice::Cpu),
            Other => continue,
        };
        let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
        let about = format!("{}, {kind}, {}, driver {}", info.name, info.backend, driver.trim());
        all.push((rank, GpuDevice { device, about, software: info.device_type == Cpu }));
    }
    all.sort_by_key(|(rank, _)| *rank);
    all.into_iter().map(|(_, device)| device).collect()
}

/// Every GPU of the CUDA driver; none where there is no driver.
#[cfg(feature = "cuda")]
fn cuda_devices() -> Vec<GpuDevice<burn::backend::cuda::CudaDevice>> {
    use burn::backend::cuda::CudaDevice;
    use cudarc::driver::CudaContext;
    let about = |number: usize| {
        let context = CudaContext::new(number).ok()?;
        let gib = context.total_mem().ok()? as f64 / f64::from(1u32 << 30);
        let (major, minor) = context.compute_capability().ok()?;
        Some(format!("{}, {gib:.0} GiB, compute capability {major}.{minor}", context.name().ok()?))
    };
    // The driver's library is opened at the first call, which panics where it is missing.
    let all = || {
        let count = CudaContext::device_count().unwrap_or(0).max(0) as usize;
        (0..count).filter_map(|number| Some((number, about(number)?))).collect()
    };
    let found: Vec<(usize, String)> = super::quiet::quietly(all).unwrap_or_default();
    let device = |(number, about)| GpuDevice { device: CudaDevice::new(number), about, software: false };
    found.into_iter().map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn software_computes_only_where_it_is_asked_for() {
        let device =
            |device: u32, software| GpuDevice { device, about: format!("adapter {device}"), software };
        let all = [device(1, false), device(2, true), device(3, false)];
        let chosen = |all: &[GpuDevice<u32>], asked: &str| {
            choose_asked("wgpu", all, asked).map(|found| found.device).map_err(|error| error.to_string())
        };
        assert_eq!(chosen(&all, ""), Ok(1));
        assert_eq!(chosen(&all, "1"), Ok(3));
        assert_eq!(chosen(&all, "software"), Ok(2));
        assert!(chosen(&all, "2").is_err_and(|error| error.contains("2 GPUs")));
        assert!(chosen(&all, "first").is_err_and(|error| error.contains("`first`")));
        assert!(chosen(&all[1..2], "").is_err_and(|error| error.contains("adapter 2")));
        let asked: Vec<String> = found(all.to_vec()).into_iter().map(|device| device.asked).collect();
        assert_eq!(asked, ["0", "software", "1"]);
        assert!(chosen(&[], "software").is_err_and(|error| error.contains("none could be opened")));
    }
}
