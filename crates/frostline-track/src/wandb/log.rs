//! The log of a run's records: LevelDB's format of blocks, with the checksums of zlib and W&B's header.

use std::path::Path;

use frostline_files::{Appender, FileError};

const BLOCK: usize = 32 << 10;
/// Bytes of each piece's header: checksum, length and kind.
const HEAD: usize = 7;
/// `:W&B`, the magic number 0xBEE1, and version 0.
const MAGIC: [u8; 7] = *b":W&B\xe1\xbe\0";

/// A log that grows.
#[derive(Debug)]
pub(super) struct Log {
    file: Appender,
    /// Bytes written and waiting.
    length: usize,
    waiting: Vec<u8>,
}

impl Log {
    pub(super) fn create(path: &Path) -> Result<Self, FileError> {
        let file = frostline_files::append(path)?;
        Ok(Self { file, length: MAGIC.len(), waiting: MAGIC.to_vec() })
    }

    /// Adds a record, in as many pieces as the blocks' ends make of it.
    pub(super) fn add(&mut self, record: &[u8]) {
        let mut rest = record;
        let mut first = true;
        loop {
            let room = BLOCK - self.length % BLOCK;
            if room < HEAD {
                self.put_bytes(&[0; HEAD][..room]);
                continue;
            }
            let (piece, after) = rest.split_at(rest.len().min(room - HEAD));
            let kind: u8 = match (first, after.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            let mut checksum = crc32fast::Hasher::new();
            checksum.update(&[kind]);
            checksum.update(piece);
            self.put_bytes(&checksum.finalize().to_le_bytes());
            self.put_bytes(&(piece.len() as u16).to_le_bytes());
            self.put_bytes(&[kind]);
            self.put_bytes(piece);
            if after.is_empty() {
                return;
            }
            (rest, first) = (after, false);
        }
    }

    pub(super) fn flush(&mut self) -> Result<(), FileError> {
        self.file.add(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
        self.length += bytes.len();
    }
}

/// Returns the records of a log.
///
/// # Panics
/// If it is damaged.
#[cfg(test)]
pub(super) fn read(bytes: &[u8]) -> Vec<Vec<u8>> {
    assert_eq!(bytes[..7], MAGIC);
    let (mut at, mut records) = (MAGIC.len(), Vec::<Vec<u8>>::new());
    while at < bytes.len() {
        let room = BLOCK - at % BLOCK;
        if room < HEAD {
            assert!(bytes[at..at + room].iter().all(|byte| *byte == 0));
            at += room;
            continue;
        }
        let length = usize::from(u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]));
        let kind = bytes[at + 6];
        let checksum = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        assert_eq!(checksum, crc32fast::hash(&bytes[at + 6..at + HEAD + length]));
        let piece = &bytes[at + HEAD..at + HEAD + length];
        match kind {
            1 | 2 => records.push(piece.to_vec()),
            3 | 4 => records.last_mut().expect("a first piece").extend(piece),
            _ => panic!("kind {kind}"),
        }
        at += HEAD + length;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_any_length_are_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut log = Log::create(&path).expect("created");
        // Some records end 6, 7 and 8 bytes before a block's end, and one spans three blocks.
        let lengths = [0, 1, BLOCK - 7 - 7 - 7 - 8 - 6, 3, BLOCK - 21, BLOCK - 8, 3 * BLOCK, 0, 70_000, 5];
        let records: Vec<Vec<u8>> =
            lengths.iter().enumerate().map(|(at, length)| vec![at as u8; *length]).collect();
        for record in &records {
            log.add(record);
            log.flush().expect("written");
        }
        assert_eq!(read(&std::fs::read(&path).expect("a file")), records);
    }

    #[test]
    fn a_rest_of_a_block_too_small_for_a_head_is_zero() {
        for left in 0..HEAD + 2 {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("log");
            let mut log = Log::create(&path).expect("created");
            let records = [vec![7; BLOCK - MAGIC.len() - HEAD - left], vec![8; 100]];
            records.iter().for_each(|record| log.add(record));
            log.flush().expect("written");
            assert_eq!(read(&std::fs::read(&path).expect("a file")), records, "{left} bytes left");
        }
    }
}
