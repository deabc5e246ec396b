//! Hashes of large files, kept in the cache: weights are not hashed again by each program that starts.
//!
//! A hash holds for as long as its file is the same one: it has the same inode number on the same device and the same size, and
//! its contents and attributes were last changed at the same times. On the file systems of Unix a program can set the first of
//! these times, but not the second.
//!
//! A cache may be shared, and a forged entry would put a wrong hash into records. An entry is used only if its file belongs to this
//! user, no other user can write to it, and it was made for the same path.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use frostline_files::Identity;
use serde_json::{Value, json};

use crate::{AssetError, Origin, Source, sha256};

/// Smaller files are hashed each time: that takes a few milliseconds.
///
/// # Units
/// Bytes.
const LARGE: u64 = 16 << 20;

impl Source {
    /// Like [`Source::of_file`], but reads a large file's hash from the cache if the file was hashed before and
    /// has not been written or replaced since. A cache that cannot be read or written only costs time.
    ///
    /// # Errors
    /// See [`Source::of_file`].
    pub fn of_known_file(path: &Path, origin: Origin, cache: Option<&Path>) -> Result<Self, AssetError> {
        let Some((tracker_with_folder, experiment_hash)) = cache.and_then(|cache| hash_file(path, cache))
        else {
            return Self::of_file(path, origin);
        };
        if let Some(known) = read_kept(&tracker_with_folder, &experiment_hash, path, origin) {
            return Ok(known);
        }
        let found = Self::of_file(path, origin)?;
        // Keep the identity from before hashing.
        if lasting_identity(path).is_some_and(|after| after == experiment_hash) {
            // Without a kept hash, the file is hashed again the next time.
            let _ = keep_hash(&tracker_with_folder, &experiment_hash, &found);
        }
        Ok(found)
    }
}

/// Returns the place of a large file's kept hash, and the file's identity.
fn hash_file(path: &Path, cache: &Path) -> Option<(PathBuf, String)> {
    let identity = lasting_identity(path)?;
    let absolute = std::path::absolute(path).ok()?;
    let name = sha256(absolute.to_str()?.as_bytes());
    Some((cache.join("hashes").join(format!("{}.json", &name[..16])), identity))
}

/// Returns the identity of a large file that has settled.
fn lasting_identity(path: &Path) -> Option<String> {
    Identity::of(path).ok().filter(|found| found.size() >= LARGE)?.lasting()
}

fn read_kept(kept: &Path, identity: &str, path: &Path, origin: Origin) -> Option<Source> {
    if !frostline_files::is_own(kept) {
        return None;
    }
    let sealed = frostline_files::read(kept, 1 << 16).ok()?;
    let known: Value = serde_json::from_slice(frostline_files::unseal(&sealed)?).ok()?;
    let text = |name: &str| known[name].as_str().map(String::from);
    (text("identity")? == identity).then_some(())?;
    let absolute = std::path::absolute(path).ok()?;
    (absolute.to_str()? == text("path")?).then_some(())?;
    Some(Source { path: text("path")?, sha256: text("sha256")?, bytes: known["bytes"].as_u64()?, origin })
}

fn keep_hash(kept: &Path, identity: &str, found: &Source) -> Result<(), frostline_files::FileError> {
    let Source { path, sha256, bytes, .. } = found;
    let text = json!({ "path": path, "identity": identity, "sha256": sha256, "bytes": bytes }).to_string();
    frostline_files::create_own_folder(kept.parent().unwrap_or(kept))?;
    let mut writer = frostline_files::Writer::create_sealed(kept)?;
    writer.write_all(text.as_bytes()).map_err(frostline_files::FileError::of(kept))?;
    writer.finish()?;
    frostline_files::make_private(kept)
}
