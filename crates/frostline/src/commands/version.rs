//! `frostline version`.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use super::named;
use frostline_cell::version;
use frostline_kernels::backend;

/// Say what this build is.
#[derive(Args)]
pub struct Version {
    /// As one line of JSON.
    #[arg(long)]
    json: bool,
    /// Check that this backend's device is there.
    #[arg(long)]
    backend: Option<String>,
}

impl Version {
    /// Tells version, code, backends and instruction set.
    ///
    /// # Errors
    /// Where the backend cannot run here.
    pub fn run(self, out: &mut dyn Write) -> Result<()> {
        let made_by = version::made_by(&named(self.backend)?)?;
        let backends = backend::names();
        if self.json {
            let about = serde_json::json!({
                "version": made_by.version,
                "code": made_by.code,
                "backends": backends,
                "isa": made_by.isa,
                "device": made_by.device,
            });
            writeln!(out, "{about}")?;
        } else {
            writeln!(out, "frostline {} (code {})", made_by.version, made_by.code)?;
            writeln!(out, "backends: {}", backends.join(", "))?;
            writeln!(out, "{}: {} on {}", made_by.backend, made_by.isa, made_by.device)?;
        }
        Ok(())
    }
}
