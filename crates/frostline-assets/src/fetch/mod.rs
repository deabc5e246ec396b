//! Downloads into the cache, so that [`Places`](crate::Places) finds them by name.
//!
//! A treebank comes from the repository of its Universal Dependencies release, an encoder from the Hugging Face
//! hub. Both hosts list each file with its size and digest; a file that does not match is an error.
//! [`FetchOptions::pins`] requires a given SHA-256 from the start. The digests of some treebanks' files are compiled in
//! ([`known_blobs`]). Files that state a licence are kept with the others.
//!
//! An encoder goes into the cache that `huggingface_hub` uses ([`HubCache`](crate::HubCache)), in which the name of every
//! file is its digest. For a treebank, the first download writes the SHA-256 of every file to `fetched.json` in the same
//! folder. A later fetch of the same name checks the files, without a connection.
//!
//! A treebank's folder appears in the cache when it is complete: the download is stored in `NAME.part`, from which an
//! interrupted download resumes. An existing folder is checked and never overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::Origin;
use crate::licence::licence_of;
use crate::places::AssetKind;
use crate::source::Source;

use self::entry::RemoteEntry;

mod download;
mod encoder;
mod endpoint;
mod entry;
mod error;
mod http;
pub(crate) mod hub_client;
mod hub_store;
mod known;
mod listing;
mod options;
mod release;
mod token;

pub use crate::encoder::ConfigCheck;
pub use encoder::encoder;
pub use error::FetchError;
pub use known::dataset;
pub use options::{FetchOptions, Fetched, Hosts, Progress, UD_RELEASE};
pub use release::{git_blob_id, known_blobs};
pub use token::HubToken;

/// Name of the file that lists the fetched files.
const RECORD: &str = "fetched.json";

/// The largest such file that is read.
///
/// # Units
/// Bytes.
const MOST_RECORD: u64 = 16 << 20;

/// The lock file in the folder of a download.
const LOCK: &str = ".lock";

/// Fetches a treebank such as `UD_English-EWT`: its splits, licence and readme.
///
/// # Errors
/// If the name is invalid, the host has no such treebank or release, the connection fails or is not allowed, a file
/// does not match the host's list, its pin or its release, or the cache cannot be written.
pub fn treebank(
    name: &str,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, FetchError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with("UD_") || !name.chars().all(legal) {
        return Err(FetchError::NoName {
            name: name.into(),
            expected: "a treebank's name such as UD_English-EWT",
        });
    }
    let revision = options.revision.as_deref().unwrap_or(UD_RELEASE);
    let fetch = Fetch::new(AssetKind::Dataset, name, Some(revision), options)?;
    if let Some(cached) = fetch.check_cached()? {
        return Ok(cached);
    }
    let agent = fetch.connect_to(&[&options.hosts.treebank_lists, &options.hosts.treebank_files])?;
    let list = listing::list_treebank(&agent, &options.hosts, name, revision)?;
    release::check_list(name, revision, &list)?;
    fetch.download(&agent, revision, &list, progress)
}

/// Fetches a ZIP archive of datasets from an address that ends in `.zip` and unpacks it into the cache: the returned folder is for
/// [`Places::data`](crate::Places::data). An archive that the cache has is not fetched again; it has the name of its address.
///
/// # Errors
/// If the address is not allowed, the connection fails or is not allowed, the archive does not match its pin or has no
/// dataset, or the cache cannot be written.
pub fn archive(
    url: &str,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, FetchError> {
    endpoint::check(url)?;
    let name = url.rsplit('/').next().unwrap_or(url);
    let fetch = Fetch::new(AssetKind::Dataset, name, None, options)?;
    // Two addresses may end in the same name.
    let kept = options.cache.join("archives").join(format!("{}-{name}", &crate::sha256(url.as_bytes())[..8]));
    let downloaded = !kept.is_file();
    if downloaded {
        let agent = fetch.connect_to(&[url])?;
        frostline_files::create_own_folder(&options.cache.join("archives"))?;
        download::download_unlisted(&agent, url, name, &kept, progress)?;
    }
    let source = Source::of_file(&kept, Origin::Cache)?;
    let hint = || format!("check the pin, or delete {} and fetch it again", kept.display());
    fetch.check_pin(name, &source.sha256, hint)?;
    let folder = crate::unpack_archive(&kept, &options.cache).inspect_err(|_| {
        // A page that a host sent in its place is not kept.
        let _ = frostline_files::remove(&kept);
    })?;
    Ok(Fetched {
        folder,
        revision: format!("SHA-256 {}", &source.sha256[..12]),
        files: BTreeMap::from([(name.into(), source)]),
        licence: None,
        downloaded,
    })
}

/// Checks that every pin names a fetched file.
///
/// # Errors
/// If a pin of [`FetchOptions::pins`] names none of these files.
pub fn check_pins(options: &FetchOptions, fetched: &[Fetched]) -> Result<(), FetchError> {
    let files: BTreeSet<&String> = fetched.iter().flat_map(|fetched| fetched.files.keys()).collect();
    match options.pins.keys().find(|file| !files.contains(file)) {
        None => Ok(()),
        Some(file) => {
            Err(FetchError::UnusedPin { file: file.clone(), found: files.into_iter().cloned().collect() })
        }
    }
}

/// One folder to fetch into the cache.
struct Fetch<'o> {
    name: String,
    /// The revision that an existing folder must have; `None` allows any.
    wanted: Option<&'o str>,
    options: &'o FetchOptions,
    folder: PathBuf,
}

