//! Builds the worker program for one backend, and keeps a copy of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use frostline_sweep::Backend;
use frostline_sweep::Program;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::note;

use crate::workspace;

/// How the program is built: the name of a profile in Cargo.toml.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BuildProfile {
    /// Soon, to be used here.
    Runner,
    /// As installed programs are built.
    Release,
}

impl BuildProfile {
    const fn profile_name(self) -> &'static str {
        match self {
            Self::Runner => "runner",
            Self::Release => "release",
        }
    }
}

/// Builds the program, or uses the given one, and checks that it starts.
pub(crate) fn prepare_program(
    backend: Backend,
    given: Option<&Path>,
    profile: BuildProfile,
) -> CommandResult<Program> {
    let name = backend.to_string();
    let program = start_program(backend, given, || {
        build_program(backend_features(backend, has_nvidia()), &name, profile)
    })?;
    // A release is measured: nothing else of it runs.
    if matches!(profile, BuildProfile::Release) {
        program.stop_assistant();
    }
    Ok(program)
}

/// A release with the backend `flex` in it, as which the other one has to compute.
pub(crate) fn prepare_beside_flex(backend: Backend, given: Option<&Path>) -> CommandResult<Program> {
    let program = start_program(backend, given, || match backend_features(backend, has_nvidia()) {
        all if all.split(',').any(|feature| feature == "flex") => {
            build_program(all, &backend.to_string(), BuildProfile::Release)
        }
        alone => {
            build_program(&format!("flex,{alone}"), &format!("{backend}-and-flex"), BuildProfile::Release)
        }
    })?;
    program.stop_assistant();
    Ok(program)
}

fn start_program(
    backend: Backend,
    given: Option<&Path>,
    build: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> CommandResult<Program> {
    let path = match given {
        Some(path) => path.to_path_buf(),
        None => build().blame_environment()?,
    };
    Program::at(&path, backend, git_revision())
}

/// Builds the program with these features, showing cargo's progress, and copies it under a name, so that a build with others
/// cannot replace it during a running sweep.
fn build_program(features: &str, name: &str, profile: BuildProfile) -> anyhow::Result<PathBuf> {
    let profile = profile.profile_name();
    note!("build     frostline for {name} ({profile}; minutes at first, seconds afterwards)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--profile", profile, "--package", "frostline"])
        .args(["--no-default-features", "--features", features])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace::workspace_root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("frostline for {name} does not build; see the messages of cargo above");
    }
    let built =
        find_executable(&output.stdout).ok_or_else(|| anyhow!("cargo built no binary named `frostline`"))?;
    keep_copy(&built, &format!("{name}-{profile}"))
        .with_context(|| format!("{} cannot be copied", built.display()))
}

/// Returns the features of the build. If the program chooses its backend: one for processors, one for any GPU, and
/// with an NVIDIA GPU also its own.
const fn backend_features(backend: Backend, nvidia: bool) -> &'static str {
    match backend {
        Backend::Flex | Backend::Amx => "flex",
        Backend::Ndarray => "ndarray",
        Backend::Cuda => "cuda",
        Backend::Wgpu => "wgpu",
        Backend::Auto if nvidia => "flex,cuda,wgpu",
        Backend::Auto => "flex,wgpu",
    }
}

/// Whether the driver of an NVIDIA GPU is here.
fn has_nvidia() -> bool {
    let mut command = Command::new("nvidia-smi");
    command.arg("--list-gpus").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the path of the binary in cargo's messages.
fn find_executable(messages: &[u8]) -> Option<PathBuf> {
    messages
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "frostline")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// Copies a binary to `target/runners/frostline-NAME`, with the profile in the name; a running copy keeps its own file.
fn keep_copy(built: &Path, name: &str) -> std::io::Result<PathBuf> {
    let target = built.ancestors().nth(2).unwrap_or(Path::new("."));
    let folder = target.join("runners");
    std::fs::create_dir_all(&folder)?;
    let kept = folder.join(format!("frostline-{name}{}", std::env::consts::EXE_SUFFIX));
    let part = folder.join(format!("frostline-{name}.{}.part", std::process::id()));
    std::fs::copy(built, &part)?;
    std::fs::rename(&part, &kept)?;
    Ok(kept)
}

/// Returns the git revision, with `+` if tracked files have changes; empty outside a checkout.
fn git_revision() -> String {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(workspace::workspace_root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let Some(revision) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return String::new();
    };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    format!("{revision}{}", if changed { "+" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_chooses_has_a_processors_backend_and_that_of_the_gpu() {
        assert_eq!(backend_features(Backend::Auto, false), "flex,wgpu");
        assert_eq!(backend_features(Backend::Auto, true), "flex,cuda,wgpu");
        for backend in [Backend::Flex, Backend::Ndarray, Backend::Cuda, Backend::Wgpu] {
            assert_eq!(backend_features(backend, true), backend.to_string());
        }
        assert_eq!(backend_features(Backend::Amx, true), "flex");
    }
}
