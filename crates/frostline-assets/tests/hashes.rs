//! Hashes that are kept in the cache.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use frostline_assets::{Origin, Source};
use frostline_files::Identity;

const LARGE: u64 = 16 << 20;

fn cache_entries(cache: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(cache.join("hashes")).map(|all| all.flatten().map(|entry| entry.path()).collect());
    all.unwrap_or_default()
}

/// Waits until a change would show in the file's times.
fn wait_until_settled(path: &Path) {
    while Identity::of(path).expect("there").lasting().is_none() {
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_kept_hash_holds_until_somebody_writes() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (path, cache) = (folder.path().join("weights"), folder.path().join("cache"));
    File::create(&path).and_then(|file| file.set_len(LARGE)).expect("written");
    let known = || Source::of_known_file(&path, Origin::Given, Some(&cache)).expect("readable");

    let first = known();
    assert!(
        cache_entries(&cache).is_empty(),
        "a file that was just written may be written again at the same time"
    );
    wait_until_settled(&path);
    assert_eq!([known(), known()], [first.clone(), first.clone()]);
    let [kept] = cache_entries(&cache).try_into().expect("one");

    // The hash is read from the cache.
    let sealed = fs::read(&kept).expect("readable");
    let inside = frostline_files::unseal(&sealed).expect("a seal").to_vec();
    let text = String::from_utf8(inside).expect("text").replace(&first.sha256, &"0".repeat(64));
    fs::write(&kept, [text.as_bytes(), &frostline_files::seal(text.as_bytes())].concat()).expect("written");
    assert_eq!(known().sha256, "0".repeat(64));
    let mut flipped = sealed.clone();
    flipped[sealed.len() / 2] ^= 1;
    for damaged in [&[], &sealed[1..], &sealed[..sealed.len() - 1], text.as_bytes(), &flipped] {
        fs::write(&kept, damaged).expect("written");
        assert_eq!(known(), first);
        assert_eq!(fs::read(&kept).expect("readable"), sealed, "it is written anew");
    }

    // A folder that cannot be written.
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    let found = Source::of_known_file(&path, Origin::Given, Some(&file));
    assert_eq!(found.expect("hashed all the same"), first);

    // Another byte, with the time of the old contents set again.
    let written = fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
    let mut file = File::options().write(true).open(&path).expect("there");
    file.seek(SeekFrom::Start(5)).and_then(|_| file.write_all(b"x")).expect("written");
    file.set_modified(written).expect("set");
    let second = known();
    assert_eq!(second, Source::of_file(&path, Origin::Given).expect("readable"));
    assert_ne!(second.sha256, first.sha256);
    wait_until_settled(&path);
    assert_eq!(known(), second);

    // Another file in its place, with its time.
    let other = folder.path().join("other");
    File::create(&other).and_then(|file| file.set_len(LARGE)).expect("written");
    File::options().write(true).open(&other).and_then(|file| file.set_modified(written)).expect("set");
    fs::rename(&other, &path).expect("renamed");
    wait_until_settled(&path);
    assert_eq!(known(), first);
}

#[test]
fn an_entry_that_others_could_have_written_is_not_believed() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (path, cache) = (folder.path().join("weights"), folder.path().join("cache"));
    File::create(&path).and_then(|file| file.set_len(LARGE)).expect("written");
    wait_until_settled(&path);
    let known = || Source::of_known_file(&path, Origin::Given, Some(&cache)).expect("readable");
    let first = known();
    let [kept] = cache_entries(&cache).try_into().expect("one");
    let mode = |mode: u32| fs::set_permissions(&kept, fs::Permissions::from_mode(mode)).expect("set");
    assert_eq!(fs::metadata(&kept).expect("there").permissions().mode() & 0o777, 0o600);

    let inside = frostline_files::unseal(&fs::read(&kept).expect("readable")).expect("a seal").to_vec();
    let sealed = String::from_utf8(inside).expect("text");
    let forge = |from: &str, to: &str| {
        let text = sealed.replace(from, to);
        let bytes = [text.as_bytes(), &frostline_files::seal(text.as_bytes())].concat();
        fs::remove_file(&kept).and_then(|()| fs::write(&kept, bytes)).expect("written");
        mode(0o600);
    };
    let lie = "0".repeat(64);
    for open in [0o620, 0o602, 0o666] {
        forge(&first.sha256, &lie);
        mode(open);
        assert_eq!(known(), first, "{open:o}");
        assert_eq!(known(), first, "and the entry is written anew");
    }
    // The entry of another file with the same identity, as a hard link has it.
    forge(path.to_str().expect("Unicode"), "/elsewhere/weights");
    assert_eq!(known(), first);
    // A link to a forged entry somewhere else.
    forge(&first.sha256, &lie);
    let elsewhere = folder.path().join("elsewhere.json");
    fs::rename(&kept, &elsewhere)
        .and_then(|()| std::os::unix::fs::symlink(&elsewhere, &kept))
        .expect("a link");
    assert_eq!(known(), first);
    // Another user's, which only root can make here.
    forge(&first.sha256, &lie);
    if chown(&kept, Some(65_534), None).is_ok() {
        assert_eq!(known(), first);
    }
}

#[test]
fn small_files_and_files_without_a_cache_are_hashed_each_time() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (path, cache) = (folder.path().join("small"), folder.path().join("cache"));
    fs::write(&path, "text").expect("written");
    let old = SystemTime::now() - Duration::from_secs(1000);
    File::options().write(true).open(&path).and_then(|file| file.set_modified(old)).expect("set");
    wait_until_settled(&path);
    for cache in [Some(&*cache), None] {
        let found = Source::of_known_file(&path, Origin::Given, cache).expect("readable");
        assert_eq!(found, Source::of_file(&path, Origin::Given).expect("readable"));
    }
    assert!(cache_entries(&cache).is_empty());
    assert!(Source::of_known_file(&folder.path().join("none"), Origin::Given, Some(&cache)).is_err());
}
