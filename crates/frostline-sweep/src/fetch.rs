//! `fetch`: downloads treebanks and encoders into the cache.
//!
//! Downloading needs a TLS library that takes longer to compile than the rest of this crate, so it is an optional
//! feature, `fetch`.

#[cfg(feature = "fetch")]
mod download;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use frostline_assets::{ConfigCheck, KnownDataset};
use frostline_record::Plan;

use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult};
use crate::place::Place;
use crate::plans;
use crate::request::FetchRequest;

/// What is to be downloaded, each name once.
#[derive(Debug, Default)]
#[cfg_attr(not(feature = "fetch"), allow(dead_code))]
struct WantedDownloads {
    /// Treebanks of Universal Dependencies.
    treebanks: BTreeSet<String>,
    /// Datasets whose archives the program knows.
    known: BTreeSet<String>,
    /// Encoders by hub id.
    encoders: BTreeSet<String>,
    /// ZIP archives of datasets by address.
    archives: BTreeSet<String>,
    /// Other datasets of a plan, which are on neither host.
    elsewhere: BTreeSet<String>,
}

/// Downloads what was named, or else everything that a plan reads, into the cache. `check_config` may refuse an encoder before
/// its weights are downloaded; a caller without the code of encoders has none.
///
/// # Errors
/// If the plan, a name, a pin or a host's address is invalid, an encoder is refused, a download fails, the cache cannot be written,
/// or lacks something in offline mode. Always without the feature `fetch`.
#[cfg(feature = "fetch")]
pub fn fetch(
    request: &FetchRequest,
    place: &Place,
    check_config: Option<ConfigCheck>,
) -> CommandResult<Ending> {
    let options = download::fetch_options(request, check_config)?;
    let wanted = choose_wanted(request, place)?;
    for name in &wanted.elsewhere {
        say!("{name} is not fetched: give a sweep the folder that contains it with --data DIR");
    }
    download::fetch_all(&wanted, request, &options)?;
    if let Some(cache) = &request.cache {
        let cache = std::path::absolute(cache).unwrap_or_else(|_| cache.clone());
        say!("a sweep finds it with FROSTLINE_CACHE={}", cache.display());
    }
    Ok(Ending::Done)
}

/// Checks the request only: this build lacks the feature `fetch`.
///
/// # Errors
/// Always.
#[cfg(not(feature = "fetch"))]
pub fn fetch(
    request: &FetchRequest,
    place: &Place,
    _check_config: Option<ConfigCheck>,
) -> CommandResult<Ending> {
    check_fetch(request, place)?;
    crate::fault::environment_fault(
        "this build cannot download; build it with `--features fetch`, or give a sweep folders with --data and --models",
    )
}

/// Returns the folder or file that `--data` names: an archive at an address is downloaded into the cache, unless it is there.
///
/// # Errors
/// If the address is not allowed or the download fails; for an address always without the feature `fetch`.
pub(crate) fn local_data(data: Option<&Path>) -> CommandResult<Option<PathBuf>> {
    let url = data.and_then(Path::to_str).filter(|text| is_archive(text));
    let Some(url) = url else { return Ok(data.map(PathBuf::from)) };
    #[cfg(feature = "fetch")]
    return download::fetch_data(url).map(Some);
    #[cfg(not(feature = "fetch"))]
    crate::fault::environment_fault(format!(
        "this build cannot download {url}; build it with `--features fetch`, or give a file"
    ))
}

/// Checks a request and the plan that it names, without downloading anything.
///
/// # Errors
/// If the plan cannot be read or is invalid.
pub fn check_fetch(request: &FetchRequest, place: &Place) -> CommandResult<()> {
    choose_wanted(request, place).map(|_| ())
}

