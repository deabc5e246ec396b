//! Deferred updates in the background, until the next step's products compute them. They wait for memory, which half of the threads
//! can read almost as fast as all of them.

use std::sync::Arc;

use burn::prelude::Backend;

use crate::Deferred;

/// How many threads of the caller's pool work in the background while the others do something else: half of them.
#[must_use]
pub fn background_threads() -> usize {
    rayon::current_num_threads() / 2
}

/// Computes updates in the background on [`background_threads`], until all are begun, others compute them or nobody holds them any
/// more. Where these threads have other work, or there are none, an update is computed when it is read.
pub fn compute_in_background<B: Backend>(updates: &Arc<dyn Deferred<B>>) {
    for _ in 0..background_threads() {
        let updates = Arc::downgrade(updates);
        rayon::spawn(move || while updates.upgrade().is_some_and(|updates| updates.advance()) {});
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    use burn::backend::Flex;
    use burn::prelude::*;

    use super::*;

    /// Updates that only count.
    struct Counted {
        left: AtomicUsize,
        begun: Arc<AtomicUsize>,
    }

    impl Deferred<Flex> for Counted {
        fn advance(&self) -> bool {
            let next =
                self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            self.begun.fetch_add(usize::from(next.is_ok()), Ordering::Relaxed);
            std::thread::sleep(Duration::from_micros(100));
            next.is_ok()
        }

        fn parameter(&self, _: usize) -> Tensor<Flex, 1> {
            unreachable!("nobody reads one")
        }

        fn moments(&self, _: usize) -> [Tensor<Flex, 1>; 2] {
            unreachable!("nobody reads one")
        }
    }

    /// How many of 1000 updates were begun in a pool of so many threads, once `is_enough` were.
    fn begun(threads: usize, is_enough: impl Fn(usize) -> bool) -> usize {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let begun = Arc::new(AtomicUsize::new(0));
        let updates: Arc<dyn Deferred<Flex>> =
            Arc::new(Counted { left: AtomicUsize::new(1000), begun: Arc::clone(&begun) });
        pool.install(|| compute_in_background(&updates));
        let since = Instant::now();
        while !is_enough(begun.load(Ordering::Relaxed)) {
            assert!(since.elapsed() < Duration::from_secs(60), "nothing is computed");
            std::thread::yield_now();
        }
        begun.load(Ordering::Relaxed)
    }

    #[test]
    fn updates_are_computed_where_there_is_a_thread_for_them() {
        assert_eq!(begun(1, |_| true), 0);
        for threads in [2, 5] {
            assert_eq!(begun(threads, |begun| begun == 1000), 1000, "{threads} threads");
        }
    }
}
