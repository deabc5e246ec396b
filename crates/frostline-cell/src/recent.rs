//! A list of shared values by key that drops the least recently used values.

use std::sync::Arc;

/// Values by their keys, with the most recently used ones at the end. A value in use is not dropped: it would
/// stay in memory anyway, and be made a second time.
pub(crate) struct Recent<T> {
    most: usize,
    entries: Vec<(String, Arc<T>)>,
}

impl<T> Recent<T> {
    /// Creates an empty list that keeps at most this many values that are not in use.
    pub fn new(most: usize) -> Self {
        Self { most, entries: Vec::new() }
    }

    /// Returns the value of a key, now the one used last.
    pub fn find(&mut self, key: &str) -> Option<Arc<T>> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(at);
        let value = entry.1.clone();
        self.entries.push(entry);
        Some(value)
    }

    /// Returns the value of a key, and makes it if it is missing.
    ///
    /// # Errors
    /// Errors of `make`; then no value is kept.
    pub fn find_or_make<E>(&mut self, key: &str, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        let made = Arc::new(make()?);
        self.entries.push((key.to_string(), made.clone()));
        self.drop_surplus();
        Ok(made)
    }

    fn drop_surplus(&mut self) {
        let mut surplus = self.entries.len().saturating_sub(self.most);
        self.entries.retain(|(_, value)| {
            let dropped = surplus > 0 && Arc::strong_count(value) == 1;
            surplus -= usize::from(dropped);
            !dropped
        });
    }

    /// Returns the values, with the most recently used ones at the end.
    #[cfg(test)]
    pub fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.entries.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(recent: &mut Recent<u32>, key: &str) -> Arc<u32> {
        recent.find_or_make(key, || Ok::<_, ()>(7)).unwrap()
    }

    #[test]
    fn what_was_used_longest_ago_is_dropped() {
        let mut recent = Recent::new(2);
        for key in ["a", "b", "a", "c"] {
            keep(&mut recent, key);
        }
        let found = ["a", "b", "c"].map(|key| recent.find(key).is_some());
        assert_eq!(found, [true, false, true]);
    }

    #[test]
    fn what_is_in_use_stays_and_is_made_once() {
        let mut recent = Recent::new(1);
        let held = keep(&mut recent, "a");
        for key in ["b", "c"] {
            keep(&mut recent, key);
        }
        assert!(Arc::ptr_eq(&held, &keep(&mut recent, "a")));
        assert_eq!(recent.values().count(), 2, "`c` and what is held");
        assert_eq!(recent.find_or_make("d", || Err("no")), Err("no"));
        assert!(recent.find("d").is_none());
    }
}
