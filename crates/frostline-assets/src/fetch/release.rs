//! Compiled-in git blob ids of treebanks of a Universal Dependencies release. No host or mirror can send other
//! files under the same name and release.

use std::path::Path;

use super::entry::{Digest, RemoteEntry};
use super::error::FetchError;

/// A file of a release.
struct KnownRelease {
    treebank: &'static str,
    release: &'static str,
    file: &'static str,
    /// The git blob id: SHA-1 over `blob SIZE\0` and the contents.
    blob: &'static str,
}

const fn known_blob(treebank: &'static str, file: &'static str, blob: &'static str) -> KnownRelease {
    KnownRelease { treebank, release: "r2.16", file, blob }
}

const EWT: &str = "UD_English-EWT";
const NSC: &str = "UD_Naija-NSC";

/// The treebanks of the plan `paper`.
const KNOWN: [KnownRelease; 6] = [
    known_blob(EWT, "en_ewt-ud-train.conllu", "34731d23bafeeff233fdcee18ffc0254b1aa0e28"),
    known_blob(EWT, "en_ewt-ud-dev.conllu", "a994b6990643429070ecc6e236d26ad6a04bfefb"),
    known_blob(EWT, "en_ewt-ud-test.conllu", "c59667960ae967636606f47bc35f132a5557ad39"),
    known_blob(NSC, "pcm_nsc-ud-train.conllu", "d925e0dbdda6c15b64e88685da0f7ecc33db3f67"),
    known_blob(NSC, "pcm_nsc-ud-dev.conllu", "8eb4cb51c82cd78b97e4463778cf24be45ee7a85"),
    known_blob(NSC, "pcm_nsc-ud-test.conllu", "f821c816215e07f9e05186ad8d60492f3f48880f"),
];

/// Returns the git blob ids that are known of a treebank's release, by file; empty for most treebanks.
pub fn known_blobs(treebank: &str, release: &str) -> Vec<(&'static str, &'static str)> {
    let known = KNOWN.iter().filter(|known| known.treebank == treebank && known.release == release);
    known.map(|known| (known.file, known.blob)).collect()
}

/// Returns the git blob id of a file's contents.
///
/// # Errors
/// If the file cannot be read.
pub fn git_blob_id(path: &Path) -> Result<String, FetchError> {
    Digest::GitBlob(String::new()).digest_of_file(path)
}

/// Checks a host's list before anything is downloaded: every known file is in it with its blob id, and no other
/// split. A SHA-256 is not accepted instead, since it does not prove that the file belongs to the release.
///
/// # Errors
/// If a file is missing or has another digest, or if there is an unknown split, which would replace a known one
/// on systems that ignore case.
pub(super) fn check_list(treebank: &str, release: &str, list: &[RemoteEntry]) -> Result<(), FetchError> {
    let known = known_blobs(treebank, release);
    for (file, blob) in &known {
        let found = match list.iter().find(|entry| entry.name == *file).map(|entry| &entry.digest) {
            Some(Digest::GitBlob(found)) if found.eq_ignore_ascii_case(blob) => continue,
            Some(other) => format!("{} {} in the host's list", other.algorithm(), other.hex()),
            None => "no such file in the host's list".into(),
        };
        return Err(other_file(file, release, &of_blob(blob), found));
    }
    let is_split = |name: &str| name.to_ascii_lowercase().ends_with(".conllu");
    let is_known = |name: &str| known.is_empty() || known.iter().any(|(file, _)| *file == name);
    match list.iter().find(|entry| is_split(&entry.name) && !is_known(&entry.name)) {
        Some(entry) => Err(other_file(&entry.name, release, "no such file", "it in the host's list".into())),
        None => Ok(()),
    }
}

/// Checks a known file on disk. Files that are not known pass.
///
/// # Errors
/// If it has another blob id, or cannot be read.
pub(super) fn check_file(treebank: &str, release: &str, folder: &Path, file: &str) -> Result<(), FetchError> {
    let known = known_blobs(treebank, release);
    let Some((_, blob)) = known.iter().find(|(name, _)| *name == file) else { return Ok(()) };
    let found = git_blob_id(&folder.join(file))?;
    if found == *blob {
        return Ok(());
    }
    Err(other_file(file, release, &of_blob(blob), format!("{} in {}", of_blob(&found), folder.display())))
}

fn of_blob(id: &str) -> String {
    format!("git blob id {id}")
}

fn other_file(file: &str, release: &str, expected: &str, found: String) -> FetchError {
    FetchError::OtherFile { file: file.into(), release: release.into(), expected: expected.into(), found }
}
