//! The compact vocabulary: only rows of the word table that occur in the data are kept in memory.
//!
//! This is exact with decoupled weight decay: a row that never occurs receives no gradient, so it
//! changes only by its weight decay, which is one factor for all such rows.

/// The rows of the full word table that a model keeps, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    rows: Vec<u32>,
    /// Full id -> compact row; `u32::MAX` for rows that are not kept.
    compact: Vec<u32>,
}

impl Vocabulary {
    /// Returns all rows.
    #[must_use]
    pub fn full(size: usize) -> Self {
        Self::of(size, 0..size as u32)
    }

    /// Returns the rows of these ids of a table of `size` rows.
    ///
    /// # Panics
    /// If an id is not below `size`.
    #[must_use]
    pub fn of(size: usize, ids: impl IntoIterator<Item = u32>) -> Self {
        let mut used = vec![false; size];
        for id in ids {
            used[id as usize] = true;
        }
        let rows: Vec<u32> = (0..size as u32).filter(|&id| used[id as usize]).collect();
        let mut compact = vec![u32::MAX; size];
        for (row, &id) in rows.iter().enumerate() {
            compact[id as usize] = row as u32;
        }
        Self { rows, compact }
    }

    /// Returns the ids that are kept, ascending.
    #[must_use]
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Returns the compact row of an id; `None` if the id is not kept.
    #[must_use]
    pub fn row(&self, id: u32) -> Option<u32> {
        self.compact.get(id as usize).copied().filter(|&row| row != u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_find_their_rows() {
        let vocabulary = Vocabulary::of(10, [7, 2, 2, 9]);
        assert_eq!(vocabulary.rows(), [2, 7, 9]);
        assert_eq!([2, 7, 9, 0, 10].map(|id| vocabulary.row(id)), [Some(0), Some(1), Some(2), None, None]);
        assert_eq!(Vocabulary::full(3).rows(), [0, 1, 2]);
    }
}
