//! A ZIP archive of datasets, unpacked into the cache: `--data treebanks.zip`.
//!
//! Only the files of datasets and their licences are unpacked, not scripts and other files. A file
//! `.../NAME/FILE` becomes `NAME/FILE`, and a repository's `UD_Welsh-CCG-master` becomes `UD_Welsh-CCG`. A file
//! at the top of the archive belongs to a dataset with the archive's own name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use zip::{CompressionMethod, ZipArchive};

use crate::format::Format;
use crate::{AssetError, Origin, Source};

/// The most that is unpacked from one archive; all treebanks of Universal Dependencies have 2.5 GB.
///
/// # Units
/// Bytes.
const MOST_BYTES: u64 = 16 << 30;

/// How the names of other files begin that are unpacked with a dataset's splits, in lower case.
const NOTES: [&str; 2] = ["readme", "licen"];

/// Unpacks the datasets of a ZIP archive, once for each archive's contents, and returns the folder for
/// [`Places::data`](crate::Places::data).
///
/// # Errors
/// If the archive cannot be read, has no dataset, encrypted files, files with a compression other than deflate
/// or two files with one path, or unpacks to more than 16 GiB; or if the cache cannot be written.
///
/// # Examples
/// ```
/// let cache = std::env::temp_dir();
/// let error = frostline_assets::unpack_archive("missing.zip".as_ref(), &cache).unwrap_err();
/// assert!(error.to_string().starts_with("missing.zip: "));
/// ```
pub fn unpack_archive(archive: &Path, cache: &Path) -> Result<PathBuf, AssetError> {
    let fail = |reason: String| AssetError::Archive { path: archive.into(), reason };
    let source = Source::of_file(archive, Origin::Given)?;
    let archives = cache.join("archives");
    let done = archives.join(&source.sha256[..16]);
    if done.is_dir() {
        return Ok(done);
    }
    let file = frostline_files::open(archive).map_err(|error| fail(error.reason.to_string()))?;
    let mut zip = ZipArchive::new(file).map_err(|error| fail(error_reason(&error)))?;
    let stem = archive.file_stem().and_then(|stem| stem.to_str()).unwrap_or("data");
    let files = entries_to_unpack(&mut zip, stem).map_err(fail)?;
    frostline_files::create_own_folder(&archives)?;
    let part = archives.join(format!("{}.{}.part", &source.sha256[..16], std::process::id()));
    let unpacked = unpack_all(&mut zip, &files, &part).map_err(|error| match error {
        AssetError::Archive { reason, .. } => fail(reason),
        other => other,
    });
    let unpacked = unpacked.and_then(|()| Ok(frostline_files::rename(&part, &done)?));
    match unpacked {
        Ok(()) => Ok(done),
        // Another process was faster with the same contents.
        Err(_) if done.is_dir() => {
            let _ = frostline_files::remove_own_folder(&part);
            Ok(done)
        }
        Err(error) => {
            let _ = frostline_files::remove_own_folder(&part);
            Err(error)
        }
    }
}

/// A file that may be unpacked.
struct ListedEntry {
    at: usize,
    name: String,
    bytes: u64,
    is_encrypted: bool,
    method: CompressionMethod,
    is_note: bool,
}

