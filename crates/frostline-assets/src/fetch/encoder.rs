//! Fetches an encoder from the Hugging Face hub into the cache that `huggingface_hub` uses.

use std::collections::BTreeMap;
use std::path::Path;

use super::entry::RemoteEntry;
use super::error::FetchError;
use super::hub_client::{HubClient, RequestSubject};
use super::hub_store::{self, HubStore};
use super::listing::{self, ListedFile};
use super::options::{FetchOptions, Fetched, Progress};
use super::{Fetch, check_form_of_pins, check_pin};
use crate::hub::{is_hub_id, is_revision, split_revision};
use crate::hub_cache::{HubCache, MAIN};
use crate::licence::licence_of;
use crate::places::AssetKind;
use crate::source::Source;

/// The largest `config.json` that is read.
///
/// # Units
/// Bytes.
const MOST_CONFIG: u64 = 16 << 20;

/// Fetches an encoder by its hub id, such as `distilbert-base-multilingual-cased`, or by the short name that built-in plans
/// have for it ([`hub_id`](crate::hub_id)): config, tokenizer and, if [`FetchOptions::weights`] is set, weights. A revision
/// is part of the name (`OWNER/NAME@REVISION`) or [`FetchOptions::revision`].
///
/// The config is read first, and [`FetchOptions::check_config`] may refuse the encoder before its weights are downloaded.
///
/// # Errors
/// If the id is invalid, the hub has no such encoder or revision or does not give access to it, the encoder lacks a file that
/// Frostline needs, the connection fails or is not allowed, a file does not match the hub's list or its pin, or
/// the cache cannot be written.
pub fn encoder(
    name: &str,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, FetchError> {
    let (id, of_name) = split_revision(name);
    let id = crate::hub_id(id);
    let revision = of_name.or(options.revision.as_deref());
    if !is_hub_id(id) || !revision.is_none_or(is_revision) {
        return Err(FetchError::NoName {
            name: revision.map_or_else(|| id.to_string(), |revision| format!("{id}@{revision}")),
            expected: "a hub id such as distilbert-base-multilingual-cased or OWNER/NAME, perhaps with @REVISION",
        });
    }
    check_form_of_pins(options)?;
    if let Some(found) = check_earlier(id, revision, options)? {
        return Ok(found);
    }
    let cache = HubCache::at(&options.hub_cache);
    let is_offline = options.offline || options.hub_offline;
    // Without a connection, the only revision that is there will do, as it does for a sweep.
    let known = if is_offline { revision } else { Some(revision.unwrap_or(MAIN)) };
    if let Some(found) = check_snapshot(&cache, id, known, options)? {
        return Ok(found);
    }
    if is_offline {
        let folder = cache.model_folder(id);
        return Err(FetchError::Offline { name: name.into(), folder });
    }
    let about = RequestSubject { id, revision: revision.unwrap_or(MAIN) };
    let client = HubClient::new(&options.hosts, options.token.clone())?;
    download(&client, about, &cache, options, progress)
}

/// Checks the folder that versions before the shared cache made, if there is one and it has this revision.
fn check_earlier(
    id: &str,
    revision: Option<&str>,
    options: &FetchOptions,
) -> Result<Option<Fetched>, FetchError> {
    match Fetch::new(AssetKind::Encoder, id, revision, options)?.check_cached() {
        Err(FetchError::OtherRevision { .. }) => Ok(None),
        other => other,
    }
}

/// Checks the files of a revision in the cache; `None` if some are missing that must be downloaded. Files that neither this
/// program nor the encoder needs may be missing.
fn check_snapshot(
    cache: &HubCache,
    id: &str,
    revision: Option<&str>,
    options: &FetchOptions,
) -> Result<Option<Fetched>, FetchError> {
    let Some(commit) = cache.commit_of(id, revision) else { return Ok(None) };
    let store = HubStore::new(cache, id, &commit);
    let folder = store.snapshot();
    let Some(names) = needed_files(&folder, options.weights) else { return Ok(None) };
    let mut files = BTreeMap::new();
    for name in names {
        let source = hub_store::check_file(&folder.join(&name))?;
        let hint = || format!("check the pin, or delete {} and fetch it again", folder.display());
        check_pin(options, &name, &source.sha256, hint)?;
        files.insert(name, source);
    }
    let licence = licence_of(&folder);
    Ok(Some(Fetched { folder, revision: commit, files, licence, downloaded: false }))
}

/// Returns the names of the files in a snapshot that are fetched; `None` if one is missing without which the encoder cannot be
/// used.
fn needed_files(folder: &Path, need_weights: bool) -> Option<Vec<String>> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let names: Vec<String> = entries
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let has = |name: &str| names.iter().any(|found| found == name);
    if !has("config.json") || !(has("tokenizer.json") || has("vocab.txt")) {
        return None;
    }
    let weights = if need_weights { listing::weight_files(&names) } else { Vec::new() };
    if need_weights && weights.is_empty() {
        return None;
    }
    if let Some(index) = weights.first().filter(|name| name.ends_with(".index.json")) {
        let shards = crate::encoder::shard_files(folder.join(index).to_str()?).ok()?;
        shards.iter().all(|shard| has(shard)).then_some(())?;
    }
    let is_needed = |name: &String| listing::is_described(name) || weights.contains(name);
    Some(names.iter().filter(|name| is_needed(name)).cloned().collect())
}

