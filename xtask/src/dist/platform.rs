//! The platforms that have a release: their names, what this machine needs to build for them, and the call that does.
//!
//! Every program is built by maturin, which packs it into a wheel; the archive takes the program out of it, so that both are the
//! same file. For Linux zig links against an old glibc. Arm's standard library, and the sources of the one for Windows, are from
//! Debian, whose compiler belongs to them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::ci::venv::{on_path, path_with};
use crate::workspace::{self, command_output};

/// The compiler of the distribution, not rustup's.
const DEBIAN_COMPILER: &str = "/usr/bin/rustc";
/// The sources of its standard library, from which cargo builds the library for Windows.
const LIBRARY_SOURCES: &str = "/usr/lib/rustlib/src/rust/library/std";
const ARM_LIBRARY: &str = "/usr/lib/rustlib/aarch64-unknown-linux-gnu";
const MINGW: &str = "x86_64-w64-mingw32-gcc";

/// The program that starts others under Wine, from the workspace's root.
pub(crate) const WINE_SCRIPT: &str = "tests/windows/wine.py";

/// The newest glibc that a program for Linux may need: 2.17 of 2012, as the tag of the wheels promises.
pub(super) const GLIBC: (u32, u32) = (2, 17);

/// A platform with a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Platform {
    /// Linux on x86-64.
    LinuxX86,
    /// Linux on 64-bit Arm.
    LinuxArm,
    /// Windows on x86-64.
    Windows,
}

/// How much the compiler optimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Optimisation {
    /// As released.
    Release,
    /// Only the arithmetic: a program that is built soon, to be tested.
    Quick,
}

impl Platform {
    pub(super) const ALL: [Self; 3] = [Self::LinuxX86, Self::LinuxArm, Self::Windows];

    /// Returns the name of the target as the compiler has it, which is a part of the archive's name.
    pub(super) const fn triple(self) -> &'static str {
        match self {
            Self::LinuxX86 => "x86_64-unknown-linux-gnu",
            Self::LinuxArm => "aarch64-unknown-linux-gnu",
            Self::Windows => "x86_64-pc-windows-gnu",
        }
    }

    /// Returns the name of the program's file.
    pub(super) const fn program(self) -> &'static str {
        if matches!(self, Self::Windows) { "frostline.exe" } else { "frostline" }
    }

    /// Returns the name of the archive's only folder, and of the archive without its ending.
    pub(super) fn stem(self) -> String {
        format!("frostline-{}-{}", env!("CARGO_PKG_VERSION"), self.triple())
    }

    /// Returns the archive's file name.
    pub(super) fn archive_name(self) -> String {
        format!("{}.{}", self.stem(), if self == Self::Windows { "zip" } else { "tar.gz" })
    }

    /// Returns what this machine lacks for the build, if anything.
    pub(crate) fn missing_tool(self) -> Option<&'static str> {
        if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
            return Some("releases are built on Linux with x86-64");
        }
        match self {
            Self::LinuxX86 => None,
            Self::LinuxArm if !Path::new(ARM_LIBRARY).is_dir() || !Path::new(DEBIAN_COMPILER).is_file() => {
                Some(
                    "the compiler for Arm is not here; Debian's packages are `rustc-web` and `libstd-rust-web-dev:arm64`",
                )
            }
            Self::Windows
                if !Path::new(LIBRARY_SOURCES).is_dir() || !Path::new(DEBIAN_COMPILER).is_file() =>
            {
                Some(
                    "the sources of the standard library are not here; Debian's packages are `rustc-web` and `rust-web-src`",
                )
            }
            Self::Windows if !on_path(MINGW) => {
                Some("the compiler for C on Windows is not here; Debian's package is `gcc-mingw-w64-x86-64`")
            }
            Self::LinuxArm | Self::Windows => None,
        }
    }

    /// Returns the compiler.
    pub(crate) const fn compiler(self) -> &'static str {
        if matches!(self, Self::LinuxX86) { "rustc" } else { DEBIAN_COMPILER }
    }

    /// Returns the folder of the build, in the workspace's folder of builds.
    fn build_folder(self) -> PathBuf {
        workspace::target_folder().join(match self {
            Self::LinuxX86 => "linux",
            Self::LinuxArm => "aarch64",
            Self::Windows => "windows",
        })
    }

    /// Returns the command that builds the program and leaves its wheel in the folder `out`. `tools` is the Python next to which
    /// maturin and zig are installed.
    pub(crate) fn build_command(
        self,
        optimisation: Optimisation,
        tools: &Path,
        out: &Path,
    ) -> anyhow::Result<Command> {
        let mut maturin = Command::new(tools.with_file_name("maturin"));
        maturin.args(["build", "--locked", "--target", self.triple(), "--out"]).arg(out);
        maturin.arg("--manifest-path").arg(workspace::workspace_root().join("crates/frostline/Cargo.toml"));
        maturin.arg("--target-dir").arg(self.build_folder());
        match optimisation {
            Optimisation::Release => drop(maturin.arg("--release")),
            Optimisation::Quick => {
                maturin.args(["--profile", "quick"]);
                for crate_name in ["frostline-kernels", "frostline-random"] {
                    maturin.args(["--config", &format!("profile.quick.package.{crate_name}.opt-level=3")]);
                }
            }
        }
        if self != Self::LinuxX86 {
            maturin.env("RUSTC", self.compiler());
        }
        if self == Self::Windows {
            // The compiler is told that it may build its own library, which a stable one otherwise refuses.
            maturin.args(["-Z", "build-std=std,panic_unwind"]).env("RUSTC_BOOTSTRAP", "1");
        } else {
            maturin.args(["--zig", "--compatibility", "manylinux2014"]);
        }
        maturin.env("PATH", path_with(tools)?);
        Ok(maturin)
    }

    /// Returns the program that starts one of this platform here, with its environment made ready; empty for this machine's own.
    ///
    /// # Errors
    /// With what this machine lacks.
    pub(super) fn starter(self) -> anyhow::Result<&'static str> {
        match self {
            Self::LinuxX86 => Ok(""),
            Self::LinuxArm if !on_path("qemu-aarch64") => {
                bail!("QEMU is not here; Debian's package is `qemu-user`")
            }
            Self::LinuxArm if !Path::new("/lib/ld-linux-aarch64.so.1").is_file() => {
                bail!("the libraries for Arm are not here; Debian's package is `libc6:arm64`")
            }
            Self::LinuxArm => Ok("qemu-aarch64"),
            Self::Windows if !on_path("wine") => {
                bail!("Wine is not here; Debian's packages are `wine` and `wine64`")
            }
            Self::Windows => {
                let mut script = Command::new("python3");
                command_output(script.arg(WINE_SCRIPT).env("WINEPREFIX", wine_prefix()))?;
                Ok("wine")
            }
        }
    }
}

/// The folder in which Wine keeps its files.
pub(super) fn wine_prefix() -> PathBuf {
    Platform::Windows.build_folder().join("wine")
}
