//! The parts of a release.

/// A part of a release, as `--only` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// An archive for Linux on x86-64
    #[value(name = "linux-x86-64")]
    LinuxX86,
    /// An archive for Linux on 64-bit Arm
    #[value(name = "linux-aarch64")]
    LinuxArm,
    /// An archive for Windows on x86-64
    #[value(name = "windows-x86-64")]
    Windows,
    /// The Python package, and the program as wheels
    Wheels,
}