impl<'o> Fetch<'o> {
    fn new(
        kind: AssetKind,
        name: &str,
        wanted: Option<&'o str>,
        options: &'o FetchOptions,
    ) -> Result<Self, FetchError> {
        check_form_of_pins(options)?;
        Ok(Self {
            name: name.into(),
            wanted,
            options,
            folder: options.cache.join(kind.cache_folder()).join(name),
        })
    }

    /// Returns a client for these hosts. It is the only way to a connection.
    ///
    /// # Errors
    /// In offline mode, and if a host's address is not allowed.
    fn connect_to(&self, hosts: &[&str]) -> Result<ureq::Agent, FetchError> {
        if self.options.offline {
            return Err(FetchError::Offline { name: self.name.clone(), folder: self.folder.clone() });
        }
        for host in hosts {
            endpoint::check(host)?;
        }
        Ok(http::build_agent(hosts.iter().all(|host| endpoint::is_encrypted(host))))
    }

    /// Returns the cached folder, or `None` if there is none.
    ///
    /// # Errors
    /// If the cached folder is damaged, or has another revision than the requested one.
    fn check_cached(&self) -> Result<Option<Fetched>, FetchError> {
        if !self.folder.exists() {
            return Ok(None);
        }
        let damaged = |reason: String| FetchError::Damaged { folder: self.folder.clone(), reason };
        let text = frostline_files::read(&self.folder.join(RECORD), MOST_RECORD)
            .map_err(|error| damaged(format!("{RECORD}: {}", error.reason)))?;
        let record: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| damaged(format!("{RECORD}: {error}")))?;
        let (Some(revision), Some(recorded)) = (record["revision"].as_str(), record["files"].as_object())
        else {
            return Err(damaged(format!("{RECORD} names no revision or no files")));
        };
        if let Some(wanted) = self.wanted
            && wanted != revision
            && record["asked"].as_str() != Some(wanted)
        {
            return Err(FetchError::OtherRevision {
                folder: self.folder.clone(),
                found: revision.into(),
                expected: wanted.into(),
            });
        }
        let hint = || format!("check the pin, or delete {} and fetch it again", self.folder.display());
        let mut files = BTreeMap::new();
        for (name, facts) in recorded {
            let source = self.source(&self.folder, name)?;
            if facts["sha256"].as_str() != Some(&source.sha256) {
                return Err(damaged(format!("{name} is not the file that was fetched")));
            }
            self.check_pin(name, &source.sha256, hint)?;
            release::check_file(&self.name, revision, &self.folder, name)?;
            files.insert(name.clone(), source);
        }
        let lacks_weights = self.options.weights && record["without_weights"] == json!(true);
        if lacks_weights {
            return Err(damaged("it was fetched without weights".into()));
        }
        Ok(Some(self.describe_fetched(revision, files, false)))
    }

    /// Downloads the entries into `NAME.part`, checks them and renames the folder into place.
    fn download(
        &self,
        agent: &ureq::Agent,
        revision: &str,
        list: &[RemoteEntry],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Fetched, FetchError> {
        self.put_in_place(revision, |part| {
            if let Err(error) = self.fill_folder(agent, part, revision, list, progress) {
                let is_known = !release::known_blobs(&self.name, revision).is_empty();
                if is_known && matches!(error, FetchError::Digest { .. } | FetchError::OtherFile { .. }) {
                    // The host's list is correct but its files are not: none of them can be trusted.
                    let _ = frostline_files::remove_own_folder(part);
                }
                return Err(error);
            }
            Ok(list.iter().map(|entry| entry.name.clone()).collect())
        })
    }

    /// Lets `fill` write files into `NAME.part`, and renames the folder into place. `fill` returns the files' names.
    fn put_in_place(
        &self,
        revision: &str,
        fill: impl FnOnce(&Path) -> Result<Vec<String>, FetchError>,
    ) -> Result<Fetched, FetchError> {
        let part = self.folder.with_added_extension("part");
        let lock = lock_folder(&part)?;
        // Another process may have finished fetching this since the check above.
        if let Some(cached) = self.check_cached()? {
            // Errors are ignored, since a third process may be removing it too.
            let _ = frostline_files::remove_own_folder(&part);
            return Ok(cached);
        }
        let names = fill(&part)?;
        frostline_files::rename(&part, &self.folder)?;
        // After the renaming, so that the next process to get the lock finds the folder in place.
        let _ = frostline_files::remove(&self.folder.join(LOCK));
        drop(lock);
        let named = names.into_iter().map(|name| {
            let source = self.source(&self.folder, &name)?;
            Ok((name, source))
        });
        Ok(self.describe_fetched(revision, named.collect::<Result<_, FetchError>>()?, true))
    }

    fn describe_fetched(&self, revision: &str, files: BTreeMap<String, Source>, downloaded: bool) -> Fetched {
        let licence = licence_of(&self.folder);
        Fetched { folder: self.folder.clone(), revision: revision.into(), files, licence, downloaded }
    }

    /// Downloads the entries and writes their record into the folder, and removes everything else.
    fn fill_folder(
        &self,
        agent: &ureq::Agent,
        part: &Path,
        revision: &str,
        list: &[RemoteEntry],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), FetchError> {
        let hint = || String::from("the download was deleted: check the pin, then run the command again");
        let mut record = serde_json::Map::new();
        for entry in list {
            download::download_file(agent, entry, part, progress)?;
            let source = self.source(part, &entry.name)?;
            if let Err(error) = self.check_pin(&entry.name, &source.sha256, hint) {
                let _ = frostline_files::remove(&part.join(&entry.name));
                return Err(error);
            }
            let facts = json!({ "url": entry.url, "sha256": source.sha256, "bytes": source.bytes });
            record.insert(entry.name.clone(), facts);
        }
        for entry in list {
            release::check_file(&self.name, revision, part, &entry.name)?;
        }
        self.write_record(part, revision, record)?;
        remove_all_but(part, list)
    }

    fn write_record(
        &self,
        folder: &Path,
        revision: &str,
        files: serde_json::Map<String, serde_json::Value>,
    ) -> Result<(), FetchError> {
        let record = json!({
            "schema": 1,
            "name": self.name,
            "asked": self.options.revision,
            "revision": revision,
            "without_weights": !self.options.weights,
            "files": files,
        });
        let text = serde_json::to_string_pretty(&record).expect("plain data always serialises");
        Ok(frostline_files::write(&folder.join(RECORD), (text + "\n").as_bytes())?)
    }

    fn source(&self, folder: &Path, name: &str) -> Result<Source, FetchError> {
        Ok(Source::of_file(&folder.join(name), Origin::Cache)?)
    }

    fn check_pin(&self, file: &str, found: &str, hint: impl FnOnce() -> String) -> Result<(), FetchError> {
        check_pin(self.options, file, found, hint)
    }
}

