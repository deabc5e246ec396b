//! The outputs of constant prefixes that a worker keeps.

use std::sync::Arc;

/// The prefixes that one worker keeps in memory, those used last at the end.
#[derive(Default)]
pub(crate) struct Kept {
    entries: Vec<(String, Arc<Rows>)>,
}

/// The hidden states above a prefix for one split.
#[derive(Debug)]
pub(crate) struct Rows {
    pub values: Values,
    /// The first row of each sentence.
    pub starts: Vec<usize>,
}

/// Rows of H numbers.
#[derive(Debug)]
pub(crate) enum Values {
    Memory(Vec<f32>),
    Mapped(MappedRows),
}

/// Rows in a mapped file, followed by the seal that was checked.
#[derive(Debug)]
pub(crate) struct MappedRows(memmap2::Mmap);

impl MappedRows {
    /// The rows of a sealed file; nothing if its seal does not fit.
    pub fn of(map: memmap2::Mmap) -> Option<Self> {
        frostline_files::unseal(&map).is_some().then_some(Self(map))
    }

    /// The size of the rows.
    pub fn bytes(&self) -> u64 {
        (self.0.len() - frostline_files::SEAL_BYTES) as u64
    }

    fn values(&self) -> &[f32] {
        let rows = &self.0[..self.0.len() - frostline_files::SEAL_BYTES];
        // SAFETY: every pattern of bits is an f32; a map begins on a page, so nothing is cut.
        unsafe { rows.align_to::<f32>() }.1
    }
}

impl Rows {
    /// All numbers, row by row.
    pub fn values(&self) -> &[f32] {
        match &self.values {
            Values::Memory(values) => values,
            Values::Mapped(rows) => rows.values(),
        }
    }

    /// What they take of this process's own memory.
    pub fn bytes_in_memory(&self) -> u64 {
        match &self.values {
            Values::Memory(values) => 4 * values.len() as u64,
            Values::Mapped(_) => 0,
        }
    }
}

impl Kept {
    /// The rows of a key, now those used last.
    pub fn find(&mut self, key: &str) -> Option<Arc<Rows>> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(at);
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

    /// Keeps rows as those used last.
    pub fn keep(&mut self, key: String, rows: Arc<Rows>) -> Arc<Rows> {
        self.entries.push((key, rows.clone()));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let rows = |count| Arc::new(Rows { values: Values::Memory(vec![0.0; count]), starts: vec![] });
        let mut kept = Kept::default();
        for (key, count) in [("a", 1), ("b", 2), ("c", 4)] {
            kept.keep(key.into(), rows(count));
        }
        assert!(kept.find("a").is_some(), "now the last one used");
        kept.make_room(4 * 5);
        let there = |kept: &mut Kept| ["a", "b", "c"].map(|key| kept.find(key).is_some());
        assert_eq!(there(&mut kept), [true, false, true]);
        kept.make_room(0);
        assert_eq!(there(&mut kept), [false; 3]);
    }
}
