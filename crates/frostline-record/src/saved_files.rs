//! The SHA-256 of each file of the models that a cell saved, so that later changes and replacements are
//! detected.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use frostline_files::FileError;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cell::hex;

/// Names of folders with saved files, also as `NAME-TASK`.
const FOLDERS: [&str; 3] = ["model", "peft", "stage"];

/// A file next to these folders.
const FEATURES: &str = "features.safetensors";

/// A model's card: text for people, which they may change.
const CARD: &str = "README.md";

/// Files of these kinds are read from a model's folder, so an additional one may change what the model does.
const READ: [&str; 3] = ["json", "safetensors", "txt"];

/// A saved file cannot be read, or differs from the cell's file.
#[derive(Debug, thiserror::Error)]
pub enum SavedFilesError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file differs from the record.
    #[error("{path} {how}", path = path.display())]
    Differs {
        /// The file.
        path: PathBuf,
        /// In which way, and the next step.
        how: &'static str,
    },
}

/// The files of saved models, adapters and features: their paths in the cell's folder, with `/`, and the SHA-256 of their
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedFiles(BTreeMap<String, String>);

impl SavedFiles {
    /// Returns the files that a cell has just saved in its folder.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn of(cell_folder: &Path) -> Result<Self, FileError> {
        let paths = saved_paths(cell_folder)?;
        let hashed = |path: String| Ok((path.clone(), hash(&cell_folder.join(path))?));
        Ok(Self(paths.into_iter().map(hashed).collect::<Result<_, FileError>>()?))
    }

    /// Returns whether there are none: nothing was saved, or the record is older than these.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the saved files of a folder in the cell's, such as `model`.
    pub fn names_in<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.keys().filter_map(move |path| path.strip_prefix(part)?.strip_prefix('/'))
    }

    /// Compares the files in `cell_folder` with the record. `part` is a folder in it, such as `model`; without
    /// it, all files are compared.
    ///
    /// # Errors
    /// If a file is missing, has other bytes, or was added and would be read; the error names it.
    pub fn check(&self, cell_folder: &Path, part: Option<&str>) -> Result<(), SavedFilesError> {
        if self.is_empty() {
            return Ok(());
        }
        let wanted = |path: &str| part.is_none_or(|part| path.split('/').next() == Some(part));
        let differs = |path: &str, how| SavedFilesError::Differs { path: cell_folder.join(path), how };
        for (path, sha256) in self.0.iter().filter(|(path, _)| wanted(path)) {
            let place = cell_folder.join(path);
            if !place.exists() {
                return Err(differs(
                    path,
                    "is missing, although the cell saved it; remove the cell's record.json and run its sweep again",
                ));
            }
            if hash(&place)? != *sha256 {
                return Err(differs(
                    path,
                    "does not have the bytes that the cell saved; remove the cell's record.json and run its sweep again",
                ));
            }
        }
        let read = |path: &&String| {
            Path::new(path).extension().is_some_and(|kind| READ.iter().any(|one| *one == kind))
        };
        let found = saved_paths(cell_folder)?;
        match found.iter().filter(read).find(|path| wanted(path) && !self.0.contains_key(*path)) {
            None => Ok(()),
            Some(path) => Err(differs(path, "is not one of the files that the cell saved; remove it")),
        }
    }

    /// Checks that every path is in the cell's folder and every hash is valid.
    ///
    /// # Errors
    /// If a path or a hash is not; the error names it.
    pub(crate) fn check_names(&self) -> Result<(), String> {
        for (path, sha256) in &self.0 {
            let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            if path.is_empty() || !inside || path.contains('\\') || path.contains(char::is_control) {
                return Err(format!("it saved {path:?}, which is not a file of the cell's folder"));
            }
            if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(format!("the SHA-256 of {path:?} does not have 64 hexadecimal digits"));
            }
        }
        Ok(())
    }
}

/// Returns the saved files in a cell's folder.
fn saved_paths(cell_folder: &Path) -> Result<Vec<String>, FileError> {
    let mut paths = Vec::new();
    for name in file_names(cell_folder)? {
        let place = cell_folder.join(&name);
        let holds_saved = FOLDERS
            .iter()
            .any(|one| name == *one || name.strip_prefix(one).is_some_and(|rest| rest.starts_with('-')));
        if name == FEATURES && place.is_file() {
            paths.push(name);
        } else if holds_saved && place.is_dir() {
            let files =
                file_names(&place)?.into_iter().filter(|file| file != CARD && place.join(file).is_file());
            paths.extend(files.map(|file| format!("{name}/{file}")));
        }
    }
    Ok(paths)
}

/// Returns the names in a folder; names that are not Unicode are ignored.
fn file_names(folder: &Path) -> Result<Vec<String>, FileError> {
    let read = || -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        Ok(names)
    };
    read().map_err(FileError::of(folder))
}

/// Returns the SHA-256 of a file, read in pieces.
fn hash(path: &Path) -> Result<String, FileError> {
    let mut file = frostline_files::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(n) => hasher.update(&buffer[..n]),
            Err(error) => return Err(FileError::of(path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_removed_or_added_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        let write = |path: &str, text: &str| fs::write(at(path), text).expect("written");
        for name in ["model", "model-names", "models", "peft"] {
            fs::create_dir(at(name)).expect("a folder");
            write(&format!("{name}/config.json"), name);
        }
        write("model/model.safetensors", "weights");
        write(FEATURES, "features");
        write("record.json", "{}");
        write("model/README.md", "A card.");
        let saved = SavedFiles::of(folder.path()).expect("read");
        let paths: Vec<&str> = saved.0.keys().map(String::as_str).collect();
        let all = [
            "features.safetensors",
            "model-names/config.json",
            "model/config.json",
            "model/model.safetensors",
        ];
        assert_eq!(paths, [&all[..], &["peft/config.json"]].concat());
        saved.check(folder.path(), None).expect("unchanged");
        saved.check_names().expect("all inside");

        let fault = |part| {
            let error = saved.check(folder.path(), part).expect_err("something was changed").to_string();
            error.replace(&folder.path().display().to_string(), "FOLDER")
        };
        write("model-names/config.json", "other");
        let mut faults = vec![fault(None)];
        saved.check(folder.path(), Some("model")).expect("another folder was changed");
        write("model-names/config.json", "model-names");
        write("model/README.md", "Notes may be added.");
        saved.check(folder.path(), None).expect("no tool reads it");
        write("model/tokenizer.json", "{}");
        faults.push(fault(Some("model")));
        fs::remove_file(at("model/tokenizer.json")).expect("removed");
        fs::remove_file(at("model/model.safetensors")).expect("removed");
        faults.push(fault(Some("model")));
        insta::assert_snapshot!(faults.join("\n"));
    }

    #[test]
    fn every_bit_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FEATURES);
        let bytes = *b"some numbers";
        fs::write(&path, bytes).expect("written");
        let saved = SavedFiles::of(folder.path()).expect("read");
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, damaged).expect("written");
            assert!(saved.check(folder.path(), None).is_err(), "bit {bit}");
        }
    }
}
