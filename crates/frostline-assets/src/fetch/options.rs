//! The settings of a download, its progress and its result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::token::HubToken;
use crate::encoder::ConfigCheck;
use crate::licence::Licence;
use crate::source::Source;

/// The Universal Dependencies release that is fetched by default.
pub const UD_RELEASE: &str = "r2.16";

/// The settings of a download.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// The cache; see [`default_cache`](crate::default_cache).
    pub cache: PathBuf,
    /// The cache of encoders, in the layout of `huggingface_hub`; see [`default_hub_cache`](crate::default_hub_cache).
    pub hub_cache: PathBuf,
    /// The token for the hub; it is sent to [`Hosts::hub`] alone.
    pub token: Option<HubToken>,
    /// A check of an encoder's `config.json` before its other files are downloaded.
    pub check_config: Option<ConfigCheck>,
    /// A tag, branch or commit; `None` means [`UD_RELEASE`] for treebanks and the hub's newest commit
    /// for encoders.
    pub revision: Option<String>,
    /// The required SHA-256 of files, by file name, in hexadecimal; see
    /// [`check_pins`](super::check_pins).
    pub pins: BTreeMap<String, String>,
    /// Whether an encoder's weights are fetched too.
    pub weights: bool,
    /// Whether no connection may be opened: cached files are checked, and missing ones are an error.
    pub offline: bool,
    /// Whether no connection to the hub may be opened.
    pub hub_offline: bool,
    /// The hosts to download from.
    pub hosts: Hosts,
}

/// The base addresses of the hosts, without a slash at the end. Each is `https://`, or `http://` on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Lists the files of treebank repositories: GitHub's API.
    pub treebank_lists: String,
    /// Serves the files of treebank repositories.
    pub treebank_files: String,
    /// The Hugging Face hub.
    pub hub: String,
    /// Serves the archives of datasets that have no repository, such as SST-2.
    pub archives: String,
}

/// The progress of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The name of the file.
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
    /// The folder of the download.
    pub folder: PathBuf,
    /// The revision of the files.
    pub revision: String,
    /// The files by name.
    pub files: BTreeMap<String, Source>,
    /// The licence that the files state, if any does.
    pub licence: Option<Licence>,
    /// False if everything was already there and only checked.
    pub downloaded: bool,
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            treebank_lists: "https://api.github.com".into(),
            treebank_files: "https://raw.githubusercontent.com".into(),
            hub: "https://huggingface.co".into(),
            archives: "https://dl.fbaipublicfiles.com".into(),
        }
    }
}

impl Hosts {
    /// Takes treebanks from a mirror. It has their lists and their files at the paths of the usual hosts:
    /// `URL/repos/UniversalDependencies/NAME/contents?ref=REVISION` and
    /// `URL/UniversalDependencies/NAME/REVISION/FILE`.
    #[must_use]
    pub fn with_treebanks_at(self, url: &str) -> Self {
        let url = url.trim_end_matches('/');
        Self { treebank_lists: url.into(), treebank_files: url.into(), ..self }
    }

    /// Takes encoders from a mirror of the Hugging Face hub.
    #[must_use]
    pub fn with_hub_at(self, url: &str) -> Self {
        Self { hub: url.trim_end_matches('/').into(), ..self }
    }
}

impl FetchOptions {
    /// Everything from the default revision and the default hosts, without a token. Encoders go into `hub/` in the cache.
    #[must_use]
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        let cache = cache.into();
        Self {
            hub_cache: cache.join("hub"),
            cache,
            token: None,
            check_config: None,
            revision: None,
            pins: BTreeMap::new(),
            weights: true,
            offline: false,
            hub_offline: false,
            hosts: Hosts::default(),
        }
    }
}
