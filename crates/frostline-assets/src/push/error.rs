//! The error type of uploads.

use std::path::PathBuf;

use crate::fetch::FetchError;

/// Why a model could not be pushed. No file was committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The name is no name of a repository.
    #[error("`{name}` is not a repository's name; expected OWNER/NAME, such as my-name/my-tagger")]
    BadName {
        /// The given name.
        name: String,
    },
    /// No token was found.
    #[error(
        "{hub} needs a token to push; make one with write access on {hub}/settings/tokens, then set HF_TOKEN or run `hf auth login`"
    )]
    NoToken {
        /// The hub.
        hub: String,
    },
    /// The token may only read.
    #[error("the token in {place} can only read; make one with write access on {hub}/settings/tokens")]
    ReadOnly {
        /// Where the token was found.
        place: String,
        /// The hub.
        hub: String,
    },
    /// The account may not write there.
    #[error(
        "the account {account} cannot push to {owner}: {reason}; give a name of {owners}, or set HF_TOKEN to a token that may write there"
    )]
    NotAllowed {
        /// The account of the token.
        account: String,
        /// The owner in the requested name.
        owner: String,
        /// The hub's reason.
        reason: String,
        /// Where the account has repositories.
        owners: String,
    },
    /// The hub made a repository public that was to be private.
    #[error(
        "{url} was created as a public repository, though a private one was requested; nothing was uploaded: delete it or make it private on its page"
    )]
    BecamePublic {
        /// The repository's page.
        url: String,
    },
    /// The hub reported that the repository was created, but it is not there.
    #[error("{url} was created, but the hub does not have it; try again later")]
    NotCreated {
        /// The repository's page.
        url: String,
    },
    /// The metadata of the model card are invalid.
    #[error("README.md: the hub does not accept its metadata: {}; correct the lines between the two `---`", .faults.join("; "))]
    Card {
        /// The hub's messages.
        faults: Vec<String>,
    },
    /// The folder is no model's.
    #[error("{}: no {missing}; make the folder with `frostline export --run CELL --out DIR`", .folder.display())]
    NoModel {
        /// The folder.
        folder: PathBuf,
        /// The missing file.
        missing: &'static str,
    },
    /// The storage for large files does not accept a file.
    #[error("{file}: the hub's storage for large files refuses it: {reason}")]
    Storage {
        /// The file.
        file: String,
        /// The hub's message.
        reason: String,
    },
    /// A large file could not be uploaded.
    #[error(
        "{file}: the upload to {host} failed with status {status}; run the command again: complete files are not sent again"
    )]
    Upload {
        /// The file.
        file: String,
        /// The storage's host.
        host: String,
        /// The HTTP status.
        status: u16,
    },
    /// The hub's answer is not what this program expects.
    #[error("{url}: unexpected answer: {reason}; the hub may have changed its format: report this")]
    Answer {
        /// The requested address.
        url: String,
        /// The finding.
        reason: String,
    },
    /// The hub refuses a request or cannot be reached.
    #[error(transparent)]
    Hub(#[from] FetchError),
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] frostline_files::FileError),
}
