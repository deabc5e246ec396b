//! Hashes of large files, kept in the cache: weights are not hashed again by each program that starts.
//!
//! A hash holds for as long as its file is the same one: it has the same inode number on the same device and the same size, and
//! its contents and attributes were last changed at the same times. On the file systems of Unix a program can set the first of
//! these times, but not the second.

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
    /// As [`Source::of_file`], but a large file's hash is read from the cache if it was hashed before and nobody has written to
    /// the file or replaced it since. A cache that cannot be read or written only costs time.
    ///
    /// # Errors
    /// As for [`Source::of_file`].
    pub fn of_known_file(path: &Path, origin: Origin, cache: Option<&Path>) -> Result<Self, AssetError> {
        let Some((kept, identity)) = cache.and_then(|cache| place(path, cache)) else {
            return Self::of_file(path, origin);
        };
        if let Some(known) = read(&kept, &identity, origin) {
            return Ok(known);
        }
        let found = Self::of_file(path, origin)?;
        // Of the file as it was before it was hashed.
        if lasting(path).is_some_and(|after| after == identity) {
            // Whoever cannot keep it hashes the file again the next time.
            let _ = keep(&kept, &identity, &found);
        }
        Ok(found)
    }
}

/// Where a large file's hash is kept, and what file it is.
fn place(path: &Path, cache: &Path) -> Option<(PathBuf, String)> {
    let large = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() >= LARGE);
    let absolute = std::path::absolute(path).ok()?;
    let name = sha256(absolute.to_str()?.as_bytes());
    let kept = cache.join("hashes").join(format!("{}.json", &name[..16]));
    large.then(|| lasting(path)).flatten().map(|identity| (kept, identity))
}

fn lasting(path: &Path) -> Option<String> {
    Identity::of(path).ok()?.lasting()
}

fn read(kept: &Path, identity: &str, origin: Origin) -> Option<Source> {
    let sealed = frostline_files::read(kept, 1 << 16).ok()?;
    let known: Value = serde_json::from_slice(frostline_files::unseal(&sealed)?).ok()?;
    let text = |name: &str| known[name].as_str().map(String::from);
    (text("identity")? == identity).then_some(())?;
    Some(Source { path: text("path")?, sha256: text("sha256")?, bytes: known["bytes"].as_u64()?, origin })
}

fn keep(kept: &Path, identity: &str, found: &Source) -> Result<(), frostline_files::FileError> {
    let Source { path, sha256, bytes, .. } = found;
    let text = json!({ "path": path, "identity": identity, "sha256": sha256, "bytes": bytes }).to_string();
    frostline_files::create_own_folder(kept.parent().unwrap_or(kept))?;
    let mut writer = frostline_files::Writer::create_sealed(kept)?;
    writer.write_all(text.as_bytes()).map_err(frostline_files::FileError::of(kept))?;
    writer.finish()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};
    use std::io::{Seek as _, SeekFrom};
    use std::time::{Duration, SystemTime};

    use super::*;

    fn entries(cache: &Path) -> Vec<PathBuf> {
        let all =
            fs::read_dir(cache.join("hashes")).map(|all| all.flatten().map(|entry| entry.path()).collect());
        all.unwrap_or_default()
    }

    /// Waits until a change would show in the file's times.
    fn settle(path: &Path) {
        while lasting(path).is_none() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    #[test]
    fn a_kept_hash_holds_until_somebody_writes() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, cache) = (folder.path().join("weights"), folder.path().join("cache"));
        File::create(&path).and_then(|file| file.set_len(LARGE)).expect("written");
        let known = || Source::of_known_file(&path, Origin::Given, Some(&cache)).expect("readable");

        let first = known();
        assert!(
            entries(&cache).is_empty(),
            "a file that was just written may be written again at the same time"
        );
        settle(&path);
        assert_eq!([known(), known()], [first.clone(), first.clone()]);
        let [kept] = entries(&cache).try_into().expect("one");

        // What the cache says is what is read.
        let sealed = fs::read(&kept).expect("readable");
        let inside = frostline_files::unseal(&sealed).expect("a seal").to_vec();
        let text = String::from_utf8(inside).expect("text").replace(&first.sha256, &"0".repeat(64));
        fs::write(&kept, [text.as_bytes(), &frostline_files::seal(text.as_bytes())].concat())
            .expect("written");
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
        settle(&path);
        assert_eq!(known(), second);

        // Another file in its place, with its time.
        let other = folder.path().join("other");
        File::create(&other).and_then(|file| file.set_len(LARGE)).expect("written");
        File::options().write(true).open(&other).and_then(|file| file.set_modified(written)).expect("set");
        fs::rename(&other, &path).expect("renamed");
        settle(&path);
        assert_eq!(known(), first);
    }

    #[test]
    fn small_files_and_files_without_a_cache_are_hashed_each_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, cache) = (folder.path().join("small"), folder.path().join("cache"));
        fs::write(&path, "text").expect("written");
        let old = SystemTime::now() - Duration::from_secs(1000);
        File::options().write(true).open(&path).and_then(|file| file.set_modified(old)).expect("set");
        settle(&path);
        for cache in [Some(&*cache), None] {
            let found = Source::of_known_file(&path, Origin::Given, cache).expect("readable");
            assert_eq!(found, Source::of_file(&path, Origin::Given).expect("readable"));
        }
        assert!(entries(&cache).is_empty());
        assert!(Source::of_known_file(&folder.path().join("none"), Origin::Given, Some(&cache)).is_err());
    }
}
