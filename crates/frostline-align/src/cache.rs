//! The word cache: form -> subword ids, shared by all threads and bounded in size.

use std::sync::RwLock;

use ahash::RandomState;

/// Forms longer than this many bytes are not cached: they are rare.
const LONGEST_FORM: usize = 128;
/// Forms kept per shard, so about a million in all: some 100 MB of ordinary words.
const FORMS_PER_SHARD: usize = 1 << 14;
const SHARDS: usize = 64;

type Shard = std::collections::HashMap<Box<str>, Box<[u32]>, RandomState>;

/// Returns a hasher with fixed keys, since the crate uses no random source. No result depends on the order of a
/// hash map.
pub(crate) fn fixed_hasher() -> RandomState {
    RandomState::with_seeds(0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344)
}

/// A sharded map for many readers and few writers.
pub(crate) struct WordCache {
    hasher: RandomState,
    shards: Box<[RwLock<Shard>]>,
}

impl WordCache {
    pub(crate) fn new() -> Self {
        let hasher = fixed_hasher();
        let shards = (0..SHARDS).map(|_| RwLock::new(Shard::with_hasher(hasher.clone()))).collect();
        Self { hasher, shards }
    }

    /// Calls `found` with the ids of `form` and returns true, or returns false.
    pub(crate) fn get(&self, form: &str, found: impl FnOnce(&[u32])) -> bool {
        let shard = self.shard_for(form).read().unwrap_or_else(|e| e.into_inner());
        shard.get(form).map(|ids| found(ids)).is_some()
    }

    /// Stores the ids of `form` unless the cache is full or the form too long.
    pub(crate) fn store_ids(&self, form: &str, ids: &[u32]) {
        if form.len() > LONGEST_FORM {
            return;
        }
        let mut shard = self.shard_for(form).write().unwrap_or_else(|e| e.into_inner());
        if shard.len() < FORMS_PER_SHARD {
            shard.insert(form.into(), ids.into());
        }
    }

    /// Returns the number of cached forms.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|s| s.read().unwrap_or_else(|e| e.into_inner()).len()).sum()
    }

    fn shard_for(&self, form: &str) -> &RwLock<Shard> {
        // The top bits, since the shard's own map uses the low bits of the same hash.
        let hash = self.hasher.hash_one(form);
        &self.shards[(hash >> 58) as usize % SHARDS]
    }
}
