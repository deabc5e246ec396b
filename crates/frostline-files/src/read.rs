//! Reading files that others made: only regular ones, only up to a limit, and knowing which file was read.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::time::SystemTime;

use crate::FileError;
use crate::busy::retry_while_busy;

/// Beginning of the file that Git LFS leaves in place of a file that was not downloaded.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The largest such file, by its specification.
///
/// # Units
/// Bytes.
const MOST_POINTER: u64 = 1024;

/// Opens a regular file. A pipe or a device, which may never end, is refused without being opened. A pointer of Git LFS is refused
/// too: it is text that a reader would take for the contents.
///
/// # Errors
/// If there is no such file, it is not a regular one, it is a pointer of Git LFS, or it cannot be opened.
pub fn open(path: &Path) -> Result<File, FileError> {
    let open = || {
        check_regular(&fs::metadata(path)?)?;
        let mut file = open_now(path, File::options().read(true))?;
        refuse_lfs_pointer(&mut file)?;
        Ok(file)
    };
    open().map_err(FileError::of(path))
}

/// Checks that a file is no pointer of Git LFS, and returns to its beginning.
fn refuse_lfs_pointer(file: &mut File) -> io::Result<()> {
    if file.metadata()?.len() > MOST_POINTER {
        return Ok(());
    }
    let mut first = Vec::new();
    file.take(LFS_POINTER.len() as u64).read_to_end(&mut first)?;
    file.rewind()?;
    if first == LFS_POINTER {
        let what = "a pointer of Git LFS, not the file itself; run `git lfs pull` where it was cloned, or download the file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(())
}

/// Opens a regular file with these options, and never waits: a pipe may have come in its place since it was looked at.
pub(crate) fn open_now(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags((rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits() as i32);
    }
    let file = retry_while_busy(|| options.open(path))?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// Checks that this is a regular file.
pub(crate) fn check_regular(found: &Metadata) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let what = if found.is_dir() { "a folder" } else { "a pipe or a device" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what}, where a file was expected")))
}

/// Reads a whole regular file of at most `most` bytes.
///
/// # Errors
/// See [`open`]; also if the file is larger or cannot be read.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let file = open(path)?;
    let read = || {
        let size = file.metadata()?.len();
        if size > most {
            let (size, most) = (size.div_ceil(1 << 20), most >> 20);
            return Err(io::Error::other(format!("it has {size} MiB, but at most {most} MiB are read")));
        }
        let mut bytes = Vec::with_capacity(size as usize);
        // The file may grow while it is read.
        (&file).take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(FileError::of(path))
}

/// Reads a whole regular file of at most `most` bytes as text.
///
/// # Errors
/// See [`read`]; also if it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String, FileError> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        FileError::of(path)(io::Error::other(format!("not UTF-8 from byte {place} on; convert it")))
    })
}

/// The file at a path, and the time of its last write. Two equal identities, from before and after reading,
/// show that the file was not written or replaced meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Device, number on it, and the last change of its contents or attributes in nanoseconds.
    #[cfg(unix)]
    unix: (u64, u64, i128),
    /// Whether every write changes a time.
    has_times: bool,
    size: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    /// Returns the identity of the file under a path.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(path: &Path) -> Result<Self, FileError> {
        let found = fs::metadata(path).map_err(FileError::of(path))?;
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Ok(Self {
            #[cfg(unix)]
            unix: (
                found.dev(),
                found.ino(),
                i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec()),
            ),
            has_times: has_times(path),
            size: found.len(),
            modified: found.modified().ok(),
        })
    }

    /// Returns the file's size.
    ///
    /// # Units
    /// Bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Returns the identity as text, for comparison with the same path at another time, even by another
    /// program. Returns `None` if a later change might be missed: if the file was changed in the last seconds,
    /// since file systems count time in steps of up to two; if the system does not report the time of changes
    /// to a file's attributes; and on file systems in memory (tmpfs), on which writing to a mapped file changes
    /// no time.
    #[must_use]
    pub fn lasting(&self) -> Option<String> {
        #[cfg(unix)]
        {
            const SETTLED_NS: i128 = 3_000_000_000;
            let (device, number, changed) = self.unix;
            if !self.has_times {
                return None;
            }
            let nanoseconds = |time: SystemTime| {
                time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as i128)
            };
            let modified = nanoseconds(self.modified?);
            let last = changed.max(modified);
            (last + SETTLED_NS < nanoseconds(SystemTime::now()))
                .then(|| format!("{device} {number} {} {modified} {changed}", self.size))
        }
        #[cfg(not(unix))]
        None
    }
}

