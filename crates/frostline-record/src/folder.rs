//! A sweep's folder: `sweep.json` (plan and cells) and `cells/FOLDER/record.json`.
//!
//! A file here is either whole or absent: it is written under another name and renamed.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Cell, Plan, Record, Reference, SCHEMA};

/// What can be wrong with a sweep's folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The operating system said no.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: not readable as {what}: {reason}; delete it and run the sweep again")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
        /// The parser's reason.
        reason: String,
    },
    /// A file was written by another version.
    #[error(
        "{path}: {what} of schema {found}, but this Frostline reads schema {SCHEMA}; run the sweep again, which \
         leaves old records alone, or read it with the version that wrote it"
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// What was expected.
        what: &'static str,
        /// The schema number found.
        found: u32,
    },
    /// A saved model's notes are not what they should be.
    #[error(
        "{path}: not readable as a saved model's notes: {reason}; use the version of Frostline that saved the \
         model, or train it again"
    )]
    SavedModel {
        /// The file.
        path: PathBuf,
        /// The parser's reason.
        reason: String,
    },
    /// No sweep was ever started there.
    #[error("{path} holds no sweep (no sweep.json); give the folder that `frostline sweep` named")]
    NoSweep {
        /// The folder.
        path: PathBuf,
    },
}

/// `sweep.json`: the plan with its overrides applied, and its cells in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The plan as it was run, overrides applied.
    pub plan: Plan,
    /// The overrides of the command line, as given.
    pub overrides: Vec<String>,
    /// All cells in order.
    pub cells: Vec<Cell>,
    /// The published figures that the plan names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
}

impl Sweep {
    /// Reads the sweep of a folder.
    ///
    /// # Errors
    /// Where there is none or it cannot be read.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join("sweep.json");
        if !path.exists() {
            return Err(FolderError::NoSweep { path: folder.into() });
        }
        read_json(&path, "a sweep")
    }

    /// Writes the sweep into its folder.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), FolderError> {
        debug_assert_eq!(self.schema, SCHEMA);
        let text = serde_json::to_string_pretty(self).expect("plain data always serialises");
        write_atomically(&folder.join("sweep.json"), text.as_bytes())
    }

    /// The folder of a cell.
    #[must_use]
    pub fn cell_folder(folder: &Path, cell: &Cell) -> PathBuf {
        folder.join("cells").join(cell.folder())
    }

    /// The records of this sweep's cells that exist, in the cells' order. A record whose id is
    /// not its cell's is not this sweep's and is left out.
    ///
    /// # Errors
    /// Where a record is there but cannot be read.
    pub fn records(&self, folder: &Path) -> Result<Vec<Record>, FolderError> {
        let mut records = Vec::new();
        for cell in &self.cells {
            if let Some(record) = read_record(&Self::cell_folder(folder, cell))?
                && record.cell.id == cell.id
            {
                records.push(record);
            }
        }
        Ok(records)
    }
}

/// The record in a cell's folder, where there is one.
///
/// # Errors
/// Where it is there but cannot be read, or is of another schema.
pub fn read_record(cell_folder: &Path) -> Result<Option<Record>, FolderError> {
    let path = cell_folder.join("record.json");
    if path.exists() { read_json(&path, "a record").map(Some) } else { Ok(None) }
}

/// The one key that every version has.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, FolderError> {
    let text = fs::read_to_string(path).map_err(|source| FolderError::Io { path: path.into(), source })?;
    // The schema is asked first: of another version's file its first strange key says too little.
    if let Ok(Versioned { schema: found }) = serde_json::from_str(&text)
        && found != SCHEMA
    {
        return Err(FolderError::Schema { path: path.into(), what, found });
    }
    serde_json::from_str(&text).map_err(|error| FolderError::Malformed {
        path: path.into(),
        what,
        reason: error.to_string(),
    })
}

/// Writes a file so that it is either whole or absent, also after a crash.
///
/// # Errors
/// The system's reason, with the path.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let part = path.with_added_extension("part");
    let write = || {
        let mut file = fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(|source| {
        // Half a file on a disk that is full only fills it.
        let _ = fs::remove_file(&part);
        FolderError::Io { path: path.into(), source }
    })
}
