//! Temporary files and folders.

use std::fs;
use std::path::{Path, PathBuf};

/// Creates a folder without files in another.
pub(crate) fn empty_folder(parent: &Path, name: &str) -> PathBuf {
    let folder = parent.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("a temporary folder");
    }
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}