/// Returns the entries that are unpacked, by their place `NAME/FILE`.
fn entries_to_unpack(zip: &mut ZipArchive<File>, stem: &str) -> Result<BTreeMap<PathBuf, usize>, String> {
    let mut found: BTreeMap<PathBuf, Vec<ListedEntry>> = BTreeMap::new();
    for at in 0..zip.len() {
        let entry = zip.by_index_raw(at).map_err(|error| error_reason(&error))?;
        let path = entry.enclosed_name().filter(|_| entry.is_file() && !entry.is_symlink());
        let Some(place) = path.and_then(|path| unpacked_path(&path, stem)) else { continue };
        let file = place.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let is_note = NOTES.iter().any(|note| file.starts_with(note));
        if is_note || Format::ALL.into_iter().any(|format| file.ends_with(format.extension())) {
            let (name, bytes, is_encrypted) = (entry.name().into(), entry.size(), entry.encrypted());
            let method = entry.compression();
            found.entry(place).or_default().push(ListedEntry {
                at,
                name,
                bytes,
                is_encrypted,
                method,
                is_note,
            });
        }
    }
    let splits = found.iter().filter(|(_, all)| all.iter().any(|one| !one.is_note));
    let datasets: BTreeSet<PathBuf> =
        splits.filter_map(|(place, _)| Some(place.parent()?.to_path_buf())).collect();
    if datasets.is_empty() {
        let formats = Format::ALL.map(Format::extension).join(", ");
        return Err(format!("the archive has no dataset: no file ends in {formats}"));
    }
    found.retain(|place, _| place.parent().is_some_and(|dataset| datasets.contains(dataset)));
    let hint = "unpack the archive yourself, and give the folder";
    for (place, all) in &found {
        if let Some(ListedEntry { name, .. }) = all.iter().find(|one| one.is_encrypted) {
            return Err(format!("{name} is encrypted; {hint}"));
        }
        // Other methods use as much memory as an entry requests, and the methods of `zip` depend on all crates
        // of a build.
        let is_other = |one: &&ListedEntry| {
            !matches!(one.method, CompressionMethod::Stored | CompressionMethod::Deflated)
        };
        if let Some(ListedEntry { name, method, .. }) = all.iter().find(is_other) {
            return Err(format!("{name} is compressed with {method}, and only deflate is read; {hint}"));
        }
        if let [one, other, ..] = &all[..] {
            let place = place.display();
            return Err(format!("{} and {} would both be {place}; {hint}", one.name, other.name));
        }
    }
    // An archive can list any sizes.
    let bytes = found.values().flatten().fold(0_u64, |sum, one| sum.saturating_add(one.bytes));
    if bytes > MOST_BYTES {
        return Err(format!("its datasets have {bytes} bytes, and at most {MOST_BYTES} are unpacked"));
    }
    Ok(found.into_iter().filter_map(|(place, all)| Some((place, all.first()?.at))).collect())
}

/// If a file is unpacked; `None` if it or its folder is hidden, or a name has control characters, which would be printed.
fn unpacked_path(path: &Path, stem: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str()).collect::<Option<_>>()?;
    let (file, folders) = parts.split_last()?;
    let folder = dataset_name(folders.last().unwrap_or(&stem));
    let is_left_out =
        |name: &str| name.starts_with('.') || name == "__MACOSX" || name.contains(char::is_control);
    let is_unpacked = !parts.iter().any(|part| is_left_out(part)) && !is_left_out(&folder);
    is_unpacked.then(|| Path::new(&folder).join(file))
}

/// Returns a folder's name without the branch or release that hosts add to a treebank's: `UD_Welsh-CCG-r2.16`.
fn dataset_name(folder: &str) -> String {
    let end = folder.strip_prefix("UD_").and_then(|rest| rest.match_indices('-').nth(1));
    match end {
        Some((at, _)) => folder[..at + "UD_".len()].into(),
        None => folder.into(),
    }
}

fn unpack_all(
    zip: &mut ZipArchive<File>,
    files: &BTreeMap<PathBuf, usize>,
    into: &Path,
) -> Result<(), AssetError> {
    let fail = |reason: String| AssetError::Archive { path: into.into(), reason };
    frostline_files::create_new_folder(into)?;
    for (place, at) in files {
        let to = into.join(place);
        frostline_files::create_own_folder(to.parent().unwrap_or(into))?;
        let entry = zip.by_index(*at).map_err(|error| fail(error_reason(&error)))?;
        let (name, bytes) = (entry.name().to_string(), entry.size());
        let mut writer = frostline_files::Writer::create(&to)?;
        // The sum uses the sizes in the archive's list: an entry that unpacks to more bytes is an error.
        let copied = io::copy(&mut entry.take(bytes.saturating_add(1)), &mut writer)
            .map_err(|error| fail(format!("{name}: {error}")))?;
        if copied != bytes {
            return Err(fail(format!("{name} differs in length from the archive's list ({bytes} bytes)")));
        }
        writer.finish()?;
    }
    Ok(())
}

fn error_reason(error: &zip::result::ZipError) -> String {
    use zip::result::ZipError;
    match error {
        ZipError::InvalidArchive(_) => "this is not a ZIP archive, or it is truncated".into(),
        other => other.to_string(),
    }
}
