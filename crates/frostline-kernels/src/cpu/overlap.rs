//! Work that other threads do while the one that asked for it goes on.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// Jobs whose results are taken in order. At most [`background_threads`] of them wait for a thread, so that what they hold does not
/// pile up.
pub struct BackgroundJobs<T>(VecDeque<Arc<BackgroundJob<T>>>);

struct BackgroundJob<T> {
    /// Until it begins.
    work: Mutex<Option<BackgroundWork<T>>>,
    /// Once it has ended.
    result: Mutex<Option<thread::Result<T>>>,
}

/// How many threads of the caller's pool do jobs while the others do something else: half of them.
fn background_threads() -> usize {
    rayon::current_num_threads() / 2
}

type BackgroundWork<T> = Box<dyn FnOnce() -> T + Send>;

impl<T: Send + 'static> BackgroundJobs<T> {
    pub const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Adds a job. Where too many wait, this thread does the oldest one.
    pub fn add(&mut self, work: impl FnOnce() -> T + Send + 'static) {
        let job =
            Arc::new(BackgroundJob { work: Mutex::new(Some(Box::new(work))), result: Mutex::new(None) });
        self.0.push_back(Arc::clone(&job));
        let may_wait = background_threads();
        if may_wait > 0 {
            rayon::spawn(move || job.run());
        }
        let mut waiting = self.0.iter().filter(|job| lock_job(&job.work).is_some());
        if let (Some(oldest), true) = (waiting.next(), waiting.count() >= may_wait) {
            oldest.run();
        }
    }

    /// The oldest job's result, if it has ended.
    ///
    /// # Panics
    /// If the job did.
    pub fn next_if_ended(&mut self) -> Option<T> {
        let result = lock_job(&self.0.front()?.result).take()?;
        self.0.pop_front();
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// The oldest job's result, if there is one. Begins all jobs that nobody has, waits for the result and does other work of the pool
    /// meanwhile.
    ///
    /// # Panics
    /// If the job did.
    pub fn next_when_ended(&mut self) -> Option<T> {
        self.0.iter().for_each(|job| job.run());
        while !self.0.is_empty() {
            if let Some(result) = self.next_if_ended() {
                return Some(result);
            }
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                std::hint::spin_loop();
            }
        }
        None
    }
}

impl<T> BackgroundJob<T> {
    /// Does it, unless it has begun.
    fn run(&self) {
        let work = lock_job(&self.work).take();
        if let Some(work) = work {
            *lock_job(&self.result) = Some(catch_unwind(AssertUnwindSafe(work)));
        }
    }
}

fn lock_job<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().expect("nothing panics while it holds a lock")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Runs work in a pool of so many threads.
    fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(work)
    }

    fn rest<T: Send + 'static>(mut overlap: BackgroundJobs<T>) -> Vec<T> {
        std::iter::from_fn(|| overlap.next_when_ended()).collect()
    }

    #[test]
    fn results_come_in_order_on_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let found = on(threads, || {
                let (mut overlap, mut found) = (BackgroundJobs::new(), Vec::new());
                for at in 0..100u64 {
                    found.extend(std::iter::from_fn(|| overlap.next_if_ended()));
                    overlap.add(move || {
                        std::thread::sleep(Duration::from_micros(at * 7 % 50));
                        at
                    });
                }
                found.extend(rest(overlap));
                found
            });
            assert_eq!(found, (0..100).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn no_more_wait_than_there_are_threads_for_them() {
        for threads in [1, 2, 5] {
            let begun = Arc::new(AtomicUsize::new(0));
            on(threads, || {
                let mut overlap = BackgroundJobs::new();
                for added in 1..=50 {
                    let counted = Arc::clone(&begun);
                    overlap.add(move || {
                        counted.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_micros(200));
                    });
                    let begins = begun_within(&begun, added - background_threads().min(added));
                    assert!(begins, "{added} jobs on {threads} threads");
                }
                assert_eq!(rest(overlap).len(), 50);
            });
        }
    }

    /// Whether so many begin; one may be about to on another thread.
    fn begun_within(begun: &AtomicUsize, count: usize) -> bool {
        let since = std::time::Instant::now();
        while begun.load(Ordering::SeqCst) < count && since.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        begun.load(Ordering::SeqCst) >= count
    }

    #[test]
    fn a_job_that_panics_panics_where_its_result_is_asked_for() {
        for threads in [1, 2] {
            on(threads, || {
                let mut overlap = BackgroundJobs::new();
                overlap.add(|| 1);
                overlap.add(|| panic!("the job fails"));
                overlap.add(|| 3);
                assert_eq!(overlap.next_when_ended(), Some(1));
                assert!(catch_unwind(AssertUnwindSafe(|| overlap.next_when_ended())).is_err());
                assert_eq!(overlap.next_when_ended(), Some(3));
                assert_eq!(overlap.next_when_ended(), None);
            });
        }
    }
}