/// Returns what was named, or else what a plan reads that is not embedded in the program.
fn choose_wanted(request: &FetchRequest, place: &Place) -> CommandResult<WantedDownloads> {
    if !request.names.is_empty() {
        let (archives, names): (BTreeSet<String>, BTreeSet<String>) =
            request.names.iter().cloned().partition(|name| is_archive(name));
        let (treebanks, others): (_, BTreeSet<String>) =
            names.into_iter().partition(|name| is_treebank(name));
        let (known, encoders) = others.into_iter().partition(|name| KnownDataset::find(name).is_some());
        return Ok(WantedDownloads { treebanks, known, encoders, archives, ..WantedDownloads::default() });
    }
    let source = plans::read_plan(&request.plan.clone().unwrap_or_else(plans::default_study), place)?;
    let plan = Plan::parse(&source.text, &source.shown).blame_plan()?;
    let is_embedded = |name: &String| name.starts_with(frostline_assets::embedded::PREFIX);
    // A path to an existing folder is read as it is.
    let is_path = |name: &String| Path::new(name).components().count() > 1 && Path::new(name).exists();
    let is_local = |name: &String| is_embedded(name) || is_path(name);
    let grid = plan.cells().map_err(|error| source.plan_error(error)).blame_plan()?;
    let encoders = grid.variants().map(|settings| settings.encoder.name);
    let datasets = plan.treebanks.values().filter(|name| !is_local(name)).cloned();
    let (treebanks, others): (_, BTreeSet<String>) = datasets.partition(|name| is_treebank(name));
    let (known, elsewhere) = others.into_iter().partition(|name| KnownDataset::find(name).is_some());
    let encoders = encoders.filter(|name| !is_local(name)).collect();
    Ok(WantedDownloads { treebanks, known, encoders, elsewhere, ..WantedDownloads::default() })
}

/// Whether a name is the address of a ZIP archive.
fn is_archive(name: &str) -> bool {
    name.contains("://")
}

/// Returns whether a name is the name of a Universal Dependencies treebank.
fn is_treebank(name: &str) -> bool {
    name.starts_with("UD_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted_by(request: &FetchRequest) -> WantedDownloads {
        choose_wanted(request, &Place::current_folder()).unwrap()
    }

    fn name_set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).into()).collect()
    }

    #[test]
    fn other_datasets_of_a_plan_are_not_mistaken_for_encoders() {
        let wanted = wanted_by(&FetchRequest { plan: Some("multitask".into()), ..FetchRequest::default() });
        assert_eq!(wanted.treebanks, name_set(&["UD_English-EWT"]));
        assert_eq!(wanted.encoders, name_set(&["distilbert-base-multilingual-cased"]));
        assert_eq!(wanted.elsewhere, name_set(&["UNER_English-EWT"]));
    }

    #[test]
    fn the_plan_sst2_reads_a_dataset_that_the_program_knows() {
        let wanted = wanted_by(&FetchRequest { plan: Some("sst2".into()), ..FetchRequest::default() });
        assert_eq!(wanted.known, name_set(&["sst2"]));
        assert_eq!(wanted.encoders, name_set(&["distilbert-base-uncased"]));
        assert!(wanted.treebanks.is_empty() && wanted.elsewhere.is_empty());
        let wanted = wanted_by(&FetchRequest { names: vec!["sst2".into()], ..FetchRequest::default() });
        assert_eq!((wanted.known, wanted.encoders), (name_set(&["sst2"]), name_set(&[])));
    }

    #[test]
    fn names_are_treebanks_or_encoders() {
        let names_asked = ["UD_Wolof-WTB", "some/encoder", "UD_Wolof-WTB"].map(String::from).to_vec();
        let wanted = wanted_by(&FetchRequest { names: names_asked, ..FetchRequest::default() });
        assert_eq!(wanted.treebanks, name_set(&["UD_Wolof-WTB"]));
        assert_eq!(wanted.encoders, name_set(&["some/encoder"]));
        assert_eq!(wanted.elsewhere, name_set(&[]));
    }
}
