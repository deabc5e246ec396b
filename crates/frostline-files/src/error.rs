//! Errors of file operations, with the path.

use std::io;
use std::path::{Path, PathBuf};

/// An operation on a file that failed.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}", path = path.display())]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's reason, or this crate's.
    pub reason: io::Error,
}

impl FileError {
    /// Adds a path to the system's reason: `result.map_err(FileError::of(path))`.
    pub fn of(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |reason| Self { path: path.into(), reason }
    }
}
