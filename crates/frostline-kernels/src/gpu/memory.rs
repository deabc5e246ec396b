//! The most memory of a device that was in use at once, as its allocator counts it.
//!
//! CubeCL's allocator takes pages that are much larger than what is asked for, so what it holds of the device says little
//! about a step. What is in use is exact, but the allocator keeps no peak: each new tensor of these kernels asks for it, while
//! someone watches. Asking waits for the queue, so times of steps that are watched mean nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use burn_cubecl::CubeRuntime;
use cubecl::prelude::ComputeClient;

/// Whether someone watches. It is off otherwise, and then costs one atomic load per tensor.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// The most bytes in use so far. It is one for the process: a worker computes on one device.
static MOST: AtomicU64 = AtomicU64::new(0);

/// Asks the allocator, where someone watches.
pub(super) fn note<R: CubeRuntime>(client: &ComputeClient<R>) {
    if WATCHED.load(Relaxed)
        && let Ok(usage) = client.memory_usage()
    {
        MOST.fetch_max(usage.bytes_in_use + usage.bytes_padding, Relaxed);
    }
}

/// The result of some work, and the most bytes that were in use meanwhile; nothing where the allocator does not tell.
pub(super) fn watched<T>(work: impl FnOnce() -> T) -> (T, Option<u64>) {
    MOST.store(0, Relaxed);
    WATCHED.store(true, Relaxed);
    let result = work();
    WATCHED.store(false, Relaxed);
    (result, Some(MOST.load(Relaxed)).filter(|&most| most > 0))
}
