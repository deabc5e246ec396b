//! ZIP archives of datasets.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use frostline_assets::{Format, unpack_archive};
use tempfile::TempDir;

use crate::files::empty_folder;

/// The folder of the archive and of its cache.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// Only datasets and their notes are unpacked, each as `NAME/FILE` in the archive's folder of the cache. A
/// refused archive leaves no file.
pub(crate) fn fuzz_zip(data: &[u8]) {
    let folder = empty_folder(FOLDER.path(), "zip");
    let archive = folder.join("own.zip");
    fs::write(&archive, data).expect("a temporary file");
    let cache = folder.join("cache");
    let unpacked = unpack_archive(&archive, &cache);
    assert_eq!(
        list_names(&folder).into_iter().filter(|name| name != "cache").collect::<Vec<_>>(),
        ["own.zip"]
    );
    assert!(list_names(&cache).iter().all(|name| name == "archives"), "{:?}", list_names(&cache));
    let left = list_names(&cache.join("archives"));
    let Ok(datasets) = unpacked else { return assert!(left.is_empty(), "{left:?} are left") };
    assert_eq!(left, [datasets.file_name().and_then(|name| name.to_str()).expect("text")]);
    for dataset in list_names(&datasets) {
        let dataset = datasets.join(dataset);
        assert!(is_plain(&dataset, fs::FileType::is_dir), "{}", dataset.display());
        let files = list_names(&dataset);
        let is_split = |name: &String| {
            let name = name.to_lowercase();
            Format::ALL.into_iter().any(|format| name.ends_with(format.extension()))
        };
        assert!(files.iter().any(is_split), "notes without a dataset: {files:?}");
        for file in &files {
            let is_note = ["readme", "licen"].iter().any(|note| file.to_lowercase().starts_with(note));
            assert!(is_split(file) || is_note, "{file:?}");
            assert!(!file.starts_with('.'), "{file:?} is hidden");
            assert!(is_plain(&dataset.join(file), fs::FileType::is_file), "{file:?}");
        }
    }
}

fn is_plain(path: &Path, is_kind: impl Fn(&fs::FileType) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| is_kind(&found.file_type()))
}

fn list_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
