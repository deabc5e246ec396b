//! Files that are whole or absent, also after a power cut: written under another name, brought to the disk, renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use crate::FileError;
use crate::busy::retry_while_busy;
use crate::claim::{Commit, Disk, WorkClaim, commit, new_token};
use crate::fault::{Extent, Operation, run_operation};
use crate::read::{check_regular, open_now};
use crate::seal::seal_of_hash;

/// The bytes that a [`Writer`] keeps before it writes them.
const BUFFER: usize = 1 << 20;

/// Writes a file so that it is the old one or the new one at every moment, never a mix or a part.
///
/// # Errors
/// If it cannot be written; then nothing has changed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut writer = Writer::create(path)?;
    writer.write_all(bytes).map_err(FileError::of(path))?;
    writer.finish()
}

/// A file that is being written. Until [`Writer::finish`] succeeds it has another name, `NAME.PROCESS.part`,
/// and the existing file stays unchanged. Processes that write the same file do not disturb each other.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: BufWriter<UnnamedFile>,
    /// The hasher of a file that gets a seal.
    hasher: Option<Sha256>,
}

/// The unfinished file, which is removed unless it was finished: on a disk that is full it would only fill it.
#[derive(Debug)]
struct UnnamedFile {
    path: PathBuf,
    file: File,
    finished: bool,
}

impl Writer {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let part = part_of(path);
        // An existing link is replaced and not followed.
        remove(&part)?;
        let create = |_| OpenOptions::new().write(true).create_new(true).open(&part);
        let file = run_operation(Operation::Create, &part, create).map_err(FileError::of(path))?;
        let part = UnnamedFile { path: part, file, finished: false };
        Ok(Self { path: path.into(), file: BufWriter::with_capacity(BUFFER, part), hasher: None })
    }

    /// Begins a file that ends with a [seal](crate::seal()) of its bytes.
    ///
    /// # Errors
    /// See [`Writer::create`].
    pub fn create_sealed(path: &Path) -> Result<Self, FileError> {
        let mut writer = Self::create(path)?;
        writer.hasher = Some(Sha256::new());
        Ok(writer)
    }

    /// Brings the file to the disk and gives it its name.
    ///
    /// # Errors
    /// If that fails; then the file that was there before is unchanged.
    pub fn finish(mut self) -> Result<(), FileError> {
        let end = |writer: &mut Self| {
            writer.sync_to_disk()?;
            let part = writer.file.get_mut();
            rename_file(&part.path, &writer.path)?;
            part.finished = true;
            Ok(())
        };
        end(&mut self).map_err(FileError::of(&self.path))
    }

    /// Brings the file to the disk and gives it its name, unless the claim has passed to another process or a file that
    /// `counts` has the name.
    ///
    /// # Errors
    /// See [`Writer::finish`].
    pub fn finish_claimed(
        mut self,
        claim: &WorkClaim,
        counts: impl FnOnce() -> bool,
    ) -> Result<Commit, FileError> {
        let end = |writer: &mut Self| {
            writer.sync_to_disk()?;
            let part = writer.file.get_mut();
            let committed = commit(&Disk, claim, &part.path, &writer.path, counts)?;
            part.finished = true;
            sync_folder(&writer.path);
            Ok(committed)
        };
        end(&mut self).map_err(FileError::of(&self.path))
    }

    fn sync_to_disk(&mut self) -> io::Result<()> {
        if let Some(hasher) = self.hasher.take() {
            self.file.write_all(&seal_of_hash(hasher))?;
        }
        self.file.flush()?;
        let part = self.file.get_mut();
        run_operation(Operation::Sync, &part.path, |_| part.file.sync_all())
    }
}

/// Returns the name under which this process writes a file.
fn part_of(path: &Path) -> PathBuf {
    static PROCESS: OnceLock<String> = OnceLock::new();
    let process = PROCESS.get_or_init(new_token);
    path.with_added_extension(format!("{process}.part"))
}

/// Returns whether a file of this name is an unfinished file of a running or ended process.
#[must_use]
pub fn is_part(name: &str) -> bool {
    let process = name.strip_suffix(".part").and_then(|rest| Some(rest.rsplit_once('.')?.1));
    process.is_some_and(|token| token.len() == 16 && token.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&bytes[..count]);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Write for UnnamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_through(&self.path, &mut self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for UnnamedFile {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Renames a file or folder and brings the new name to the disk. A file of the new name is replaced.
///
/// # Errors
/// If it cannot be renamed.
pub fn rename(from: &Path, to: &Path) -> Result<(), FileError> {
    rename_file(from, to).map_err(FileError::of(to))
}

/// Gives a file a second name, replacing any file with that name, until the first is written again. If the file
/// system has no hard links, the file is renamed, so that the first name is missing until then.
///
/// # Errors
/// If both fail.
pub fn keep_as(from: &Path, to: &Path) -> Result<(), FileError> {
    remove(to)?;
    run_operation(Operation::Link, to, |_| fs::hard_link(from, to))
        .or_else(|_| rename_file(from, to))
        .map_err(FileError::of(to))
}

/// Creates a link at `path` to the file `target`, which is relative to the link's folder, replacing any file there. If the
/// system or file system has no links, the file is copied.
///
/// # Errors
/// If both fail.
pub fn link(target: &Path, path: &Path) -> Result<(), FileError> {
    let part = part_of(path);
    remove(&part)?;
    if run_operation(Operation::Link, path, |_| symbolic_link(target, &part)).is_err() {
        return copy(&path.parent().unwrap_or(path).join(target), path);
    }
    rename_file(&part, path).map_err(|error| {
        let _ = fs::remove_file(&part);
        FileError::of(path)(error)
    })
}

#[cfg(unix)]
fn symbolic_link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(windows)]
fn symbolic_link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, path)
}

