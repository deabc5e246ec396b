//! `frostline version`: describes this build for `frostline sweep`.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use super::named;
use frostline_cell::version;
use frostline_kernels::backend;

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
        let made_by = version::made_by(&named(self.backend)?)?;
        let backends = backend::names();
        if self.json {
            let about = serde_json::json!({
                "version": made_by.version,
                "code": made_by.code,
                "backends": backends,
                "backend": made_by.backend,
                "isa": made_by.isa,
                "bits": made_by.bits,
                "device": made_by.device,
                "gpus": backend::gpus(&made_by.backend),
                "amx": backend::check("amx").is_ok(),
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
