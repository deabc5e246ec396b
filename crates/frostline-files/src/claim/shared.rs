//! File operations that claims need in a folder shared by several machines, and their implementation on a disk.
//! A simulation implements the same trait, so that it runs the real code.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use crate::busy::retry_while_busy;
use crate::fault::{Extent, Operation, run_operation};
use crate::read::open_now;

/// The largest claim that is read.
///
/// # Units
/// Bytes.
const MOST_CLAIM: u64 = 4096;

/// A file as one look found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The contents of the file.
    pub bytes: Vec<u8>,
    /// When it was last changed or touched, by the file server's clock.
    pub modified: SystemTime,
}

/// Operations on files that several machines share. The file server decides the creation and renaming of names,
/// once for all machines; machines may see names late.
pub trait SharedFiles {
    /// Creates a file that does not exist yet, and returns its time by the file server's clock.
    ///
    /// # Errors
    /// If it exists or cannot be written.
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<SystemTime>;

    /// Gives a file a second name. Returns whether this call did: false if the name was taken.
    ///
    /// # Errors
    /// If the file system cannot do that, or there is no file `from`.
    fn link(&self, from: &Path, to: &Path) -> io::Result<bool>;

    /// Renames a file; one of the new name is replaced. Returns whether this call did: false if there is no `from`.
    ///
    /// # Errors
    /// If it cannot be renamed.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<bool>;

    /// Removes a file, if there is one.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Sets a file's time to the file server's present.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be touched.
    fn touch(&self, path: &Path) -> io::Result<()>;

    /// Reads a small file and its time; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    fn look(&self, path: &Path) -> io::Result<Option<Seen>>;

    /// Time since some fixed moment, by a clock of this process that is never set.
    fn elapsed(&self) -> Duration;
}

/// The file system of this machine, including mounted ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl SharedFiles for Disk {
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<SystemTime> {
        let open = |_| OpenOptions::new().write(true).create_new(true).open(path);
        let mut file = run_operation(Operation::Create, path, open)?;
        let written = run_operation(Operation::Write, path, |extent| {
            let count = if extent == Extent::Half { bytes.len() / 2 } else { bytes.len() };
            file.write_all(&bytes[..count])
        });
        // Closing it sends it to the server, whose time it then has.
        drop(file);
        let time = || fs::metadata(path).and_then(|found| found.modified());
        written.and_then(|()| time()).inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<bool> {
        match run_operation(Operation::Link, to, |_| retry_while_busy(|| fs::hard_link(from, to))) {
            Ok(()) => Ok(true),
            // The answer to a request that was sent twice: the first one did it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(is_same_file(from, to)),
            Err(error) => Err(error),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<bool> {
        let rename = |_| retry_while_busy(|| fs::rename(from, to));
        missing_is(false, run_operation(Operation::Rename, to, rename).map(|()| true))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let remove = |_| retry_while_busy(|| fs::remove_file(path));
        missing_is((), run_operation(Operation::Remove, path, remove))
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        run_operation(Operation::Touch, path, |_| touch(path))
    }

    fn look(&self, path: &Path) -> io::Result<Option<Seen>> {
        let look = || {
            // Opening the file asks the server; a lookup of its name may be answered from a cache.
            let file = open_now(path, OpenOptions::new().read(true))?;
            let modified = file.metadata()?.modified()?;
            let mut bytes = Vec::new();
            file.take(MOST_CLAIM).read_to_end(&mut bytes)?;
            Ok(Some(Seen { bytes, modified }))
        };
        missing_is(None, look())
    }

    fn elapsed(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

fn missing_is<T>(instead: T, result: io::Result<T>) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(instead),
        // A file that another machine removed while this one had it open.
        #[cfg(unix)]
        Err(error) if error.kind() == io::ErrorKind::StaleNetworkFileHandle => Ok(instead),
        result => result,
    }
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let number = |path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    number(one).is_some_and(|found| Some(found) == number(other))
}

#[cfg(not(unix))]
fn is_same_file(_one: &Path, _other: &Path) -> bool {
    false
}

/// The present is the server's: this machine's clock may be minutes off.
#[cfg(unix)]
fn touch(path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Writes the first byte again: the time of a write is the server's, and a time that is set would be this machine's.
#[cfg(not(unix))]
fn touch(path: &Path) -> io::Result<()> {
    use std::io::Seek as _;
    let mut file = retry_while_busy(|| OpenOptions::new().read(true).write(true).open(path))?;
    let mut first = [0];
    file.read_exact(&mut first)?;
    file.rewind()?;
    file.write_all(&first)?;
    file.sync_all()
}
