//! The request to stop: the running cell stores where it is after its step, and the worker ends.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the worker has been asked to stop.
pub(crate) static ASKED: AtomicBool = AtomicBool::new(false);

/// Asks the worker to stop.
pub(crate) fn request_stop() {
    ASKED.store(true, Ordering::Relaxed);
}

/// Ends the worker if it has been asked to stop. Call it only when the cell's state is on the disk, or nothing
/// would be lost.
pub(crate) fn end_if_asked() {
    if ASKED.load(Ordering::Relaxed) {
        std::process::exit(0);
    }
}
