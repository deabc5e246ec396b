//! Files of which only the needed bytes are read.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::CheckpointError;

/// An open regular file.
#[derive(Debug)]
pub(crate) struct Disk {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Disk {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        let file = frostline_files::open(path)?;
        let length =
            file.metadata().map_err(|error| CheckpointError::new(path.display(), error.to_string()))?;
        Ok(Self { file, path: path.into(), length: length.len() })
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes when the file was opened.
    pub const fn byte_length(&self) -> u64 {
        self.length
    }

    /// Creates an error about this file.
    pub fn file_fault(&self, reason: impl Into<String>) -> CheckpointError {
        CheckpointError::new(self.path.display(), reason)
    }

    /// Fills a buffer with the bytes from `at` on.
    pub fn fill_at(&self, at: u64, buffer: &mut [u8]) -> Result<(), CheckpointError> {
        let end = at.checked_add(buffer.len() as u64).filter(|end| *end <= self.length);
        if end.is_none() {
            let (needed, length) = (buffer.len(), self.length);
            return Err(self.file_fault(format!(
                "it ends at byte {length}, but {needed} bytes from byte {at} on are needed; copy it again"
            )));
        }
        read_at(&self.file, buffer, at)
            .map_err(|error| self.file_fault(format!("byte {at} cannot be read: {error}")))
    }

    /// Announces that bytes will be read soon, so that the system can read them in the meantime.
    pub fn announce_bytes(&self, at: u64, length: u64) {
        #[cfg(target_os = "linux")]
        {
            let length = std::num::NonZeroU64::new(length);
            // Without it reading is slower and no less correct.
            let _ = rustix::fs::fadvise(&self.file, at, length, rustix::fs::Advice::WillNeed);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (at, length);
    }

    /// Returns the bytes from `at` on.
    pub fn bytes(&self, at: u64, length: usize) -> Result<Vec<u8>, CheckpointError> {
        // Checked before memory is allocated.
        if at.checked_add(length as u64).is_none_or(|end| end > self.length) {
            self.fill_at(at, &mut [0])?;
            return Err(self.file_fault(format!("it ends before byte {at} + {length}; copy it again")));
        }
        let mut bytes = vec![0; length];
        self.fill_at(at, &mut bytes)?;
        Ok(bytes)
    }
}

/// Fills a buffer from a place of a file.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, at);
    #[cfg(windows)]
    {
        let mut filled = 0;
        while filled < buffer.len() {
            let place = at + filled as u64;
            match std::os::windows::fs::FileExt::seek_read(file, &mut buffer[filled..], place)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(())
    }
}
