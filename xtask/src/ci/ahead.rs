//! Builds for later steps, made with the lowest priority while earlier steps run.
//!
//! Many steps keep one core busy or wait for something; the builds of steps that share nothing with others use that time.
//! A step waits for its own build and then makes its calls as ever, so that an error is shown in its place.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use super::call::Call;
use frostline_sweep::say;
use frostline_sweep::units::clock;

/// What a build is started by, so that it takes only what others leave.
const LAST: [&str; 3] = ["nice", "-n", "19"];

/// The builds of one run, one after the other on a thread of their own. Dropping it ends what is still running.
#[derive(Default)]
pub(super) struct Ahead {
    waiting: Vec<(&'static str, Receiver<()>)>,
    running: Arc<Running>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and its owner share.
#[derive(Default)]
struct Running {
    ended: AtomicBool,
    child: Mutex<Option<Child>>,
}

impl Ahead {
    /// Starts to build what these steps call; their output goes to files in `scratch`.
    pub fn start(steps: Vec<(&'static str, Vec<Call>)>, scratch: PathBuf) -> Self {
        let running = Arc::new(Running::default());
        let mut waiting = Vec::new();
        let mut jobs: Vec<(PathBuf, Vec<Call>, Sender<()>)> = Vec::new();
        for (step, calls) in steps {
            let (done, wait) = channel();
            waiting.push((step, wait));
            jobs.push((scratch.join(format!("build-{step}.txt")), calls, done));
        }
        let shared = Arc::clone(&running);
        let thread = std::thread::spawn(move || {
            for (log, calls, _done) in jobs {
                // What fails here fails again in its step, which shows it.
                let _ = calls.iter().all(|call| shared.build(call, &log));
            }
        });
        Self { waiting, running, thread: Some(thread) }
    }

    /// Returns once this step's build has ended, however it ended; at once for a step without one.
    pub fn wait(&mut self, step: &str) {
        let Some(place) = self.waiting.iter().position(|(name, _)| *name == step) else { return };
        let (_, done) = self.waiting.swap_remove(place);
        let started = Instant::now();
        let _ = done.recv(); // The other end is dropped with its job.
        say!("\n== {step}: waited {} for its build", clock(started.elapsed().as_secs_f64()));
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.running.ended.store(true, Ordering::SeqCst);
        if let Some(child) = self.running.child().as_mut() {
            let _ = child.kill();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Running {
    /// Whether this build succeeded.
    fn build(&self, call: &Call, log: &Path) -> bool {
        let Ok(file) = std::fs::OpenOptions::new().create(true).append(true).open(log) else { return false };
        let Ok(errors) = file.try_clone() else { return false };
        let mut command = call.build().command(&LAST);
        command.stdin(Stdio::null()).stdout(file).stderr(errors);
        {
            // Looked at and set under one lock, so that no build starts after the end.
            let mut child = self.child();
            if self.ended.load(Ordering::SeqCst) {
                return false;
            }
            match command.spawn() {
                Ok(started) => *child = Some(started),
                Err(_) => return false, // No `nice` here: the step builds for itself.
            }
        }
        self.wait()
    }

    /// Waits without holding the lock that ending needs.
    fn wait(&self) -> bool {
        loop {
            let ended = self
                .child()
                .as_mut()
                .is_none_or(|child| child.try_wait().map_or(true, |status| status.is_some()));
            if ended {
                let child = self.child().take();
                return child.is_some_and(|mut child| child.wait().is_ok_and(|status| status.success()));
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::call::call;
    use super::*;

    #[test]
    fn a_step_waits_for_its_own_build_and_the_rest_is_ended() {
        let scratch = std::env::temp_dir().join(format!("frostline-ahead-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).expect("a folder");
        let builds = vec![
            ("first", vec![call("--version")]),
            ("second", vec![call("no-such-command"), call("--version")]),
        ];
        let mut ahead = Ahead::start(builds, scratch.clone());
        ahead.wait("first");
        let first = std::fs::read_to_string(scratch.join("build-first.txt")).expect("its output");
        assert!(first.starts_with("cargo "), "{first}");
        ahead.wait("second");
        let second = std::fs::read_to_string(scratch.join("build-second.txt")).expect("its output");
        assert!(
            second.contains("no-such-command") && !second.contains("cargo 1"),
            "the first error is the last call: {second}"
        );
        ahead.wait("a step without one");
        drop(ahead);
        std::fs::remove_dir_all(&scratch).expect("removed");
    }
}