/// Compares a file with its pin, if it has one. `hint` is the next step if they differ.
fn check_pin(
    options: &FetchOptions,
    file: &str,
    found: &str,
    hint: impl FnOnce() -> String,
) -> Result<(), FetchError> {
    match options.pins.get(file) {
        Some(pin) if !pin.eq_ignore_ascii_case(found) => Err(FetchError::Pin {
            file: file.into(),
            expected: pin.clone(),
            found: found.into(),
            hint: hint(),
        }),
        _ => Ok(()),
    }
}

/// Checks that every pin is a SHA-256.
fn check_form_of_pins(options: &FetchOptions) -> Result<(), FetchError> {
    match options.pins.iter().find(|(_, pin)| !entry::is_hex(pin, entry::SHA256_DIGITS)) {
        Some((file, pin)) => Err(FetchError::BadPin { file: file.clone(), pin: pin.clone() }),
        None => Ok(()),
    }
}

/// Creates the folder of a download if needed, and locks it.
fn lock_folder(part: &Path) -> Result<fs::File, FetchError> {
    let open = || {
        frostline_files::create_folder(part)?;
        frostline_files::lock_file(&part.join(LOCK))
    };
    // Twice: between the two calls another fetch may rename the folder into place.
    let lock = open().or_else(|_| open())?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(FetchError::Busy { folder: part.into() }),
        Err(fs::TryLockError::Error(error)) => Err(FetchError::with_path(part)(error)),
    }
}

/// Removes everything from a folder except the entries, their record and the lock.
fn remove_all_but(folder: &Path, list: &[RemoteEntry]) -> Result<(), FetchError> {
    let is_entry = |name: &str| list.iter().any(|entry| entry.name == name);
    for found in fs::read_dir(folder).map_err(FetchError::with_path(folder))? {
        let path = found.map_err(FetchError::with_path(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let keep = name.is_some_and(|name| [RECORD, LOCK].contains(&name) || is_entry(name));
        if !keep {
            frostline_files::remove(&path)?;
        }
    }
    Ok(())
}
