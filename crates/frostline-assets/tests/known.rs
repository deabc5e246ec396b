//! Datasets in an archive of which the program knows the digest, such as SST-2.

use std::fs;
use std::io::Write as _;

use frostline_assets::fetch::{self, FetchError, FetchOptions};
use frostline_assets::{KNOWN_DATASETS, KnownDataset, sha256};

mod server;

use server::{Server, cached, quiet};

/// The path of the archive on the test's server.
const PATH: &str = "/archives/glue/data/SST-2.zip";

/// Returns an archive like GLUE's, and what is known of it.
fn archive() -> (Vec<u8>, KnownDataset) {
    let rows: String = (0..20_000)
        .map(|row| format!("sentence number {} of many\t{}\n", row * 7919 % 20_011, row % 2))
        .collect();
    let train = format!("sentence\tlabel\n{rows}");
    let files = [
        ("SST-2/train.tsv", train.as_str()),
        ("SST-2/dev.tsv", "sentence\tlabel\nfine\t1\n"),
        ("SST-2/test.tsv", "index\tsentence\n0\tno label\n"),
        ("SST-2/original/README.txt", "other files"),
    ];
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    let sha256 = Box::leak(sha256(&bytes).into_boxed_str());
    let known = KnownDataset { bytes: bytes.len() as u64, sha256, ..KNOWN_DATASETS[0] };
    (bytes, known)
}

#[test]
fn sst2_is_fetched_by_name_and_found_by_it() {
    let (bytes, known) = archive();
    let server = Server::start();
    server.page(PATH, bytes.clone());
    server.change(PATH, |page| page.cut = Some(30_000));
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let error = fetch::dataset(&known, &options, &mut quiet).unwrap_err();
    assert!(matches!(error, FetchError::Connection { .. }), "{error}");
    let fetched = fetch::dataset(&known, &options, &mut quiet).unwrap();
    assert_eq!(server.asked.lock().unwrap()[1], (PATH.into(), Some("bytes=30000-".into())));
    assert!(fetched.downloaded);
    assert_eq!(fetched.folder, cache.path().join("treebanks/sst2"));
    let mut names: Vec<_> = fs::read_dir(&fetched.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["dev.tsv", "fetched.json", "test.tsv", "train.tsv"]);
    assert_eq!(cached(cache.path()).dataset("sst2").unwrap().sources.len(), 3);
    let offline = FetchOptions { offline: true, ..options };
    assert!(!fetch::dataset(&known, &offline, &mut quiet).unwrap().downloaded);
    fs::write(fetched.folder.join("dev.tsv"), "sentence\tlabel\nother\t0\n").unwrap();
    assert!(matches!(fetch::dataset(&known, &offline, &mut quiet), Err(FetchError::Damaged { .. })));
}

#[test]
fn another_archive_under_its_name_is_an_error() {
    let (mut bytes, known) = archive();
    let server = Server::start();
    let last = bytes.len() / 2;
    bytes[last] ^= 1;
    server.page(PATH, bytes);
    let cache = tempfile::tempdir().unwrap();
    let options = server.options(cache.path());
    let error = fetch::dataset(&known, &options, &mut quiet).unwrap_err().to_string();
    assert!(error.contains("SST-2.zip: the SHA-256 does not match"), "{error}");
    assert!(cached(cache.path()).dataset("sst2").is_err());
    let offline = FetchOptions { offline: true, ..options };
    assert!(matches!(fetch::dataset(&known, &offline, &mut quiet), Err(FetchError::Offline { .. })));
}

#[test]
fn a_missing_dataset_names_the_command_that_gets_it() {
    let cache = tempfile::tempdir().unwrap();
    let error = cached(cache.path()).dataset("sst2").unwrap_err().to_string();
    assert!(error.contains("get it with `frostline fetch sst2`"), "{error}");
    assert!(KNOWN_DATASETS.iter().all(|known| known.sha256.len() == 64 && known.path.starts_with('/')));
}
