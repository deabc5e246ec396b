//! The step `aarch64`: the code for Arm, compiled on this machine and run in an emulator.
//!
//! The kernels' tests compare NEON with the defined sums; whole sweeps of the real program give the digests that
//! `tests/real/bits.rs` keeps. Debian has all that is needed: a compiler whose standard library exists for Arm too, a linker
//! and QEMU's user mode. The emulated programs use Arm's own libraries as a second architecture, since threads hang in those
//! of the cross compiler.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::call::{CargoCall, cargo_call};
use super::venv::on_path;
use crate::workspace;

/// The compiler with a standard library for Arm: the distribution's, not rustup's.
const COMPILER: &str = "/usr/bin/rustc";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";
const TARGET: &str = "aarch64-unknown-linux-gnu";
/// The folder of the build, from the workspace's root.
const FOLDER: &str = "target/aarch64";

/// Returns what this machine lacks for the step, if anything.
pub(super) fn missing_tool() -> Option<&'static str> {
    let library = Path::new("/usr/lib/rustlib").join(TARGET);
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        Some("it needs Linux on x86-64")
    } else if !library.is_dir() || !Path::new(COMPILER).is_file() {
        Some(
            "the compiler for Arm is not here; Debian's packages are `rustc-web` and `libstd-rust-web-dev:arm64`",
        )
    } else if !on_path(LINKER) {
        Some("the linker for Arm is not here; Debian's package is `gcc-aarch64-linux-gnu`")
    } else if !on_path(EMULATOR) {
        Some("QEMU is not here; Debian's package is `qemu-user`")
    } else if !Path::new("/lib/ld-linux-aarch64.so.1").is_file() {
        Some("the libraries for Arm are not here; Debian's package is `libc6:arm64`")
    } else if !linker_works() {
        Some("the C library's start files for Arm are not here; Debian's package is `libc6-dev-arm64-cross`")
    } else {
        None
    }
}

/// Whether the linker finds what every program begins with: the C library's files for development are a package of their own,
/// which the linker's package only recommends.
fn linker_works() -> bool {
    Command::new(LINKER)
        .arg("-print-file-name=Scrt1.o")
        .output()
        .is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute())
}

/// The calls that build for Arm, of which the first runs the kernels' tests.
pub(super) fn build_calls() -> Vec<CargoCall> {
    let common = "--profile quick --config profile.quick.package.frostline-kernels.opt-level=3 \
                  --config profile.quick.package.frostline-random.opt-level=3 --no-default-features --features flex";
    let place = format!("--target {TARGET} --target-dir {FOLDER}");
    [
        format!("test -p frostline-kernels --lib --test stock {common} {place}"),
        format!("build -p frostline {common} {place}"),
    ]
    .map(|words| {
        cargo_call(&words)
            .with_variable("RUSTC", COMPILER)
            .with_variable("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
            .with_variable("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", EMULATOR)
            // The crate gemm has instructions for half floats in functions that only an optimised build puts where they are
            // allowed. Nothing of ours computes in them.
            .with_variable("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-Ctarget-feature=+fp16")
    })
    .into()
}

/// Returns all calls of the step: the calls of [`build_calls`], and the sweeps of a program that starts the built one
/// in the emulator. That one is written to `scratch`. Or what this machine lacks.
pub(super) fn all_calls(scratch: &Path) -> anyhow::Result<Result<Vec<CargoCall>, String>> {
    if let Some(reason) = missing_tool() {
        return Ok(Err(reason.into()));
    }
    let program = scratch.join("frostline-aarch64");
    let built = workspace::workspace_root().join(FOLDER).join(TARGET).join("quick/frostline");
    write_program(&program, &format!("#!/bin/sh\nexec {EMULATOR} '{}' \"$@\"\n", built.display()))?;
    let sweeps = cargo_call("test --workspace --test real bits::")
        .with_variable("FROSTLINE_PROGRAM", program.display().to_string());
    Ok(Ok([build_calls(), vec![sweeps]].concat()))
}

fn write_program(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .with_context(|| path.display().to_string())?;
    }
    Ok(())
}
