//! The outputs of constant prefixes that a worker keeps.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use frostline_files::{Identity, SEAL_BYTES, unseal};
use frostline_train::Prefix;

/// The prefixes that one worker keeps in memory, with the most recently used ones at the end.
#[derive(Default)]
pub(crate) struct KeptPrefixes {
    entries: Vec<(String, Arc<PrefixRows>)>,
}

/// The hidden states above a prefix for one split.
#[derive(Debug)]
pub(crate) struct PrefixRows {
    pub values: PrefixValues,
    /// The first row of each sentence.
    pub starts: Vec<usize>,
}

/// Rows of H numbers.
#[derive(Debug)]
pub(crate) enum PrefixValues {
    Memory(Vec<f32>),
    Mapped(MappedRows),
}

/// Rows in a mapped file. The key of the prefix and the seal follow them and have been checked.
#[derive(Debug)]
pub(crate) struct MappedRows {
    map: memmap2::Mmap,
    path: PathBuf,
    /// The file as it was before it was checked.
    identity: Identity,
}

impl MappedRows {
    /// Returns the rows in a file; `None` if the file was not written under this key.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(path: &Path, key: &str) -> Result<Option<Self>> {
        let identity = Identity::of(path)?;
        let file = frostline_files::open(path)?;
        // SAFETY: no process of ours writes to a finished file of this name; it is only ever removed, which
        // leaves a map intact. Writes by other programs are detected by checks before and after the rows are
        // read.
        let map = unsafe { memmap2::Mmap::map(&file) }?;
        let is_whole = unseal(&map).is_some_and(|inside| inside.ends_with(key.as_bytes()));
        Ok(is_whole.then(|| Self { map, path: path.into(), identity }))
    }

    /// Returns the size of the rows.
    pub fn bytes(&self) -> u64 {
        (self.map.len() - self.bytes_behind()) as u64
    }

    /// Returns whether the file has not been written or replaced since it was checked. A removed file stays
    /// intact in the map.
    fn is_unchanged(&self) -> bool {
        match Identity::of(&self.path) {
            Ok(now) => now == self.identity,
            Err(error) => error.reason.kind() == ErrorKind::NotFound,
        }
    }

    /// Returns the number of bytes after the rows. The file's name is derived from the key.
    fn bytes_behind(&self) -> usize {
        self.path.file_stem().map_or(0, |key| key.len()) + SEAL_BYTES
    }

    fn values(&self) -> &[f32] {
        let rows = &self.map[..self.map.len() - self.bytes_behind()];
        // SAFETY: every pattern of bits is an f32; a map begins on a page, so nothing is cut.
        unsafe { rows.align_to::<f32>() }.1
    }
}

impl PrefixRows {
    /// Returns the rows as the output of so many blocks of width H.
    pub fn prefix(&self, blocks: usize, hidden: usize) -> Prefix<'_> {
        Prefix { blocks, hidden, rows: self.values(), starts: &self.starts }
    }

    /// Returns all numbers, row by row.
    fn values(&self) -> &[f32] {
        match &self.values {
            PrefixValues::Memory(values) => values,
            PrefixValues::Mapped(rows) => rows.values(),
        }
    }

    /// Returns whether the numbers are still the computed ones; always true in memory.
    pub fn is_unchanged(&self) -> bool {
        match &self.values {
            PrefixValues::Memory(_) => true,
            PrefixValues::Mapped(rows) => rows.is_unchanged(),
        }
    }

    /// Returns the bytes that the rows use in this process's own memory.
    pub fn bytes_in_memory(&self) -> u64 {
        match &self.values {
            PrefixValues::Memory(values) => 4 * values.len() as u64,
            PrefixValues::Mapped(_) => 0,
        }
    }
}

impl KeptPrefixes {
    /// Returns the rows of a key and marks them as most recently used; `None` if they are missing or their file
    /// was changed.
    pub fn find(&mut self, key: &str) -> Option<Arc<PrefixRows>> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(at);
        if !entry.1.is_unchanged() {
            return None;
        }
        let rows = entry.1.clone();
        self.entries.push(entry);
        Some(rows)
    }

    /// Drops the rows used longest ago, until the others take no more memory than this.
    pub fn make_room(&mut self, limit: u64) {
        while self.entries.iter().map(|(_, rows)| rows.bytes_in_memory()).sum::<u64>() > limit {
            self.entries.remove(0);
        }
    }

    /// Keeps rows as the most recently used ones.
    pub fn keep(&mut self, key: String, rows: Arc<PrefixRows>) -> Arc<PrefixRows> {
        self.entries.push((key, rows.clone()));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let rows =
            |count| Arc::new(PrefixRows { values: PrefixValues::Memory(vec![0.0; count]), starts: vec![] });
        let mut kept = KeptPrefixes::default();
        for (key, count) in [("a", 1), ("b", 2), ("c", 4)] {
            kept.keep(key.into(), rows(count));
        }
        assert!(kept.find("a").is_some(), "now the last one used");
        kept.make_room(4 * 5);
        let there = |kept: &mut KeptPrefixes| ["a", "b", "c"].map(|key| kept.find(key).is_some());
        assert_eq!(there(&mut kept), [true, false, true]);
        kept.make_room(0);
        assert_eq!(there(&mut kept), [false; 3]);
    }
}
