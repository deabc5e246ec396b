//! What can go wrong on the way from a host into the cache.

use std::path::{Path, PathBuf};

use crate::AssetError;
use crate::error::list;

/// Why something could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The name cannot be one.
    #[error("`{name}` is no name to fetch; expected {expected}")]
    NoName {
        /// As given.
        name: String,
        /// What it should look like.
        expected: &'static str,
    },
    /// A pin is no SHA-256.
    #[error("the pin `{pin}` for {file} is no SHA-256; expected 64 hexadecimal digits")]
    BadPin {
        /// The pinned file.
        file: String,
        /// As given.
        pin: String,
    },
    /// A pin whose file was not among those fetched.
    #[error(
        "the pin for `{file}` names no fetched file; expected one of: {}; correct the name",
        list(.found)
    )]
    IdlePin {
        /// The pinned file.
        file: String,
        /// The files that there are.
        found: Vec<String>,
    },
    /// The host answered that there is nothing of this name, or nothing for everyone.
    #[error("{url}: the host has nothing there for us (status {status}); {hint}")]
    NotThere {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The next step.
        hint: String,
    },
    /// The host cannot answer now.
    #[error("{url}: the host answered with status {status}; try again later: what is already here is kept")]
    Status {
        /// What was asked for.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// No answer, or it broke off.
    #[error("{url}: {reason}; check the connection and run the command again: it goes on where it stopped")]
    Connection {
        /// What was asked for.
        url: String,
        /// The client's reason.
        reason: String,
    },
    /// The host's list of files cannot be read.
    #[error("{url}: expected a list of files, found {reason}; the host may have changed: report it")]
    Listing {
        /// What was asked for.
        url: String,
        /// What was found.
        reason: String,
    },
    /// The host has the name, but not the files that Frostline needs.
    #[error("{name} at {revision} has no {lacks}; its files: {}", .found.join(", "))]
    Lacks {
        /// Treebank or hub id.
        name: String,
        /// The revision that was listed.
        revision: String,
        /// What is needed.
        lacks: &'static str,
        /// What is there.
        found: Vec<String>,
    },
    /// The downloaded bytes are not the ones that were promised.
    #[error(
        "{file}: the {algorithm} does not match: expected {expected}, found {found}; the download was deleted, run the command again"
    )]
    Digest {
        /// The file.
        file: String,
        /// Which digest, or `size`.
        algorithm: &'static str,
        /// What was promised.
        expected: String,
        /// What came.
        found: String,
    },
    /// A file is not the pinned one.
    #[error("{file}: the pinned SHA-256 does not match: expected {expected}, found {found}; {hint}")]
    Pin {
        /// The file.
        file: String,
        /// The pin.
        expected: String,
        /// What the file has.
        found: String,
        /// The next step.
        hint: String,
    },
    /// What is in the cache is not what was once put there.
    #[error("{folder}: {reason}; delete the folder and fetch it again")]
    Damaged {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The cache holds another revision.
    #[error(
        "{folder} holds revision {there}, not {wanted}; delete the folder to fetch {wanted}, or keep it and fetch it by name with --revision {there}"
    )]
    OtherRevision {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        there: String,
        /// What was asked for.
        wanted: String,
    },
    /// Another process fetches the same.
    #[error("{folder}: another process is fetching this now; wait for it to end")]
    Busy {
        /// The growing folder.
        folder: PathBuf,
    },
    /// A file that was fetched cannot be read.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// The operating system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl FetchError {
    /// Names the place of a system error.
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.into(), source }
    }
}