#[cfg(not(any(unix, windows)))]
fn symbolic_link(_target: &Path, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn rename_file(from: &Path, to: &Path) -> io::Result<()> {
    run_operation(Operation::Rename, to, |_| retry_while_busy(|| fs::rename(from, to)))?;
    sync_folder(to);
    Ok(())
}

/// Brings a file's name to the disk. Some file systems cannot do that; the name is given all the same.
fn sync_folder(file: &Path) {
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// Creates a folder and its parents.
///
/// # Errors
/// If it cannot be created.
pub fn create_folder(path: &Path) -> Result<(), FileError> {
    if path.is_dir() {
        return Ok(());
    }
    run_operation(Operation::CreateFolder, path, |_| fs::create_dir_all(path)).map_err(FileError::of(path))
}

/// A file that grows: a log, or a resumed download. Written bytes are not on the disk until [`Appender::sync`].
#[derive(Debug)]
pub struct Appender {
    path: PathBuf,
    file: File,
}

/// Creates a folder inside one of our folders, and its parents.
///
/// # Errors
/// If it cannot be created, or is a link, through which files would be written elsewhere.
pub fn create_own_folder(path: &Path) -> Result<(), FileError> {
    refuse_link(path)?;
    create_folder(path)
}

/// Opens a file that is there and is regular, or that these options create.
fn open_ours(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if let Ok(found) = fs::symlink_metadata(path) {
        check_regular(&found)?;
    }
    open_now(path, options)
}

fn refuse_link(path: &Path) -> Result<(), FileError> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        let reason = "it is a link to another place, and Frostline writes nothing through links; remove it";
        return Err(FileError::of(path)(io::Error::other(reason)));
    }
    Ok(())
}

/// Opens a file to add to it, and creates it if it is missing.
///
/// # Errors
/// If it cannot be opened, is a link to another place, or is not a regular file.
pub fn append(path: &Path) -> Result<Appender, FileError> {
    refuse_link(path)?;
    let open = |_| open_ours(path, OpenOptions::new().create(true).append(true));
    let file = run_operation(Operation::Create, path, open).map_err(FileError::of(path))?;
    Ok(Appender { path: path.into(), file })
}

impl Appender {
    /// Brings all that was written to the disk.
    ///
    /// # Errors
    /// If that fails.
    pub fn sync(&self) -> Result<(), FileError> {
        run_operation(Operation::Sync, &self.path, |_| self.file.sync_all())
            .map_err(FileError::of(&self.path))
    }

    /// Adds all of these bytes or, if that fails, none of them.
    ///
    /// # Errors
    /// If they cannot be written, for example on a full disk.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let before = self.file.metadata().map(|found| found.len());
        let written = self.write_all(bytes);
        if let (Err(_), Ok(length)) = (&written, before) {
            // Readers would stumble over a part, and over all that is added behind it.
            let _ = self.file.set_len(length);
        }
        written.map_err(FileError::of(&self.path))
    }

    /// Returns the file itself, for another process to write to.
    #[must_use]
    pub fn into_file(self) -> File {
        self.file
    }
}

impl Write for Appender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_through(&self.path, &mut self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_through(path: &Path, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    run_operation(Operation::Write, path, |extent| {
        let bytes = if extent == Extent::Half { &bytes[..bytes.len() / 2] } else { bytes };
        file.write_all(bytes)?;
        Ok(bytes.len())
    })
}

/// Opens a file that processes lock, and leaves its contents as they are.
///
/// # Errors
/// If it cannot be opened, or is a link to another place.
pub fn lock_file(path: &Path) -> Result<File, FileError> {
    refuse_link(path)?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    let open = |_| open_ours(path, &mut options);
    run_operation(Operation::Create, path, open).map_err(FileError::of(path))
}

/// Sets a file's mode to 600: only its owner can read and write it. Does nothing if the system has no such modes.
///
/// # Errors
/// If its permissions cannot be set.
pub fn make_private(path: &Path) -> Result<(), FileError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(FileError::of(path))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(())
    }
}

/// Removes a file, if there is one.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(path: &Path) -> Result<(), FileError> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let remove = |_| retry_while_busy(|| fs::remove_file(path));
    run_operation(Operation::Remove, path, remove).map_err(FileError::of(path))
}

