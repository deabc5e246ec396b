//! The part of `fetch` that opens connections.

use anyhow::anyhow;
use frostline_assets::KnownDataset;
use frostline_assets::fetch::{
    self, ConfigCheck, FetchError, FetchOptions, Fetched, Hosts, HubToken, Progress,
};
use indicatif::{ProgressBar, ProgressStyle};

use super::WantedDownloads;
use crate::fault::{Blame as _, CommandResult, environment_fault};
use crate::offline::{environment_variable, is_hub_offline, is_offline};
use crate::place;
use crate::request::FetchRequest;
use crate::units::format_bytes;

/// The kind of input that has a name.
#[derive(Clone, Copy)]
enum FetchedKind {
    Treebank,
    /// A dataset whose archive the program knows.
    Known,
    Encoder,
    Archive,
}

/// Returns the options of a request and of the environment.
pub(super) fn fetch_options(
    request: &FetchRequest,
    check_config: Option<ConfigCheck>,
) -> CommandResult<FetchOptions> {
    let options = options_from(request, environment_variable)?;
    Ok(FetchOptions { token: HubToken::find(), check_config, ..options })
}

/// [`fetch_options`] for a given environment.
fn options_from(request: &FetchRequest, set: impl Fn(&str) -> Option<String>) -> CommandResult<FetchOptions> {
    let cache = request.cache.clone().or_else(frostline_assets::default_cache);
    let cache = cache
        .ok_or_else(|| anyhow!("there is no cache folder: set HOME or FROSTLINE_CACHE, or give --cache DIR"))
        .blame_environment()?;
    // With a cache on the command line, all is in it.
    let hub_cache = match &request.cache {
        Some(_) => None,
        None => frostline_assets::default_hub_cache(),
    };
    let mut options = FetchOptions::new(cache);
    options.hub_cache = hub_cache.unwrap_or(options.hub_cache);
    options.hub_offline = is_hub_offline(&set);
    options.revision.clone_from(&request.revision);
    options.weights = request.weights;
    options.offline = request.offline || is_offline(&set)?;
    if let Some(url) = request.hub.clone().or_else(|| set("HF_ENDPOINT")) {
        options.hosts = options.hosts.with_hub_at(&url);
    }
    if let Some(url) = request.treebanks.clone().or_else(|| set("FROSTLINE_TREEBANKS")) {
        options.hosts = options.hosts.with_treebanks_at(&url);
    }
    for pin in &request.pins {
        let (file, hash) = pin
            .split_once('=')
            .ok_or_else(|| anyhow!("`{pin}` is not a pin: write it as FILE=SHA256"))
            .blame_plan()?;
        options.pins.insert(file.into(), hash.into());
    }
    Ok(options)
}

/// Fetches all treebanks and encoders. A pin may apply to any of them, so unused pins are found only at the end; so is
/// what the cache lacks in offline mode.
pub(super) fn fetch_all(
    wanted: &WantedDownloads,
    request: &FetchRequest,
    options: &FetchOptions,
) -> CommandResult<()> {
    let usual = Hosts::default();
    for (what, host, usual) in [
        ("encoders", &options.hosts.hub, &usual.hub),
        ("treebanks", &options.hosts.treebank_files, &usual.treebank_files),
    ] {
        if host != usual && !options.offline {
            say!("{what} come from {host}");
        }
    }
    let treebanks = wanted.treebanks.iter().map(|name| (FetchedKind::Treebank, name));
    let known = wanted.known.iter().map(|name| (FetchedKind::Known, name));
    let encoders = wanted.encoders.iter().map(|name| (FetchedKind::Encoder, name));
    let (mut fetched, mut missing) = (Vec::new(), Vec::new());
    let archives = wanted.archives.iter().map(|url| (FetchedKind::Archive, url));
    for (kind, name) in treebanks.chain(known).chain(encoders).chain(archives) {
        match fetch_one(kind, name, options) {
            Err(FetchError::Offline { name, folder }) => {
                say!("{name} is missing: {}", place::shown_path(&folder));
                missing.push(name);
            }
            result => fetched.push(with_exit_code(result)?),
        }
    }
    if !missing.is_empty() {
        let (lacking, all) = (missing.len(), missing.len() + fetched.len());
        return environment_fault(format!(
            "offline: {lacking} of {all} not in the cache; with a connection, run `{}`",
            fetch_command(&missing, request)
        ));
    }
    with_exit_code(fetch::check_pins(options, &fetched))
}

