//! The error type of downloads.

use std::path::{Path, PathBuf};

use crate::AssetError;
use crate::error::join_names;

/// Why something could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The name is invalid.
    #[error("`{name}` cannot be fetched; expected {expected}")]
    NoName {
        /// The given name.
        name: String,
        /// The expected form.
        expected: &'static str,
    },
    /// A pin is not a SHA-256.
    #[error("the pin `{pin}` for {file} is not a SHA-256; expected 64 hexadecimal digits")]
    BadPin {
        /// The pinned file.
        file: String,
        /// The given pin.
        pin: String,
    },
    /// A pin whose file was not fetched.
    #[error(
        "the pin for `{file}` names no fetched file; expected one of: {}; correct the name",
        join_names(.found)
    )]
    UnusedPin {
        /// The pinned file.
        file: String,
        /// The fetched files.
        found: Vec<String>,
    },
    /// The address of a host is not allowed.
    #[error(
        "`{endpoint}` cannot be a host to download from: {reason}; expected https://HOST/PATH, or http:// for a server on this machine"
    )]
    BadEndpoint {
        /// The given address.
        endpoint: String,
        /// The fault.
        reason: &'static str,
    },
    /// The cache lacks something, and no connection may be opened.
    #[error("{name} is not in the cache, and no connection is opened in offline mode; expected {folder}")]
    Offline {
        /// Treebank or hub id.
        name: String,
        /// The folder that it would have in the cache.
        folder: PathBuf,
    },
    /// A file is not one of the release's.
    #[error(
        "{file} is not a file of release {release}: expected {expected}, found {found}; nothing was kept of a download: check the host, or delete the folder in the cache and fetch it again"
    )]
    OtherFile {
        /// The file.
        file: String,
        /// The release.
        release: String,
        /// The release's value for this name.
        expected: String,
        /// The value found, and its place.
        found: String,
    },
    /// The host has nothing of this name, or nothing that is public.
    #[error("{url}: not found or not public (status {status}); {hint}")]
    NotFound {
        /// The requested address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The next step.
        hint: String,
    },
    /// The encoder's owner gives access to some users alone.
    #[error("{id} is gated: its owner asks you to accept terms; {}", gated_hint(.page, .token.as_deref()))]
    Gated {
        /// The hub id.
        id: String,
        /// The encoder's page.
        page: String,
        /// Where the token was found, if there is one.
        token: Option<String>,
    },
    /// The hub has the encoder, but not this revision.
    #[error("{id} has no revision `{revision}`; expected a branch, a tag or a commit of {page}/commits/main")]
    NoRevision {
        /// The hub id.
        id: String,
        /// The requested revision.
        revision: String,
        /// The encoder's page.
        page: String,
    },
    /// The hub does not accept the token.
    #[error(
        "{hub} does not accept the token in {place}; make a new one on {hub}/settings/tokens, or unset it for public encoders"
    )]
    BadToken {
        /// Where the token was found.
        place: String,
        /// The hub.
        hub: String,
    },
    /// The encoder belongs to no family that this program can train.
    #[error("{id} was not downloaded: {reason}")]
    Unsupported {
        /// The hub id.
        id: String,
        /// The reason, from its `config.json`.
        reason: String,
    },
    /// A host leads to another address that is not followed.
    #[error("{url}: the host redirects {reason}, which is not followed; check the address of the host")]
    Redirect {
        /// The requested address.
        url: String,
        /// Where to.
        reason: String,
    },
    /// The host answered with an error.
    #[error(
        "{url}: the host answered with status {status}; try again later: files that are already complete are kept"
    )]
    Status {
        /// The requested address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The host did not answer, or the transfer was interrupted.
    #[error("{url}: {reason}; check the connection and run the command again: it resumes where it stopped")]
    Connection {
        /// The requested address.
        url: String,
        /// The client's reason.
        reason: String,
    },
    /// The host's list of files cannot be read.
    #[error(
        "{url}: expected a list of files, found {reason}; the host may have changed its format: report this"
    )]
    Listing {
        /// The requested address.
        url: String,
        /// The finding.
        reason: String,
    },
    /// The host has the name, but not the files that Frostline needs.
    #[error("{name} at {revision} has no {missing}; its files: {}", join_names(.found))]
    MissingFile {
        /// Treebank or hub id.
        name: String,
        /// The revision that was listed.
        revision: String,
        /// The missing file.
        missing: &'static str,
        /// The files that exist.
        found: Vec<String>,
    },
    /// The downloaded bytes do not match the host's list.
    #[error(
        "{file}: the {algorithm} does not match: expected {expected}, found {found}; the download was deleted, run the command again"
    )]
    Digest {
        /// The file.
        file: String,
        /// The kind of digest, or `size in bytes`.
        algorithm: &'static str,
        /// The listed value.
        expected: String,
        /// The value of the download.
        found: String,
    },
    /// A file does not match its pin.
    #[error("{file}: the pinned SHA-256 does not match: expected {expected}, found {found}; {hint}")]
    Pin {
        /// The file.
        file: String,
        /// The pin.
        expected: String,
        /// The file's SHA-256.
        found: String,
        /// The next step.
        hint: String,
    },
    /// The cached files differ from the fetched files.
    #[error("{folder}: {reason}; delete the folder and fetch it again")]
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The cache has another revision.
    #[error(
        "{folder} contains revision {found}, expected {expected}; delete the folder to fetch {expected}, or keep it and fetch with --revision {found}"
    )]
    OtherRevision {
        /// The folder.
        folder: PathBuf,
        /// The revision in the cache.
        found: String,
        /// The requested revision.
        expected: String,
    },
    /// Another process is fetching the same.
    #[error("{folder}: another process is fetching this now; wait until it has finished")]
    Busy {
        /// The folder of the download.
        folder: PathBuf,
    },
    /// A file that was fetched cannot be read.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The next step for a gated encoder.
fn gated_hint(page: &str, token: Option<&str>) -> String {
    match token {
        None => format!(
            "accept them on {page}, then set HF_TOKEN to a token of that account, or run `hf auth login`"
        ),
        Some(place) => format!("accept them on {page} with the account of the token in {place}"),
    }
}

impl From<frostline_files::FileError> for FetchError {
    fn from(error: frostline_files::FileError) -> Self {
        Self::Io { path: error.path, source: error.reason }
    }
}

impl FetchError {
    /// Adds the path to a system error.
    pub(super) fn with_path(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.into(), source }
    }
}
