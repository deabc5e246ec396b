//! `cargo xtask fetch`: treebanks and encoders into the cache.
//!
//! Downloading needs a TLS library that takes longer to compile than all of xtask, so it is a
//! feature: without it this command runs xtask again with it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::anyhow;
use frostline_record::Plan;

use crate::args::FetchArgs;
use crate::fault::{Blame as _, Result};
use crate::{Ending, workspace};

/// Fetches what was named, or else all that a plan reads.
#[cfg(feature = "fetch")]
pub(crate) fn fetch(args: &FetchArgs) -> Result<Ending> {
    let options = download::options(args)?;
    for name in wanted(args)? {
        download::one(&name, &options)?;
    }
    Ok(Ending::Done)
}

/// Runs the same command with the feature `fetch`.
#[cfg(not(feature = "fetch"))]
pub(crate) fn fetch(args: &FetchArgs) -> Result<Ending> {
    wanted(args)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--features", "fetch", "--manifest-path"])
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--")
        .args(std::env::args_os().skip(1))
        .status()
        .map_err(|error| anyhow!("cargo cannot be started: {error}"))
        .environment()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Ending::As(code.unwrap_or(crate::fault::ENVIRONMENT)))
}

/// The names, each once.
fn wanted(args: &FetchArgs) -> Result<BTreeSet<String>> {
    if !args.names.is_empty() {
        return Ok(args.names.iter().cloned().collect());
    }
    let default = || workspace::root().join("configs").join("paper.toml");
    let path: PathBuf = args.plan.clone().unwrap_or_else(default);
    let shown = workspace::shown(&path);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| anyhow!("{shown}: the plan cannot be read ({error})"))
        .plan()?;
    let plan = Plan::parse(&text, &shown).plan()?;
    let encoders = plan.expand().plan()?.into_iter().map(|settings| settings.encoder.name);
    let names = plan.treebanks.values().cloned().chain(encoders);
    Ok(names.filter(|name| !name.starts_with(frostline_assets::embedded::PREFIX)).collect())
}

#[cfg(feature = "fetch")]
mod download {
    //! The part that opens connections.

    use super::{FetchArgs, Result, anyhow, workspace};
    use crate::fault::Blame as _;
    use crate::units::bytes;
    use frostline_assets::fetch::{self, FetchError, Fetched, Options, Progress};
    use indicatif::{ProgressBar, ProgressStyle};

    /// What the command line asks for.
    pub(super) fn options(args: &FetchArgs) -> Result<Options> {
        let cache = args.cache.clone().or_else(frostline_assets::default_cache);
        let cache = cache
            .ok_or_else(|| {
                anyhow!("there is no cache folder: set HOME or FROSTLINE_CACHE, or give --cache DIR")
            })
            .environment()?;
        let mut options = Options::new(cache);
        options.revision.clone_from(&args.revision);
        options.weights = !args.no_weights;
        for pin in &args.pin {
            let (file, hash) = pin
                .split_once('=')
                .ok_or_else(|| anyhow!("`{pin}` is no pin: write it as FILE=SHA256"))
                .plan()?;
            options.pins.insert(file.into(), hash.into());
        }
        Ok(options)
    }

    /// Fetches one treebank or encoder.
    pub(super) fn one(name: &str, options: &Options) -> Result<()> {
        let style = "{prefix:<36} {bar:20} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left";
        let bar = ProgressBar::new(0);
        bar.set_style(ProgressStyle::with_template(style).expect("a fixed template"));
        let mut progress = |now: Progress<'_>| {
            if bar.prefix() != now.file {
                bar.set_prefix(now.file.to_string());
                bar.reset_eta();
            }
            bar.set_length(now.bytes_total);
            bar.set_position(now.bytes);
        };
        let fetched = if name.starts_with("UD_") {
            fetch::treebank(name, options, &mut progress)
        } else {
            fetch::encoder(name, options, &mut progress)
        };
        bar.finish_and_clear();
        let fetched = match fetched {
            Err(error @ FetchError::NoName { .. }) => Err(error).plan(),
            other => other.environment(),
        };
        tell(name, &fetched?);
        Ok(())
    }

    fn tell(name: &str, fetched: &Fetched) {
        let how = if fetched.downloaded { "fetched" } else { "was there, checked" };
        println!("{name} {} {how}: {}", fetched.revision, workspace::shown(&fetched.folder));
        for (file, source) in &fetched.files {
            println!("  {file:<36} {:>9}  sha256 {}", bytes(source.bytes), &source.sha256[..12]);
        }
    }
}
