//! Downloads into the cache, so that [`Places`](crate::Places) finds them by name.
//!
//! A treebank comes from the repository of its Universal Dependencies release, an encoder from
//! the Hugging Face hub. Both hosts list each file with its size and digest; a file that does not
//! match its entry is refused. On first use the SHA-256 of every file is written beside it in
//! `fetched.json`, and a later fetch of the same name checks the files against it, without a
//! connection. [`Options::pins`] demands a SHA-256 from the start.
//!
//! A folder appears in the cache when it is complete: it grows as `NAME.part`, in which an
//! interrupted download goes on where it stopped.
//!
//! Refuses to overwrite: a folder that is there is checked and left as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::places::Kind;
use crate::source::Source;
use crate::{Origin, fetch::listing::Entry};

mod download;
mod error;
mod listing;

pub use error::FetchError;

/// The Universal Dependencies release that is fetched where nothing else is asked for.
pub const UD_RELEASE: &str = "r2.16";

/// What `fetched.json` is called.
const RECORD: &str = "fetched.json";

/// The file of a growing folder that is locked by whoever fills it.
const LOCK: &str = ".lock";

/// How to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The cache; see [`default_cache`](crate::default_cache).
    pub cache: PathBuf,
    /// A tag, branch or commit; [`UD_RELEASE`] for treebanks and the hub's newest commit for
    /// encoders where `None`.
    pub revision: Option<String>,
    /// File name to the SHA-256 that it must have, in hexadecimal; see [`check_pins`].
    pub pins: BTreeMap<String, String>,
    /// Whether an encoder's weights are fetched too.
    pub weights: bool,
    /// Who is asked.
    pub hosts: Hosts,
}

/// The addresses that are asked, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Lists the files of treebank repositories: GitHub's API.
    pub treebank_lists: String,
    /// Serves the files of treebank repositories.
    pub treebank_files: String,
    /// The Hugging Face hub.
    pub hub: String,
}

/// How far one file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Its name.
    pub file: &'a str,
    /// What is on disk, an earlier try's share included.
    ///
    /// # Units
    /// Bytes.
    pub bytes: u64,
    /// What it will be.
    ///
    /// # Units
    /// Bytes.
    pub bytes_total: u64,
}

/// What is in the cache now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its folder.
    pub folder: PathBuf,
    /// The revision that the files are of.
    pub revision: String,
    /// The files by name.
    pub files: BTreeMap<String, Source>,
    /// False where all was there before and only checked.
    pub downloaded: bool,
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            treebank_lists: "https://api.github.com".into(),
            treebank_files: "https://raw.githubusercontent.com".into(),
            hub: "https://huggingface.co".into(),
        }
    }
}

impl Options {
    /// Everything of the newest revision from the usual hosts.
    #[must_use]
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            cache: cache.into(),
            revision: None,
            pins: BTreeMap::new(),
            weights: true,
            hosts: Hosts::default(),
        }
    }
}

/// Fetches a treebank such as `UD_English-EWT`: its splits, licence and readme.
///
/// # Errors
/// Where the name is none, the host has no such treebank or release, the connection fails, a file
/// is not what the host lists or a pin demands, or the cache cannot be written.
pub fn treebank(
    name: &str,
    options: &Options,
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
    let fetch = Fetch::new(Kind::Dataset, name, Some(revision), options)?;
    if let Some(there) = fetch.check_what_is_there()? {
        return Ok(there);
    }
    let list = listing::treebank(&fetch.agent, &options.hosts, name, revision)?;
    fetch.download(revision, &list, progress)
}

/// Fetches an encoder by its hub id, such as `distilbert-base-multilingual-cased`: config,
/// tokenizer and, where [`Options::weights`] says so, weights.
///
/// # Errors
/// Where the id is none, the hub has no such encoder or revision, the encoder lacks a file that
/// Frostline needs, the connection fails, a file is not what the hub lists or a pin demands, or
/// the cache cannot be written.
pub fn encoder(
    hub_id: &str,
    options: &Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, FetchError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with(".part") && part.chars().all(legal)
    };
    if hub_id.split('/').count() > 2 || !hub_id.split('/').all(part) {
        return Err(FetchError::NoName {
            name: hub_id.into(),
            expected: "a hub id such as distilbert-base-multilingual-cased or OWNER/NAME",
        });
    }
    let fetch = Fetch::new(Kind::Encoder, hub_id, options.revision.as_deref(), options)?;
    if let Some(there) = fetch.check_what_is_there()? {
        return Ok(there);
    }
    let revision = options.revision.as_deref().unwrap_or("main");
    let (commit, list) = listing::encoder(&fetch.agent, options, hub_id, revision)?;
    fetch.download(&commit, &list, progress)
}

/// Refuses a pin that verified nothing because no fetched file has its name.
///
/// # Errors
/// Where a pin of [`Options::pins`] names no file of any of these.
pub fn check_pins(options: &Options, fetched: &[Fetched]) -> Result<(), FetchError> {
    let files: BTreeSet<&String> = fetched.iter().flat_map(|fetched| fetched.files.keys()).collect();
    match options.pins.keys().find(|file| !files.contains(file)) {
        None => Ok(()),
        Some(file) => {
            Err(FetchError::IdlePin { file: file.clone(), found: files.into_iter().cloned().collect() })
        }
    }
}

