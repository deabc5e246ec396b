//! Downloads into the cache that `huggingface_hub` and this program share; see [`HubCache`].
//!
//! A file's bytes are kept as `DIGEST.incomplete` until they are complete and have that digest. So an interrupted download
//! resumes, and a file of this cache never has other bytes than its name states.

use std::fs;
use std::path::{Path, PathBuf};

use super::download::{RequestFile, check_digest, download_as};
use super::entry::{Digest, GIT_DIGITS, RemoteEntry, SHA256_DIGITS, is_hex};
use super::error::FetchError;
use super::options::Progress;
use crate::hub_cache::{HubCache, folder_name};
use crate::{Origin, Source};

/// The file by which backup programs recognise a cache, and its contents: see <https://bford.info/cachedir/>.
const TAG: (&str, &str) = (
    "CACHEDIR.TAG",
    "Signature: 8a477f597d28d172789f06886806bc55\n# This is the cache of models of the Hugging Face hub.\n",
);

/// A model's folder in the shared cache, at one commit.
#[derive(Debug)]
pub(super) struct HubStore<'c> {
    cache: &'c HubCache,
    id: &'c str,
    commit: &'c str,
}

impl<'c> HubStore<'c> {
    pub(super) fn new(cache: &'c HubCache, id: &'c str, commit: &'c str) -> Self {
        Self { cache, id, commit }
    }

    /// Returns the folder of the commit's files.
    pub(super) fn snapshot(&self) -> PathBuf {
        self.cache.snapshot_folder(self.id, self.commit)
    }

    /// Downloads a file unless the cache has it. Returns its SHA-256, and whether anything was downloaded. The file is not in
    /// the snapshot yet.
    ///
    /// # Errors
    /// If another process is downloading it, the download fails, or the file does not match its digest.
    pub(super) fn download_blob(
        &self,
        request: RequestFile<'_>,
        entry: &RemoteEntry,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(String, bool), FetchError> {
        let blob = self.blob(entry);
        let folder = blob.parent().unwrap_or(&blob);
        frostline_files::create_folder(folder)?;
        self.write_tag();
        let _lock = self.lock(entry)?;
        let part = blob.with_added_extension("incomplete");
        let downloaded = download_as(request, entry, [&part, &blob], progress)?;
        Ok((sha256_of(&blob, &entry.digest)?, downloaded))
    }

    /// Removes a file's bytes, which this process has just downloaded.
    pub(super) fn remove_blob(&self, entry: &RemoteEntry) {
        let _ = frostline_files::remove(&self.blob(entry));
    }

    /// Puts files that were downloaded into the snapshot, and writes the commit of the branch or tag.
    ///
    /// # Errors
    /// If a link or file cannot be written.
    pub(super) fn publish(&self, entries: &[RemoteEntry], revision: &str) -> Result<(), FetchError> {
        let snapshot = self.snapshot();
        frostline_files::create_folder(&snapshot)?;
        for entry in entries {
            let path = snapshot.join(&entry.name);
            let target = Path::new("../../blobs").join(entry.digest.hex());
            if fs::read_link(&path).ok().as_ref() != Some(&target) {
                frostline_files::link(&target, &path)?;
            }
        }
        if revision != self.commit {
            let file = self.cache.model_folder(self.id).join("refs").join(revision);
            frostline_files::create_folder(file.parent().unwrap_or(&file))?;
            frostline_files::write(&file, self.commit.as_bytes())?;
        }
        Ok(())
    }

    fn blob(&self, entry: &RemoteEntry) -> PathBuf {
        self.cache.model_folder(self.id).join("blobs").join(entry.digest.hex())
    }

    /// Locks a file's download, as `huggingface_hub` does.
    fn lock(&self, entry: &RemoteEntry) -> Result<fs::File, FetchError> {
        let folder = self.cache.root().join(".locks").join(folder_name(self.id));
        frostline_files::create_folder(&folder)?;
        let path = folder.join(format!("{}.lock", entry.digest.hex()));
        let lock = frostline_files::lock_file(&path)?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(fs::TryLockError::WouldBlock) => Err(FetchError::Busy { folder: path }),
            Err(fs::TryLockError::Error(error)) => Err(FetchError::with_path(&path)(error)),
        }
    }

    /// Marks the cache as one. Without the mark, only backups are larger.
    fn write_tag(&self) {
        let path = self.cache.root().join(TAG.0);
        if !path.exists() {
            let _ = frostline_files::write(&path, TAG.1.as_bytes());
        }
    }
}

/// Compares a file of a snapshot with the digest that its link names, and describes it. If the system has no links, the file
/// itself is there, and nothing states its digest.
///
/// # Errors
/// If the bytes have another digest, or cannot be read.
pub(super) fn check_file(path: &Path) -> Result<Source, FetchError> {
    let digest = fs::read_link(path).ok().and_then(|target| digest_of_link(&target));
    let Some(digest) = digest else { return Ok(Source::of_file(path, Origin::Cache)?) };
    let bytes = fs::metadata(path).map_err(FetchError::with_path(path))?.len();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let entry = RemoteEntry { name, url: String::new(), bytes, digest };
    check_digest(path, &entry).map_err(|error| match error {
        FetchError::Digest { file, algorithm, expected, found } => FetchError::Damaged {
            folder: path.into(),
            reason: format!("{file} has {algorithm} {found}, expected {expected}"),
        },
        other => other,
    })?;
    source_of(path, bytes, &entry.digest)
}

/// Returns the digest in the name of the file to which a link of a snapshot leads.
fn digest_of_link(target: &Path) -> Option<Digest> {
    let name = target.file_name()?.to_str()?;
    match name.len() {
        _ if is_hex(name, GIT_DIGITS) => Some(Digest::GitBlob(name.into())),
        _ if is_hex(name, SHA256_DIGITS) => Some(Digest::Sha256(name.into())),
        _ => None,
    }
}

/// Describes a file whose digest was checked.
pub(super) fn source_of(path: &Path, bytes: u64, digest: &Digest) -> Result<Source, FetchError> {
    let Digest::Sha256(sha256) = digest else { return Ok(Source::of_file(path, Origin::Cache)?) };
    let absolute = std::path::absolute(path).map_err(FetchError::with_path(path))?;
    let shown = absolute.to_str().ok_or_else(|| crate::AssetError::NotUnicode { path: path.into() })?;
    Ok(Source { path: shown.into(), sha256: sha256.to_ascii_lowercase(), bytes, origin: Origin::Cache })
}

/// Returns the SHA-256 of a file whose digest was checked.
fn sha256_of(path: &Path, digest: &Digest) -> Result<String, FetchError> {
    match digest {
        Digest::Sha256(sha256) => Ok(sha256.to_ascii_lowercase()),
        Digest::GitBlob(_) => Ok(Source::of_file(path, Origin::Cache)?.sha256),
    }
}
