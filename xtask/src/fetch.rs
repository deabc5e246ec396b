//! `cargo xtask fetch`: treebanks and encoders into the cache.
//!
//! Downloading needs a TLS library that takes longer to compile than all of xtask, so it is a
//! feature: without it this command runs xtask again with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use frostline_record::Plan;

use crate::args::FetchArgs;
use crate::fault::{Blame as _, Result};
use crate::{Ending, workspace};

/// What is asked for, each name once.
#[derive(Debug, Default)]
#[cfg_attr(not(feature = "fetch"), allow(dead_code))]
struct Wanted {
    /// Treebanks of Universal Dependencies.
    treebanks: BTreeSet<String>,
    /// Encoders by hub id.
    encoders: BTreeSet<String>,
    /// Other datasets of a plan, which are on neither host.
    elsewhere: BTreeSet<String>,
}

/// Fetches what was named, or else all that a plan reads.
#[cfg(feature = "fetch")]
pub(crate) fn fetch(args: &FetchArgs) -> Result<Ending> {
    let options = download::options(args)?;
    let wanted = wanted(args)?;
    for name in &wanted.elsewhere {
        println!("{name} is not fetched: give a sweep the folder it lies in with --data DIR");
    }
    download::all(&wanted, &options)?;
    if let Some(cache) = &args.cache {
        let cache = std::path::absolute(cache).unwrap_or_else(|_| cache.clone());
        println!("a sweep finds it with FROSTLINE_CACHE={}", cache.display());
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

/// What was named, or else what a plan reads that the binary does not carry.
fn wanted(args: &FetchArgs) -> Result<Wanted> {
    if !args.names.is_empty() {
        let (treebanks, encoders) = args.names.iter().cloned().partition(|name| is_treebank(name));
        return Ok(Wanted { treebanks, encoders, ..Wanted::default() });
    }
    let default = || workspace::root().join("configs").join("paper.toml");
    let path: PathBuf = args.plan.clone().unwrap_or_else(default);
    let shown = workspace::shown(&path);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| anyhow!("{shown}: the plan cannot be read ({error})"))
        .plan()?;
    let plan = Plan::parse(&text, &shown).plan()?;
    let is_carried = |name: &String| name.starts_with(frostline_assets::embedded::PREFIX);
    // A path to something that is there is read as it is.
    let is_given = |name: &String| Path::new(name).components().count() > 1 && Path::new(name).exists();
    let is_there = |name: &String| is_carried(name) || is_given(name);
    let encoders = plan.expand().plan()?.into_iter().map(|settings| settings.encoder.name);
    let datasets = plan.treebanks.values().filter(|name| !is_there(name)).cloned();
    let (treebanks, elsewhere) = datasets.partition(|name| is_treebank(name));
    Ok(Wanted { treebanks, encoders: encoders.filter(|name| !is_there(name)).collect(), elsewhere })
}

/// Whether a name is that of a Universal Dependencies treebank.
fn is_treebank(name: &str) -> bool {
    name.starts_with("UD_")
}

#[cfg(feature = "fetch")]
mod download {
    //! The part that opens connections.

    use super::{FetchArgs, Result, Wanted, anyhow, workspace};
    use crate::fault::Blame as _;
    use crate::units::bytes;
    use frostline_assets::fetch::{self, FetchError, Fetched, Options, Progress};
    use indicatif::{ProgressBar, ProgressStyle};

    /// What a name stands for.
    #[derive(Clone, Copy)]
    enum Kind {
        Treebank,
        Encoder,
    }

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

    /// Fetches all treebanks and encoders. A pin may be meant for any of them, so whether one was for
    /// none is known only at the end.
    pub(super) fn all(wanted: &Wanted, options: &Options) -> Result<()> {
        let treebanks = wanted.treebanks.iter().map(|name| (Kind::Treebank, name));
        let encoders = wanted.encoders.iter().map(|name| (Kind::Encoder, name));
        let mut fetched = Vec::new();
        for (kind, name) in treebanks.chain(encoders) {
            fetched.push(one(kind, name, options)?);
        }
        blamed(fetch::check_pins(options, &fetched))
    }

    fn one(kind: Kind, name: &str, options: &Options) -> Result<Fetched> {
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
        let fetched = match kind {
            Kind::Treebank => fetch::treebank(name, options, &mut progress),
            Kind::Encoder => fetch::encoder(name, options, &mut progress),
        };
        bar.finish_and_clear();
        let fetched = blamed(fetched)?;
        tell(name, &fetched);
        Ok(fetched)
    }

    /// Names and pins are the command's or the plan's; for all else the surroundings are to blame.
    fn blamed<T>(result: std::result::Result<T, FetchError>) -> Result<T> {
        use FetchError::{BadPin, IdlePin, NoName};
        match result {
            Err(error @ (NoName { .. } | BadPin { .. } | IdlePin { .. })) => Err(error).plan(),
            other => other.environment(),
        }
    }

    fn tell(name: &str, fetched: &Fetched) {
        let how = if fetched.downloaded { "fetched" } else { "was there, checked" };
        println!("{name} {} {how}: {}", fetched.revision, workspace::shown(&fetched.folder));
        for (file, source) in &fetched.files {
            println!("  {file:<36} {:>9}  sha256 {}", bytes(source.bytes), &source.sha256[..12]);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn parsed(arguments: &[&str]) -> std::result::Result<FetchArgs, clap::Error> {
        let all = ["cargo xtask", "fetch"].into_iter().chain(arguments.iter().copied());
        match Arguments::try_parse_from(all)?.command {
            Command::Fetch(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).into()).collect()
    }

    #[test]
    fn other_datasets_of_a_plan_are_not_taken_for_encoders() {
        let plan = workspace::root().join("configs").join("multitask.toml").display().to_string();
        let wanted = wanted(&parsed(&["--plan", &plan]).unwrap()).unwrap();
        assert_eq!(wanted.treebanks, names(&["UD_English-EWT"]));
        assert_eq!(wanted.encoders, names(&["distilbert-base-multilingual-cased"]));
        assert_eq!(wanted.elsewhere, names(&["UNER_English-EWT"]));
    }

    #[test]
    fn what_is_named_is_a_treebank_or_an_encoder() {
        let wanted = wanted(&parsed(&["UD_Wolof-WTB", "some/encoder", "UD_Wolof-WTB"]).unwrap()).unwrap();
        assert_eq!(wanted.treebanks, names(&["UD_Wolof-WTB"]));
        assert_eq!(wanted.encoders, names(&["some/encoder"]));
        assert_eq!(wanted.elsewhere, names(&[]));
    }

    #[test]
    fn a_revision_is_that_of_names() {
        let error = parsed(&["--revision", "r2.15"]).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::MissingRequiredArgument);
        assert_eq!(parsed(&["UD_Wolof-WTB", "--revision", "r2.15"]).unwrap().revision.unwrap(), "r2.15");
    }
}
