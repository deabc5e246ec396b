//! A file to download, with its digest as the host lists it.

use serde_json::Value;

/// The hexadecimal digits of a git blob or commit.
pub(super) const GIT_DIGITS: usize = 40;

/// The hexadecimal digits of a SHA-256.
pub(super) const SHA256_DIGITS: usize = 64;

/// A file that will be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
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
}

/// Whether a text consists of this many hexadecimal digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A text of this many hexadecimal digits, or a message about what the host sent as `what` instead.
pub(super) fn digits<'v>(value: &'v Value, what: &str, digits: usize) -> Result<&'v str, String> {
    value.as_str().filter(|text| is_hex(text, digits)).ok_or_else(|| {
        let found: String = value.to_string().chars().take(80).collect();
        format!("{found} as {what}, not {digits} hexadecimal digits")
    })
}
