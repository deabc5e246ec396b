//! Memory that an input takes: an allocator that counts, and the limit.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that are in use, the most since [`measure_peak`] began, and the most that may be.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, counting bytes. It ends the process when an input needs more than [`allowed_bytes`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter;

/// Returns how much memory the reader of an input may take: four times the input, and 64 MiB.
///
/// # Units
/// Bytes.
#[must_use]
pub const fn allowed_bytes(input: usize) -> usize {
    4 * input + (64 << 20)
}

/// Calls a function, and returns the peak of additional memory in use, in bytes. It is 0 if [`Meter`] is not
/// the program's allocator. Make one call at a time: all threads count.
///
/// The process ends if the peak exceeds `limit`.
pub fn measure_peak(limit: usize, call: impl FnOnce()) -> usize {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    LIMIT.store(before.saturating_add(limit), Relaxed);
    call();
    LIMIT.store(usize::MAX, Relaxed);
    MOST.load(Relaxed).saturating_sub(before)
}

fn add_bytes(bytes: usize) {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(now, Relaxed);
    if now > LIMIT.load(Relaxed) {
        LIMIT.store(usize::MAX, Relaxed);
        let _ =
            writeln!(std::io::stderr(), "memory: {now} bytes in use, which is over the limit for this input");
        // Not a panic: an allocator must not unwind.
        std::process::abort();
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting allocates only to report a fault.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add_bytes(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add_bytes(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add_bytes(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