/// Downloads an archive of treebanks for `--data`, unless the cache has it, and returns its folder. Standard output may be read by a
/// program, so nothing is printed there.
pub(super) fn fetch_data(url: &str) -> CommandResult<std::path::PathBuf> {
    let options = fetch_options(&FetchRequest::default(), None)?;
    let fetched = with_exit_code(fetch::archive(url, &options, &mut |_| {}))?;
    if fetched.downloaded {
        note!("{url} {} fetched: {}", fetched.revision, place::shown_path(&fetched.folder));
    }
    Ok(fetched.folder)
}

/// Returns the command that fetches these names.
fn fetch_command(names: &[String], request: &FetchRequest) -> String {
    let mut command = format!("frostline fetch {}", names.join(" "));
    let cache = request.cache.as_ref().map(|cache| cache.display().to_string());
    let urls = [("--hub", &request.hub), ("--treebanks", &request.treebanks)];
    for (option, value) in [("--cache", &cache), ("--revision", &request.revision)].into_iter().chain(urls) {
        if let Some(value) = value {
            command += &format!(" {option} {value}");
        }
    }
    if !request.weights {
        command += " --no-weights";
    }
    command
}

fn fetch_one(
    kind: FetchedKind,
    name: &str,
    options: &FetchOptions,
) -> std::result::Result<Fetched, FetchError> {
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
        FetchedKind::Treebank => fetch::treebank(name, options, &mut progress),
        FetchedKind::Known => match KnownDataset::find(name) {
            Some(known) => fetch::dataset(known, options, &mut progress),
            None => fetch::treebank(name, options, &mut progress),
        },
        FetchedKind::Encoder => fetch::encoder(name, options, &mut progress),
        FetchedKind::Archive => fetch::archive(name, options, &mut progress),
    };
    bar.finish_and_clear();
    fetched.inspect(|fetched| {
        print_fetched(name, fetched);
        if let Some(known) = KnownDataset::find(name) {
            say!("  {}", known.remark);
        }
        if let FetchedKind::Archive = kind {
            say!("  a sweep reads it with --data {}", fetched.folder.display());
        }
    })
}

/// Wrong names, pins and addresses are errors of the command or the plan; all other errors are errors of the environment.
fn with_exit_code<T>(result: std::result::Result<T, FetchError>) -> CommandResult<T> {
    use FetchError::{BadEndpoint, BadPin, NoName, NoRevision, Unsupported, UnusedPin};
    match result {
        Err(error @ (NoName { .. } | BadPin { .. } | BadEndpoint { .. } | UnusedPin { .. })) => {
            Err(error).blame_plan()
        }
        Err(error @ (NoRevision { .. } | Unsupported { .. })) => Err(error).blame_plan(),
        other => other.blame_environment(),
    }
}

