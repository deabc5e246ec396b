//! A list of shared values by key that drops those used longest ago.

use std::sync::Arc;

/// Values by their keys, those used last at the end. A value that is in use elsewhere is not dropped: it would
/// stay in memory anyway, and be made a second time.
pub(crate) struct Recent<T> {
    most: usize,
    entries: Vec<(String, Arc<T>)>,
}

impl<T> Recent<T> {
    /// An empty list that keeps at most so many values that are not in use elsewhere.
    pub fn new(most: usize) -> Self {
        Self { most, entries: Vec::new() }
    }

    /// The value of a key, now the one used last.
    pub fn find(&mut self, key: &str) -> Option<Arc<T>> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        let entry = self.entries.remove(at);
        let value = entry.1.clone();
        self.entries.push(entry);
        Some(value)
    }

    /// The value of a key, made where the list does not have it.
    ///
    /// # Errors
    /// Those of `make`; nothing is kept then.
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

    /// The values, those used last at the end.
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
