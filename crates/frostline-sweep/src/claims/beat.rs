//! Keeps claims alive: a thread touches them while their work is done.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use frostline_files::claim::{Claimant, Disk, WorkClaim};

/// How often a claim is touched within its lease: some touches may be late or fail.
pub(super) const TOUCHES: u32 = 6;

/// The claims of this process.
#[derive(Debug)]
pub(crate) struct Beats {
    claimant: Arc<Claimant<Disk>>,
    kept: Arc<Mutex<HashMap<PathBuf, KeptClaim>>>,
    /// Held while a claim is touched or given up: one that is given up in the middle of a touch would come back.
    touching: Arc<Mutex<()>>,
    /// Dropped to end the thread.
    alive: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct KeptClaim {
    claim: WorkClaim,
    lost: bool,
}

impl Beats {
    /// Starts the thread that touches the claims that will be added.
    pub(crate) fn start_touching(claimant: Arc<Claimant<Disk>>) -> Self {
        let kept = Arc::new(Mutex::new(HashMap::new()));
        let touching = Arc::new(Mutex::new(()));
        let (alive, ended) = channel();
        let pause = (claimant.me().lease / TOUCHES).max(Duration::from_millis(10));
        let (of_thread, claims, turn) = (claimant.clone(), kept.clone(), touching.clone());
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                touch_claims(&of_thread, &claims, &turn);
            }
        });
        Self { claimant, kept, touching, alive: Some(alive), thread: Some(thread) }
    }

    /// Keeps a claim alive from now on.
    pub(crate) fn add_claim(&self, claim: WorkClaim) {
        lock_claims(&self.kept).insert(claim.file.clone(), KeptClaim { claim, lost: false });
    }

    /// Whether a claim has passed to another process.
    pub(crate) fn is_lost(&self, file: &Path) -> bool {
        lock_claims(&self.kept).get(file).is_some_and(|kept| kept.lost)
    }

    /// Stops touching a claim without removing it.
    pub(crate) fn leave_claim(&self, file: &Path) {
        lock_claims(&self.kept).remove(file);
    }

    /// Gives a claim up. If that fails, the claim becomes free once it is old.
    pub(crate) fn release_claim(&self, file: &Path) {
        let _turn = self.touching.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock_claims(&self.kept).remove(file);
        if let Some(kept) = kept {
            let _ = self.claimant.release(&kept.claim);
        }
    }
}

/// Claims that are still held are given up.
impl Drop for Beats {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for (_, kept) in lock_claims(&self.kept).drain() {
            let _ = self.claimant.release(&kept.claim);
        }
    }
}

fn lock_claims(kept: &Mutex<HashMap<PathBuf, KeptClaim>>) -> MutexGuard<'_, HashMap<PathBuf, KeptClaim>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Touches all claims. A file server that does not answer now may do so the next time.
fn touch_claims(claimant: &Claimant<Disk>, kept: &Mutex<HashMap<PathBuf, KeptClaim>>, touching: &Mutex<()>) {
    let claims: Vec<WorkClaim> = lock_claims(kept).values().map(|kept| kept.claim.clone()).collect();
    for claim in claims {
        let _turn = touching.lock().unwrap_or_else(PoisonError::into_inner);
        if !lock_claims(kept).contains_key(&claim.file) {
            continue;
        }
        // Without the lock on all: the file server may take its time.
        if let Ok(false) = claimant.keep(&claim)
            && let Some(kept) = lock_claims(kept).get_mut(&claim.file).filter(|kept| kept.claim == claim)
        {
            kept.lost = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use frostline_files::claim::{Attempt, CLAIM, Owner};

    use super::*;

    /// Waits until a condition holds, for at most a minute.
    fn wait(what: &str, holds: impl Fn() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_claim_is_kept_until_it_is_lost_and_then_known_to_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(CLAIM);
        let me = Owner::this_process("a test", Duration::from_millis(200));
        let claimant = Arc::new(Claimant::new(Disk, me));
        let Attempt::Claimed(claim, _) = claimant.attempt(&file).expect("the disk works") else {
            panic!("nobody else is there");
        };
        let modified = || file.metadata().and_then(|found| found.modified()).ok();
        let first = modified();
        let beats = Beats::start_touching(claimant.clone());
        beats.add_claim(claim);
        wait("a touch", || modified() > first);
        assert!(!beats.is_lost(&file));
        // A thief's claim in its place is noticed, and left alone.
        std::fs::write(folder.path().join("other"), "token of another\n").expect("written");
        std::fs::rename(folder.path().join("other"), &file).expect("stolen");
        wait("the loss", || beats.is_lost(&file));
        drop(beats);
        assert!(file.exists());
    }

    #[test]
    fn what_is_still_held_at_the_end_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(CLAIM);
        let claimant = Arc::new(Claimant::new(Disk, Owner::this_process("a test", Duration::from_secs(60))));
        for (ends, is_there) in
            [(Beats::leave_claim as fn(&Beats, &Path), true), (Beats::release_claim, false)]
        {
            let _ = std::fs::remove_file(&file);
            let beats = Beats::start_touching(claimant.clone());
            let Ok(Attempt::Claimed(claim, _)) = claimant.attempt(&file) else { panic!("nobody else") };
            beats.add_claim(claim);
            ends(&beats, &file);
            drop(beats);
            assert_eq!(file.exists(), is_there);
        }
        let _ = std::fs::remove_file(&file);
        let beats = Beats::start_touching(claimant.clone());
        let Ok(Attempt::Claimed(claim, _)) = claimant.attempt(&file) else { panic!("nobody else") };
        beats.add_claim(claim);
        drop(beats);
        assert!(!file.exists());
    }
}