/// Copies a regular file with its permissions, so that a program stays one; the copy is whole or absent.
///
/// # Errors
/// If one cannot be read or the other not written.
pub fn copy(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut source = crate::open(from)?;
    let mut writer = Writer::create(to)?;
    let permissions = source.metadata().map_err(FileError::of(from))?.permissions();
    io::copy(&mut source, &mut writer).map_err(FileError::of(to))?;
    writer.file.get_ref().file.set_permissions(permissions).map_err(FileError::of(to))?;
    writer.finish()
}

/// Creates a folder that must not exist yet.
///
/// # Errors
/// If there is a file or folder of that name, or it cannot be created.
pub fn create_new_folder(path: &Path) -> Result<(), FileError> {
    run_operation(Operation::CreateFolder, path, |_| fs::create_dir(path)).map_err(FileError::of(path))
}

/// Removes a folder with everything in it. Only for a folder that the same process or its kind has created.
///
/// # Errors
/// If something in it cannot be removed.
pub fn remove_own_folder(path: &Path) -> Result<(), FileError> {
    let remove = |_| retry_while_busy(|| fs::remove_dir_all(path));
    run_operation(Operation::Remove, path, remove).map_err(FileError::of(path))
}

/// Removes a folder if it is empty. Returns whether it is gone.
#[must_use]
pub fn remove_empty_folder(path: &Path) -> bool {
    run_operation(Operation::Remove, path, |_| fs::remove_dir(path)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn only_regular_files_that_are_no_links_are_added_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let [pipe, link, to] = ["pipe", "link", "to"].map(|name| folder.path().join(name));
        fs::write(&to, "mine").expect("a file");
        std::os::unix::fs::symlink(&to, &link).expect("a link");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        for (path, reason) in [(&pipe, "a pipe"), (&link, "a link"), (&folder.path().into(), "a folder")] {
            // A pipe that is opened for writing would wait for a reader.
            let errors = [append(path).expect_err("refused"), lock_file(path).expect_err("refused")];
            for error in errors {
                assert!(error.to_string().contains(reason), "{error}");
            }
        }
        assert_eq!(fs::read(&to).expect("it is there"), b"mine");
    }

    #[test]
    fn a_kept_file_has_both_names_until_the_first_is_written_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, kept] = ["file", "kept"].map(|name| folder.path().join(name));
        for round in 0..3_u8 {
            write(&file, &[round]).expect("written");
            if round > 0 {
                assert_eq!(fs::read(&kept).expect("the one before"), [round - 1]);
            }
            keep_as(&file, &kept).expect("kept");
            for name in [&file, &kept] {
                assert_eq!(fs::read(name).expect("this one"), [round]);
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_follows_its_target_and_replaces_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        create_folder(&inner).expect("a folder");
        write(&folder.path().join("blob"), b"one").expect("written");
        let path = inner.join("name");
        write(&path, b"old").expect("written");
        link(Path::new("../blob"), &path).expect("linked");
        assert_eq!(fs::read_link(&path).expect("a link"), Path::new("../blob"));
        assert_eq!(fs::read(&path).expect("through the link"), b"one");
        assert_eq!(inner.read_dir().expect("a folder").count(), 1, "no other name is left");
    }

    #[test]
    fn an_unfinished_file_leaves_the_old_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        write(&path, b"old").expect("written");
        let mut writer = Writer::create(&path).expect("begun");
        writer.write_all(&vec![b'n'; 2 * BUFFER]).expect("written");
        drop(writer);
        assert_eq!(fs::read(&path).expect("it is there"), b"old");
        assert_eq!(folder.path().read_dir().expect("a folder").count(), 1, "nothing is left of the new one");
        write(&path, b"new").expect("written");
        assert_eq!(fs::read(&path).expect("it is there"), b"new");
        let other = folder.path().join("copy");
        copy(&path, &other).expect("copied");
        let mut appender = append(&other).expect("opened");
        appender.write_all(b"er").expect("added");
        appender.sync().expect("on the disk");
        assert_eq!(fs::read(&other).expect("it is there"), b"newer");
    }

    #[test]
    fn a_sealed_file_can_be_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let mut writer = Writer::create_sealed(&path).expect("begun");
        for piece in 0..300_000_u32 {
            writer.write_all(&piece.to_le_bytes()).expect("written");
        }
        writer.finish().expect("finished");
        let bytes = fs::read(&path).expect("it is there");
        let inside = crate::unseal(&bytes).expect("whole");
        assert_eq!(inside.len(), 1_200_000);
        assert_eq!(inside[4..8], 1_u32.to_le_bytes());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, foreign) = (folder.path().join("file"), folder.path().join("foreign"));
        fs::write(&foreign, "foreign").expect("written");
        for link in [&path, &part_of(&path)] {
            std::os::unix::fs::symlink(&foreign, link).expect("a link");
            write(&path, b"ours").expect("written");
            assert_eq!(fs::read(&foreign).expect("it is there"), b"foreign");
            assert_eq!(fs::read(&path).expect("it is there"), b"ours");
        }
    }
}
