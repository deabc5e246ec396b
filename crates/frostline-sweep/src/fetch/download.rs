//! The part of `fetch` that opens connections.

use anyhow::anyhow;
use frostline_assets::fetch::{self, FetchError, FetchOptions, Fetched, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use super::Wanted;
use crate::args::FetchArgs;
use crate::fault::{Blame as _, Result};
use crate::place;
use crate::units::bytes;

/// What a name stands for.
#[derive(Clone, Copy)]
enum Kind {
    Treebank,
    Encoder,
}

/// The download options on the command line.
pub(super) fn options(args: &FetchArgs) -> Result<FetchOptions> {
    let cache = args.cache.clone().or_else(frostline_assets::default_cache);
    let cache = cache
        .ok_or_else(|| anyhow!("there is no cache folder: set HOME or FROSTLINE_CACHE, or give --cache DIR"))
        .environment()?;
    let mut options = FetchOptions::new(cache);
    options.revision.clone_from(&args.revision);
    options.weights = !args.no_weights;
    for pin in &args.pin {
        let (file, hash) = pin
            .split_once('=')
            .ok_or_else(|| anyhow!("`{pin}` is not a pin: write it as FILE=SHA256"))
            .plan()?;
        options.pins.insert(file.into(), hash.into());
    }
    Ok(options)
}

/// Fetches all treebanks and encoders. A pin may apply to any of them, so unused pins are found only at the end.
pub(super) fn all(wanted: &Wanted, options: &FetchOptions) -> Result<()> {
    let treebanks = wanted.treebanks.iter().map(|name| (Kind::Treebank, name));
    let encoders = wanted.encoders.iter().map(|name| (Kind::Encoder, name));
    let mut fetched = Vec::new();
    for (kind, name) in treebanks.chain(encoders) {
        fetched.push(one(kind, name, options)?);
    }
    with_exit_code(fetch::check_pins(options, &fetched))
}

fn one(kind: Kind, name: &str, options: &FetchOptions) -> Result<Fetched> {
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
    let fetched = with_exit_code(fetched)?;
    print(name, &fetched);
    Ok(fetched)
}

/// Wrong names and pins are errors of the command or the plan; all other errors are errors of the environment.
fn with_exit_code<T>(result: std::result::Result<T, FetchError>) -> Result<T> {
    use FetchError::{BadPin, NoName, UnusedPin};
    match result {
        Err(error @ (NoName { .. } | BadPin { .. } | UnusedPin { .. })) => Err(error).plan(),
        other => other.environment(),
    }
}

fn print(name: &str, fetched: &Fetched) {
    let how = if fetched.downloaded { "fetched" } else { "already there, checked" };
    say!("{name} {} {how}: {}", fetched.revision, place::shown(&fetched.folder));
    for (file, source) in &fetched.files {
        say!("  {file:<36} {:>9}  sha256 {}", bytes(source.bytes), &source.sha256[..12]);
    }
}