fn print_fetched(name: &str, fetched: &Fetched) {
    let how = if fetched.downloaded { "fetched" } else { "already there, checked" };
    say!("{name} {} {how}: {}", fetched.revision, place::shown_path(&fetched.folder));
    for (file, source) in &fetched.files {
        say!("  {file:<36} {:>9}  sha256 {}", format_bytes(source.bytes), &source.sha256[..12]);
    }
    match &fetched.licence {
        Some(licence) => say!("  licence {} ({})", licence.name, licence.files.join(", ")),
        None => say!("  licence not stated in these files: see the host's page"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offline::OFFLINE;

    fn fetch_request() -> FetchRequest {
        FetchRequest { cache: Some("c".into()), ..FetchRequest::default() }
    }

    fn options(request: &FetchRequest, environment: &[(&str, &str)]) -> CommandResult<FetchOptions> {
        options_from(request, |name| {
            environment.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn an_option_outweighs_the_environment() {
        let usual = Hosts::default();
        assert_eq!(options(&fetch_request(), &[]).unwrap().hosts, usual);
        let mirrors =
            [("HF_ENDPOINT", "https://hub.example/"), ("FROSTLINE_TREEBANKS", "https://ud.example")];
        let found = options(&fetch_request(), &mirrors).unwrap().hosts;
        assert_eq!(found.hub, "https://hub.example");
        assert_eq!([found.treebank_lists, found.treebank_files], ["https://ud.example"; 2]);
        let found =
            options(&FetchRequest { hub: Some("http://localhost:1".into()), ..fetch_request() }, &mirrors)
                .unwrap()
                .hosts;
        assert_eq!(found.hub, "http://localhost:1");
        assert_eq!(found.treebank_files, "https://ud.example");
    }

    #[test]
    fn offline_mode_is_an_option_or_a_variable() {
        assert!(!options(&fetch_request(), &[]).unwrap().offline);
        assert!(
            options(&FetchRequest { offline: true, ..fetch_request() }, &[(OFFLINE, "0")]).unwrap().offline
        );
        assert!(options(&fetch_request(), &[(OFFLINE, "1")]).unwrap().offline);
        assert!(!options(&fetch_request(), &[(OFFLINE, "off")]).unwrap().offline);
        let fault = options(&fetch_request(), &[(OFFLINE, "maybe")]).unwrap_err();
        assert_eq!(
            (fault.code, fault.error.to_string().as_str()),
            (2, "FROSTLINE_OFFLINE=maybe: expected 1 or 0")
        );
    }

    #[test]
    fn the_hub_may_be_offline_alone() {
        let found = options(&fetch_request(), &[("HF_HUB_OFFLINE", "1")]).unwrap();
        assert!(found.hub_offline && !found.offline);
        assert!(!options(&fetch_request(), &[("HF_HUB_OFFLINE", "0")]).unwrap().hub_offline);
        assert_eq!(found.hub_cache, std::path::Path::new("c/hub"), "a given cache has everything");
    }

    /// Offline mode names everything that is missing, and the command that fetches it.
    #[test]
    fn offline_mode_names_all_that_is_missing() {
        let cache = std::env::temp_dir().join(format!("frostline-no-cache-{}", std::process::id()));
        let request = FetchRequest {
            names: vec!["UD_A-A".into(), "some/encoder".into()],
            cache: Some(cache.clone()),
            revision: Some("r2.15".into()),
            weights: false,
            offline: true,
            ..FetchRequest::default()
        };
        let options = options_from(&request, |_| None).unwrap();
        let wanted = super::super::choose_wanted(&request, &place::Place::current_folder()).unwrap();
        let fault = fetch_all(&wanted, &request, &options).unwrap_err();
        assert_eq!(fault.code, crate::fault::ENVIRONMENT);
        let cache = cache.display();
        assert_eq!(
            fault.error.to_string(),
            format!(
                "offline: 2 of 2 not in the cache; with a connection, run `frostline fetch UD_A-A some/encoder --cache {cache} --revision r2.15 --no-weights`"
            )
        );
    }

    #[test]
    fn an_unencrypted_mirror_is_an_error_of_the_command() {
        let request = FetchRequest {
            names: vec!["some/encoder".into()],
            hub: Some("http://hub.example".into()),
            ..fetch_request()
        };
        let options = options_from(&request, |_| None).unwrap();
        let wanted = super::super::choose_wanted(&request, &place::Place::current_folder()).unwrap();
        let fault = fetch_all(&wanted, &request, &options).unwrap_err();
        assert_eq!(fault.code, crate::fault::PLAN);
        assert!(fault.error.to_string().contains("must be encrypted"), "{}", fault.error);
    }
}
