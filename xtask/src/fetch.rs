//! `cargo xtask fetch`: `frostline fetch` without building frostline.
//!
//! Downloading needs a TLS library that takes longer to compile than all of xtask, so it is a feature: without it
//! this command runs xtask again with it.

use frostline_args::FetchArgs;
use frostline_sweep::Ending;
use frostline_sweep::fault::CommandResult;

use crate::workspace;

/// Fetches what was named, or else everything that a plan reads.
#[cfg(feature = "fetch")]
pub(crate) fn run_fetch(args: FetchArgs) -> CommandResult<Ending> {
    // xtask has no code of encoders, so a sweep finds an unknown family only later.
    frostline_sweep::fetch(&args.into_request(), &workspace::workspace_place(), None)
}

/// Runs the same command with the feature `fetch`.
#[cfg(not(feature = "fetch"))]
pub(crate) fn run_fetch(args: FetchArgs) -> CommandResult<Ending> {
    use frostline_sweep::fault::{Blame as _, ENVIRONMENT};
    frostline_sweep::check_fetch(&args.into_request(), &workspace::workspace_place())?;
    let manifest = workspace::workspace_root().join("Cargo.toml");
    let status =
        workspace::cargo_command("run --profile tool --package xtask --features fetch --manifest-path")
            .arg(manifest)
            .arg("--")
            .current_dir(".")
            .args(std::env::args_os().skip(1))
            .status()
            .map_err(|error| anyhow::anyhow!("cargo cannot be started: {error}"))
            .blame_environment()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Ending::As(code.unwrap_or(ENVIRONMENT)))
}
