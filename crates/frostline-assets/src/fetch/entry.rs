//! A file to download, with its digest as the host lists it.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::error::FetchError;
use crate::source::hex;

/// The hexadecimal digits of a git blob or commit.
pub(super) const GIT_DIGITS: usize = 40;

/// The hexadecimal digits of a SHA-256.
pub(super) const SHA256_DIGITS: usize = 64;

/// A file that will be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RemoteEntry {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) bytes: u64,
    pub(super) digest: Digest,
}

/// The digest of a file's contents as the host lists it, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Digest {
    /// The id of a git blob: SHA-1 over `blob SIZE\0` and the contents.
    GitBlob(String),
    /// SHA-256 of the contents, which hosts list for large files.
    Sha256(String),
}

impl Digest {
    pub(super) const fn algorithm(&self) -> &'static str {
        match self {
            Self::GitBlob(_) => "git blob id",
            Self::Sha256(_) => "SHA-256",
        }
    }

    pub(super) fn hex(&self) -> &str {
        match self {
            Self::GitBlob(hex) | Self::Sha256(hex) => hex,
        }
    }

    /// Returns the digest of the same kind of a file on disk, in lower case.
    pub(super) fn digest_of_file(&self, path: &Path) -> Result<String, FetchError> {
        let mut file =
            frostline_files::open(path).map_err(|error| FetchError::with_path(path)(error.reason))?;
        let bytes = file.metadata().map_err(FetchError::with_path(path))?.len();
        let (mut sha1, mut sha256) = (Sha1::new(), Sha256::new());
        sha1.update(format!("blob {bytes}\0"));
        let mut buffer = vec![0; 1 << 18];
        loop {
            let n = file.read(&mut buffer).map_err(FetchError::with_path(path))?;
            if n == 0 {
                break;
            }
            match self {
                Self::GitBlob(_) => sha1.update(&buffer[..n]),
                Self::Sha256(_) => sha256.update(&buffer[..n]),
            }
        }
        Ok(match self {
            Self::GitBlob(_) => hex(&sha1.finalize()),
            Self::Sha256(_) => hex(&sha256.finalize()),
        })
    }
}

/// Returns whether a text consists of this many hexadecimal digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns a text of this many hexadecimal digits, or a message about the host's value of `what`.
pub(super) fn hex_digits<'v>(value: &'v Value, what: &str, digits: usize) -> Result<&'v str, String> {
    value.as_str().filter(|text| is_hex(text, digits)).ok_or_else(|| {
        let found: String = value.to_string().chars().take(80).collect();
        format!("{found} as {what}, not {digits} hexadecimal digits")
    })
}
