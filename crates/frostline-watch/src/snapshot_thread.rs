//! Reads a folder repeatedly on a separate thread, so that a slow file system does not block the keys.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use frostline_sweep::{Snapshot, WatchedSweep};

/// A look may take this share of the time at most, so that a folder of many cells on a slow server is not kept busy.
const SHARE: u32 = 5;

/// Snapshots of a folder, until the receiver is dropped.
pub(crate) fn read_snapshots(mut watched: WatchedSweep, every: Duration) -> Receiver<Snapshot> {
    let (to, from) = sync_channel(1);
    thread::spawn(move || {
        loop {
            let began = Instant::now();
            let snapshot = watched.take_snapshot();
            let took = began.elapsed();
            if to.send(snapshot).is_err() {
                return;
            }
            thread::sleep(every.saturating_sub(took).max(took * (SHARE - 1)));
        }
    });
    from
}
