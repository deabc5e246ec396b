//! Threads that wait for their part of the work without falling asleep.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a thread without work looks for some before it gives way to other programs each time.
const ALONE: Duration = Duration::from_micros(50);
/// How long it looks in all; then it sleeps, as rayon has it.
const AT_MOST: Duration = Duration::from_millis(5);

/// Does work that a pool's threads share in many small parts, while those that have nothing to do stay awake. Rayon's threads fall
/// asleep after some 30 µs, and a training step would wake them dozens of times.
///
/// Computes the same as `work` alone. It pays where the parts are worth sharing: where one thread does nearly all of the work, the
/// others look for it in vain.
pub fn awake<T>(work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    rayon::in_place_scope(|scope| {
        for _ in 1..rayon::current_num_threads() {
            scope.spawn(|_| work_until_idle(&done));
        }
        let result = work();
        done.store(true, Ordering::Release);
        result
    })
}

/// Does what the pool has to do, until there has long been nothing.
fn work_until_idle(done: &AtomicBool) {
    let mut since = Instant::now();
    while !done.load(Ordering::Acquire) {
        match rayon::yield_now() {
            Some(rayon::Yield::Executed) => since = Instant::now(),
            _ if since.elapsed() < ALONE => (0..8).for_each(|_| std::hint::spin_loop()),
            _ if since.elapsed() < AT_MOST => std::thread::yield_now(),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rayon::prelude::*;

    use super::*;

    #[test]
    fn the_work_is_done_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let sum =
                || (0..100).map(|part| (0..1000u64).into_par_iter().map(|i| i * part).sum::<u64>()).sum();
            let found: u64 = pool.install(|| awake(sum));
            assert_eq!(found, 4950 * 499_500, "{threads} threads");
            // One within another, and longer than any thread looks for work.
            let slow = || std::thread::sleep(2 * AT_MOST);
            assert_eq!(pool.install(|| awake(|| awake(|| (slow(), sum()).1))), found);
        }
    }

    #[test]
    fn a_panic_ends_it() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
        let ended = catch_unwind(AssertUnwindSafe(|| pool.install(|| awake(|| panic!("the work fails")))));
        assert!(ended.is_err());
    }
}