/// One folder on its way into the cache.
struct Fetch<'o> {
    name: String,
    /// The revision that a folder must be of which is there already; any where `None`.
    wanted: Option<&'o str>,
    options: &'o Options,
    folder: PathBuf,
    agent: ureq::Agent,
}

impl<'o> Fetch<'o> {
    fn new(
        kind: Kind,
        name: &str,
        wanted: Option<&'o str>,
        options: &'o Options,
    ) -> Result<Self, FetchError> {
        for (file, pin) in &options.pins {
            if !listing::is_hex(pin, listing::SHA256_DIGITS) {
                return Err(FetchError::BadPin { file: file.clone(), pin: pin.clone() });
            }
        }
        Ok(Self {
            name: name.into(),
            wanted,
            options,
            folder: options.cache.join(kind.folder()).join(name),
            agent: download::agent(),
        })
    }

    /// The folder if it is there and whole; an error where it is there but not whole, or not of the
    /// revision that is wanted.
    fn check_what_is_there(&self) -> Result<Option<Fetched>, FetchError> {
        if !self.folder.exists() {
            return Ok(None);
        }
        let damaged = |reason: String| FetchError::Damaged { folder: self.folder.clone(), reason };
        let text =
            fs::read(self.folder.join(RECORD)).map_err(|error| damaged(format!("{RECORD}: {error}")))?;
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
                there: revision.into(),
                wanted: wanted.into(),
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
            files.insert(name.clone(), source);
        }
        let lacks_weights = self.options.weights && record["without_weights"] == json!(true);
        if lacks_weights {
            return Err(damaged("it was fetched without weights".into()));
        }
        Ok(Some(Fetched { folder: self.folder.clone(), revision: revision.into(), files, downloaded: false }))
    }

    /// Downloads the entries into `NAME.part`, checks them and renames the folder into place.
    fn download(
        &self,
        revision: &str,
        list: &[Entry],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Fetched, FetchError> {
        let part = self.folder.with_added_extension("part");
        let lock = lock(&part)?;
        // Another fetch of the name may have ended since this one looked.
        if let Some(there) = self.check_what_is_there()? {
            // A third one may be removing it too.
            let _ = fs::remove_dir_all(&part);
            return Ok(there);
        }
        self.fill(&part, revision, list, progress)?;
        fs::rename(&part, &self.folder).map_err(FetchError::io(&self.folder))?;
        // Not before the renaming: whoever gets the lock next must find the folder in place.
        let _ = fs::remove_file(self.folder.join(LOCK));
        drop(lock);
        let named = list.iter().map(|entry| {
            let source = self.source(&self.folder, &entry.name)?;
            Ok((entry.name.clone(), source))
        });
        Ok(Fetched {
            folder: self.folder.clone(),
            revision: revision.into(),
            files: named.collect::<Result<_, FetchError>>()?,
            downloaded: true,
        })
    }

    /// Brings the entries and their record into the growing folder, and nothing else.
    fn fill(
        &self,
        part: &Path,
        revision: &str,
        list: &[Entry],
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), FetchError> {
        let hint = || String::from("the download was deleted: check the pin, then run the command again");
        let mut record = serde_json::Map::new();
        for entry in list {
            download::file(&self.agent, entry, part, progress)?;
            let source = self.source(part, &entry.name)?;
            if let Err(error) = self.check_pin(&entry.name, &source.sha256, hint) {
                let _ = fs::remove_file(part.join(&entry.name));
                return Err(error);
            }
            let facts = json!({ "url": entry.url, "sha256": source.sha256, "bytes": source.bytes });
            record.insert(entry.name.clone(), facts);
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
        let path = folder.join(RECORD);
        fs::write(&path, text + "\n").map_err(FetchError::io(&path))
    }

    fn source(&self, folder: &Path, name: &str) -> Result<Source, FetchError> {
        Ok(Source::of_file(&folder.join(name), Origin::Cache)?)
    }

    /// Holds a file against its pin, where it has one. `hint` is the next step where they differ.
    fn check_pin(&self, file: &str, found: &str, hint: impl FnOnce() -> String) -> Result<(), FetchError> {
        match self.options.pins.get(file) {
            Some(pin) if !pin.eq_ignore_ascii_case(found) => Err(FetchError::Pin {
                file: file.into(),
                expected: pin.clone(),
                found: found.into(),
                hint: hint(),
            }),
            _ => Ok(()),
        }
    }
}

/// Locks a growing folder, which is made where there is none.
fn lock(part: &Path) -> Result<fs::File, FetchError> {
    let open = || {
        fs::create_dir_all(part)?;
        fs::File::create(part.join(LOCK))
    };
    // Twice: between the two calls another fetch may rename the folder into place.
    let lock = open().or_else(|_| open()).map_err(FetchError::io(part))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(FetchError::Busy { folder: part.into() }),
        Err(fs::TryLockError::Error(error)) => Err(FetchError::io(part)(error)),
    }
}

/// Leaves of a folder only the entries, their record and the lock: no remains of earlier tries.
fn remove_all_but(folder: &Path, list: &[Entry]) -> Result<(), FetchError> {
    let is_entry = |name: &str| list.iter().any(|entry| entry.name == name);
    for found in fs::read_dir(folder).map_err(FetchError::io(folder))? {
        let path = found.map_err(FetchError::io(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let keep = name.is_some_and(|name| [RECORD, LOCK].contains(&name) || is_entry(name));
        if !keep {
            fs::remove_file(&path).map_err(FetchError::io(&path))?;
        }
    }
    Ok(())
}
