//! The step `nvrtc`: what the conformance suite runs on a GPU, compiled by CUDA's own compiler on a machine without one.
//!
//! A driver that computes nothing (`tests/cuda/driver.c`) replaces NVIDIA's. The compiler and its headers are packages
//! of a Python environment.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::call::CargoCall;
use super::venv::{on_path, prepare_environment, run_quietly};
use crate::workspace;

/// The driver with the list of packages, from the workspace's root.
const FOLDER: &str = "tests/cuda";

/// Returns the test with a driver and a compiler, or what this machine lacks for it.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn prepare_call(test: CargoCall) -> anyhow::Result<Result<Vec<CargoCall>, String>> {
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        return Ok(Err("it needs Linux on x86-64".into()));
    }
    if !on_path("cc") {
        return Ok(Err("there is no C compiler".into()));
    }
    let (place, source) =
        (workspace::workspace_root().join("target/nvrtc"), workspace::workspace_root().join(FOLDER));
    let libraries = place.join("lib");
    fs::create_dir_all(&libraries).with_context(|| libraries.display().to_string())?;
    let python = match prepare_environment("tests/cuda/requirements.txt")? {
        Ok(python) => python,
        Err(reason) => return Ok(Err(reason)),
    };
    let compiler =
        find_toolkit(&python).context("CUDA's compiler is not where its Python packages had it")?;
    // NVRTC would use a driver of the name `libcuda.so.1`.
    let driver = libraries.join("libcuda.so");
    let arguments = ["-O1", "-shared", "-fPIC", "-o"].map(Path::new);
    if !run_quietly("cc", arguments.into_iter().chain([driver.as_path(), &source.join("driver.c")]), &place) {
        anyhow::bail!("{FOLDER}/driver.c does not compile");
    }
    let paths = std::env::join_paths([libraries, compiler.join("lib")])?;
    // For the test alone: cargo would build burn again for another `CUDA_PATH`.
    let call = test
        .with_variable("FROSTLINE_CUDA_TOOLKIT", compiler.display().to_string())
        .with_variable("FROSTLINE_CUDA_LIBRARIES", paths.to_string_lossy());
    Ok(Ok(vec![call]))
}

/// Returns the folder of the compiler in the packages of this Python.
fn find_toolkit(python: &Path) -> Option<PathBuf> {
    let library = python.parent()?.parent()?.join("lib");
    let mut versions = fs::read_dir(library).ok()?.flatten();
    versions.find_map(|version| {
        let folder = version.path().join("site-packages/nvidia/cu13");
        folder.join("lib/libnvrtc.so.13").is_file().then_some(folder)
    })
}
