//! `frostline version`: describes this build.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use super::choose_backend;
use frostline_cell::version;

/// Describe this build.
#[derive(Args)]
pub struct Version {
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
    /// Check that this backend's device is present.
    #[arg(long)]
    backend: Option<String>,
}

impl Version {
    /// Prints version, code, backends and instruction set.
    ///
    /// # Errors
    /// If the backend cannot run on this machine.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let about = version::about(&choose_backend(self.backend)?)?;
        if self.json {
            writeln!(out, "{}", serde_json::to_string(&about)?)?;
        } else {
            writeln!(out, "frostline {} (code {})", about.version, about.code)?;
            writeln!(out, "backends: {}", about.backends.join(", "))?;
            writeln!(out, "{}: {} on {}", about.backend, about.isa, about.device)?;
        }
        Ok(())
    }
}
