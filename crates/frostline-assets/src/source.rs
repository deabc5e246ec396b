//! One file that an experiment reads: its path, the hash of its bytes and its origin. Contents are not
//! interpreted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::{AssetError, embedded};

/// The largest file that is read into memory; weights, which are mapped, have no limit.
///
/// # Units
/// Bytes.
const MOST_BYTES: u64 = 4 << 30;

/// A file with the hash of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Absolute path, or `embedded:NAME/FILE`. [`read`] takes either.
    pub path: String,
    /// SHA-256 of its bytes in hexadecimal.
    pub sha256: String,
    /// The size of the file.
    ///
    /// # Units
    /// Bytes.
    pub bytes: u64,
    /// The origin of the file.
    pub origin: Origin,
}

/// The origin of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user named it or its folder.
    Given,
    /// The file was fetched into the cache.
    Cache,
    /// The file is embedded in the program.
    Embedded,
}

/// Files by role, such as `train` or `weights`.
pub type Sources = BTreeMap<String, Source>;

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Given => "given",
            Self::Cache => "cache",
            Self::Embedded => "embedded",
        })
    }
}

impl Source {
    /// Describes a file on disk; reads it once, in pieces, for the hash.
    ///
    /// # Errors
    /// If it cannot be read or its path is not Unicode.
    pub fn of_file(path: &Path, origin: Origin) -> Result<Self, AssetError> {
        let io = |source| AssetError::Io { path: path.into(), source };
        let absolute = std::path::absolute(path).map_err(io)?;
        let name = absolute.to_str().ok_or_else(|| AssetError::NotUnicode { path: path.into() })?;
        let mut file = frostline_files::open(path).map_err(|error| io(error.reason))?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 1 << 18];
        let mut bytes = 0;
        loop {
            let n = file.read(&mut buffer).map_err(io)?;
            if n == 0 {
                break;
            }
            hasher.update(&buffer[..n]);
            bytes += n as u64;
        }
        Ok(Self { path: name.into(), sha256: hex(&hasher.finalize()), bytes, origin })
    }

    /// Describes an embedded file.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn of_embedded(path: &str) -> Result<Self, AssetError> {
        let contents = embedded::bytes(path)?;
        Ok(Self {
            path: path.into(),
            sha256: sha256(contents),
            bytes: contents.len() as u64,
            origin: Origin::Embedded,
        })
    }
}

/// Returns the bytes of a [`Source::path`]: a file on disk or an embedded one.
///
/// # Errors
/// If there is no such file or it cannot be read.
pub fn read(path: &str) -> Result<Cow<'static, [u8]>, AssetError> {
    if path.starts_with(embedded::PREFIX) {
        return embedded::bytes(path).map(Cow::Borrowed);
    }
    let contents = frostline_files::read(Path::new(path), MOST_BYTES);
    contents.map(Cow::Owned).map_err(|error| AssetError::Io { path: error.path, source: error.reason })
}

/// Like [`read`], but checks the SHA-256: a file that changed since a plan was expanded must not be mistaken
/// for the hashed file.
///
/// # Errors
/// See [`read`]; also if the hash differs.
pub fn read_pinned(path: &str, sha256_hex: &str) -> Result<Cow<'static, [u8]>, AssetError> {
    let contents = read(path)?;
    let found = sha256(&contents);
    if found == sha256_hex {
        Ok(contents)
    } else {
        Err(AssetError::Changed { path: path.into(), expected: sha256_hex.into(), found })
    }
}

/// SHA-256 of bytes in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
