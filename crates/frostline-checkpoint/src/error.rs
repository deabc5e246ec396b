//! The error of this crate: a file or a tensor, and what is wrong with it.

use std::fmt::Display;

use frostline_files::FileError;

/// A checkpoint that cannot be read, or two that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct CheckpointError {
    /// The file, folder or argument.
    pub place: String,
    /// What was found, what was expected, and what to do next.
    pub reason: String,
}

impl CheckpointError {
    /// Creates an error for a place.
    pub fn new(place: impl Display, reason: impl Into<String>) -> Self {
        Self { place: place.to_string(), reason: reason.into() }
    }
}

impl From<FileError> for CheckpointError {
    fn from(error: FileError) -> Self {
        Self::new(error.path.display(), error.reason.to_string())
    }
}
