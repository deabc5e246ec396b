//! Free space of a file system, determined without changing it.

use std::path::Path;

/// The room of the file system that a folder is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that this user can still write.
    pub free: u64,
    /// All bytes.
    pub total: u64,
}

impl Space {
    /// Returns the space of the file system of an existing path; `None` if the system does not report it.
    #[cfg(unix)]
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let found = rustix::fs::statvfs(path).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Self { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
    }

    /// Returns the space of the file system of an existing path; `None` if the system does not report it.
    #[cfg(not(unix))]
    #[must_use]
    pub fn of(_: &Path) -> Option<Self> {
        None
    }
}

/// Returns whether this user may write into a folder or create it, that is, whether its nearest existing parent
/// accepts files.
#[must_use]
pub fn can_write_into(folder: &Path) -> bool {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
    let nearest = absolute.ancestors().find(|path| path.symlink_metadata().is_ok());
    nearest.is_some_and(|path| path.is_dir() && preallocation_works(path))
}

#[cfg(unix)]
fn preallocation_works(folder: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn preallocation_works(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| !found.permissions().readonly())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_system_has_less_free_than_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let space = Space::of(folder.path()).expect("it says");
        assert!(space.free <= space.total && space.total > 0, "{space:?}");
        assert_eq!(Space::of(&folder.path().join("missing")), None);
    }

    #[test]
    fn a_folder_can_be_made_below_one_that_takes_files() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(can_write_into(folder.path()));
        assert!(can_write_into(&folder.path().join("a/b")));
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert!(!can_write_into(&file));
        assert!(!can_write_into(&file.join("a")));
    }
}