/// Downloads what the cache lacks of a revision.
fn download(
    client: &HubClient,
    about: RequestSubject<'_>,
    cache: &HubCache,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, FetchError> {
    let (commit, listed) = listing::list_encoder(client, about)?;
    let at = format!("{}/{}/resolve/{commit}", client.base(), about.id);
    check_config(client, about, &listed, &at, options)?;
    let chosen = listing::choose_encoder_files(listed, about, options.weights)?;
    let entries: Vec<RemoteEntry> = chosen.into_iter().map(|file| file.entry_at(&at)).collect();
    let store = HubStore::new(cache, about.id, &commit);
    let request = |url: &str, from: u64| client.get(url, from, about);
    let mut any = false;
    for entry in &entries {
        let (sha256, downloaded) = store.download_blob(&request, entry, progress)?;
        any |= downloaded;
        let hint = || String::from("check the pin, then run the command again");
        if let Err(error) = check_pin(options, &entry.name, &sha256, hint) {
            if downloaded {
                store.remove_blob(entry);
            }
            return Err(error);
        }
    }
    store.publish(&entries, about.revision)?;
    let folder = store.snapshot();
    let described = entries.iter().map(|entry| -> Result<(String, Source), FetchError> {
        let source = hub_store::source_of(&folder.join(&entry.name), entry.bytes, &entry.digest)?;
        Ok((entry.name.clone(), source))
    });
    let files = described.collect::<Result<_, FetchError>>()?;
    let licence = licence_of(&folder);
    Ok(Fetched { folder, revision: commit, files, licence, downloaded: any })
}

/// Reads an encoder's config and lets the caller refuse it, before anything is written.
fn check_config(
    client: &HubClient,
    about: RequestSubject<'_>,
    listed: &[ListedFile],
    at: &str,
    options: &FetchOptions,
) -> Result<(), FetchError> {
    let Some(check) = options.check_config else { return Ok(()) };
    let Some(file) = listed.iter().find(|file| file.name == "config.json") else { return Ok(()) };
    let url = format!("{at}/{}", file.name);
    let mut response = client.get(&url, 0, about)?;
    let text = response.body_mut().with_config().limit(MOST_CONFIG).read_to_string();
    let text = text.map_err(|error| FetchError::Connection { url, reason: error.to_string() })?;
    check(&text).map_err(|reason| FetchError::Unsupported { id: about.id.into(), reason })
}
