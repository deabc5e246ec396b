//! Fetches datasets without a repository that lists their files: an archive whose digest is compiled in.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::entry::{Digest, RemoteEntry};
use super::error::FetchError;
use super::options::{FetchOptions, Fetched, Progress};
use super::{Fetch, download};
use crate::places::AssetKind;
use crate::{AssetError, KnownDataset};

/// Fetches a dataset of which the archive's digest is known: its splits as the archive has them.
///
/// # Errors
/// If the connection fails or is not allowed, the archive does not match its digest or lacks a file, a file does not match its
/// pin, or the cache cannot be written.
pub fn dataset(
    known: &KnownDataset,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, FetchError> {
    let fetch = Fetch::new(AssetKind::Dataset, known.name, None, options)?;
    if let Some(cached) = fetch.check_cached()? {
        return Ok(cached);
    }
    let agent = fetch.connect_to(&[&options.hosts.archives])?;
    let entry = RemoteEntry {
        name: known.path.rsplit('/').next().unwrap_or(known.name).into(),
        url: format!("{}{}", options.hosts.archives, known.path),
        bytes: known.bytes,
        digest: Digest::Sha256(known.sha256.into()),
    };
    fetch.put_in_place(known.revision, |part| {
        download::download_file(&agent, &entry, part, progress)?;
        let names = unpack_into(known, &part.join(&entry.name), part)?;
        frostline_files::remove(&part.join(&entry.name))?;
        record_files(&fetch, known, &entry, part, &names)?;
        Ok(names)
    })
}

/// Unpacks the files of a dataset from an archive into a folder, and returns their names.
fn unpack_into(known: &KnownDataset, archive: &Path, folder: &Path) -> Result<Vec<String>, FetchError> {
    let unpacked = crate::unpack_archive(archive, folder)?;
    for file in known.files {
        let from = unpacked.join(known.folder).join(file);
        if !from.is_file() {
            let reason = format!("the archive has no {}/{file}", known.folder);
            return Err(AssetError::Archive { path: archive.into(), reason }.into());
        }
        frostline_files::rename(&from, &folder.join(file))?;
    }
    frostline_files::remove_own_folder(unpacked.parent().unwrap_or(&unpacked))?;
    Ok(known.files.iter().map(|file| (*file).into()).collect())
}

/// Checks the pins and writes the record of the files, with the archive's address.
fn record_files(
    fetch: &Fetch<'_>,
    known: &KnownDataset,
    archive: &RemoteEntry,
    folder: &Path,
    names: &[String],
) -> Result<(), FetchError> {
    let mut files = BTreeMap::new();
    for name in names {
        let source = fetch.source(folder, name)?;
        let hint = || String::from("check the pin, then run the command again");
        fetch.check_pin(name, &source.sha256, hint)?;
        files.insert(
            name.clone(),
            json!({ "url": archive.url, "sha256": source.sha256, "bytes": source.bytes }),
        );
    }
    fetch.write_record(folder, known.revision, files.into_iter().collect())
}
