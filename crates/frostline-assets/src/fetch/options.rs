//! The settings of a download, its progress and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::source::Source;

/// The Universal Dependencies release that is fetched by default.
pub const UD_RELEASE: &str = "r2.16";

/// The settings of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// The cache; see [`default_cache`](crate::default_cache).
    pub cache: PathBuf,
    /// A tag, branch or commit; `None` means [`UD_RELEASE`] for treebanks and the hub's newest commit
    /// for encoders.
    pub revision: Option<String>,
    /// The required SHA-256 of files, by file name, in hexadecimal; see
    /// [`check_pins`](super::check_pins).
    pub pins: BTreeMap<String, String>,
    /// Whether an encoder's weights are fetched too.
    pub weights: bool,
    /// The hosts to download from.
    pub hosts: Hosts,
}

/// The base addresses of the hosts, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Lists the files of treebank repositories: GitHub's API.
    pub treebank_lists: String,
    /// Serves the files of treebank repositories.
    pub treebank_files: String,
    /// The Hugging Face hub.
    pub hub: String,
}

/// The progress of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Its name.
    pub file: &'a str,
    /// The size on disk so far, including the bytes of an interrupted download.
    ///
    /// # Units
    /// Bytes.
    pub bytes: u64,
    /// The size of the complete file.
    ///
    /// # Units
    /// Bytes.
    pub bytes_total: u64,
}

/// A fetched folder in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Its folder.
    pub folder: PathBuf,
    /// The revision of the files.
    pub revision: String,
    /// The files by name.
    pub files: BTreeMap<String, Source>,
    /// False where everything was already there and only checked.
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

impl FetchOptions {
    /// Everything from the default revision and the default hosts.
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
