//! The names of backends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The library and device that tensors run on; each but `amx` is a feature of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// burn's CPU backend with fused operations.
    #[default]
    Flex,
    /// The same, with bf16 in the matrix unit (AMX) of Intel processors.
    Amx,
    /// burn's ndarray backend.
    Ndarray,
    /// An NVIDIA GPU.
    Cuda,
    /// Any GPU with Vulkan, Metal or DirectX 12.
    Wgpu,
    /// The fastest of these that the program has and that can compute here.
    Auto,
}

impl Backend {
    /// All backends.
    pub const ALL: [Self; 6] = [Self::Flex, Self::Amx, Self::Ndarray, Self::Cuda, Self::Wgpu, Self::Auto];

    /// Returns the name on command lines and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flex => "flex",
            Self::Amx => "amx",
            Self::Ndarray => "ndarray",
            Self::Cuda => "cuda",
            Self::Wgpu => "wgpu",
            Self::Auto => "auto",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|backend| backend.name() == name);
        found.ok_or_else(|| format!("`{name}` is not a backend"))
    }
}