/// Returns whether the file system under a path records every write in a file's times. File systems in memory
/// do not for mapped files.
fn has_times(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        const TMPFS: u64 = 0x0102_1994;
        const RAMFS: u64 = 0x8584_58f6;
        // The type is signed or not, by architecture; the numbers have 32 bits.
        rustix::fs::statfs(path)
            .is_ok_and(|found| ![TMPFS, RAMFS].contains(&(found.f_type as u64 & 0xffff_ffff)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        true
    }
}

/// Returns whether this is a regular file that belongs to the current user and that no other user can write to,
/// by its owner and mode.
#[must_use]
pub fn is_own(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let user = rustix::process::geteuid().as_raw();
        fs::symlink_metadata(path)
            .is_ok_and(|found| found.is_file() && found.uid() == user && found.mode() & 0o022 == 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Returns whether a path has an access control list (POSIX), whose entries can allow or deny single users what the
/// mode does not show. Always `false` outside Linux.
#[must_use]
pub fn has_access_list(path: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        // A list does not fit.
        let found = rustix::fs::getxattr(path, ACCESS_LIST, &mut [0_u8; 4]);
        found == Err(rustix::io::Errno::RANGE)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        false
    }
}

/// The attribute with a path's access control list.
#[cfg(target_os = "linux")]
const ACCESS_LIST: &str = "system.posix_acl_access";

#[cfg(test)]
mod tests {
    use super::*;

    /// User 1 may not read what all others can, which the mode does not show.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_access_list_is_found() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        assert!(!has_access_list(folder.path()));
        let entries =
            [(1_u16, 7_u16, u32::MAX), (2, 0, 1), (4, 5, u32::MAX), (16, 5, u32::MAX), (32, 5, u32::MAX)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (kind, rights, user) in entries {
            list.extend(kind.to_le_bytes());
            list.extend(rights.to_le_bytes());
            list.extend(user.to_le_bytes());
        }
        match rustix::fs::setxattr(folder.path(), ACCESS_LIST, &list, rustix::fs::XattrFlags::empty()) {
            Err(rustix::io::Errno::NOTSUP) => {
                eprintln!("SKIPPED: the file system has no access control lists")
            }
            done => {
                done.expect("the list is set");
                assert_eq!(fs::metadata(folder.path()).expect("a folder").mode() & 0o777, 0o755);
                assert!(has_access_list(folder.path()));
            }
        }
    }

    #[test]
    fn a_pointer_of_git_lfs_is_not_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.json");
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
        fs::write(&path, pointer).expect("written");
        let error = read_text(&path, 1 << 20).expect_err("a pointer").to_string();
        assert!(error.contains("a pointer of Git LFS") && error.contains("git lfs pull"), "{error}");
        // A text with only the same beginning is read from its first byte.
        for text in ["version 2\n".to_string(), String::new(), format!("{pointer}{}", "x".repeat(1024))] {
            fs::write(&path, &text).expect("written");
            assert_eq!(read_text(&path, 1 << 20).expect("text"), text);
        }
    }

    #[test]
    fn only_regular_files_up_to_the_limit_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, vec![b'x'; 3 << 20]).expect("written");
        assert_eq!(read(&path, 3 << 20).expect("as large as allowed").len(), 3 << 20);
        let shown =
            |error: FileError| error.to_string().replace(&folder.path().display().to_string(), "FOLDER");
        let mut errors = vec![
            shown(read(&path, 2 << 20).expect_err("too large")),
            shown(read(folder.path(), 9).expect_err("a folder")),
        ];
        fs::write(&path, b"a\xff").expect("written");
        errors.push(shown(read_text(&path, 9).expect_err("no UTF-8")));
        #[cfg(target_os = "linux")]
        {
            errors.push(shown(read(Path::new("/dev/zero"), 9).expect_err("a device")));
            let pipe = folder.path().join("pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
            assert!(made.success());
            errors.push(shown(read(&pipe, 9).expect_err("a pipe")));
            insta::assert_snapshot!(errors.join("\n"));
        }
    }

    #[test]
    fn a_file_that_was_written_or_replaced_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("file"), folder.path().join("other"));
        fs::write(&path, "first").expect("written");
        let first = Identity::of(&path).expect("it is there");
        assert_eq!(Identity::of(&path).expect("it is there"), first);
        // Clocks of file systems tick every few milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        fs::write(&path, "other").expect("written");
        let second = Identity::of(&path).expect("it is there");
        assert_ne!(second, first);
        fs::write(&other, "other").expect("written");
        fs::rename(&other, &path).expect("replaced");
        assert_ne!(Identity::of(&path).expect("it is there"), second);
    }
}
