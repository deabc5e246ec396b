//! Builds for later steps, made with the lowest priority while earlier steps run, and their Python environments.
//!
//! Many steps keep one core busy or wait for something; the builds of steps that share nothing with others use that time.
//! A step waits for its own build and then makes its calls as ever, so that an error is shown in its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use super::call::CargoCall;
use super::venv::prepare_environment;
use frostline_bench::TimeLimit;
use frostline_sweep::say;
use frostline_sweep::units::format_clock;

/// What a build is started by, so that it takes only what others leave.
const LAST: [&str; 3] = ["nice", "-n", "19"];

/// The lists of packages of the steps after `test`, in the order in which they are needed.
const ENVIRONMENTS: [&str; 8] = [
    "tests/browser/requirements.txt",
    "tests/track/requirements.txt",
    "tests/onnx/requirements.txt",
    "tests/paper/requirements.txt",
    "tests/python-package/tools.txt",
    "tests/python-package/requirements.txt",
    "tests/book/requirements.txt",
    "tests/cuda/requirements.txt",
];

/// The builds of one run, one after the other on a thread of their own. Dropping it ends what is still running.
#[derive(Default)]
pub(super) struct BuildAhead {
    waiting: Vec<(&'static str, Receiver<bool>)>,
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BuildAhead {
    /// Starts to make the Python environments of all later steps. A step that needs one that is not ready waits for it.
    pub fn start_environments(&mut self) {
        let stop = Arc::clone(&self.ended);
        self.threads.push(std::thread::spawn(move || {
            for list in ENVIRONMENTS.iter().take_while(|_| !stop.load(Ordering::SeqCst)) {
                // What fails here fails again in its step, which shows it.
                let _ = prepare_environment(list);
            }
        }));
    }

    /// Starts to build what these steps call.
    pub fn start_builds(steps: Vec<(&'static str, Vec<CargoCall>)>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (mut waiting, mut jobs) = (Vec::new(), Vec::new());
        for (step, calls) in steps {
            let (done, wait) = channel();
            waiting.push((step, wait));
            jobs.push((calls, done));
        }
        let stop = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            for (calls, done) in jobs {
                // What fails here fails again in its step, which shows it.
                let _ = done.send(calls.iter().all(|call| is_built(call, &stop)));
            }
        });
        Self { waiting, ended, threads: vec![thread] }
    }

    /// Returns once this step's build has ended, with whether it succeeded; at once for a step without one.
    pub fn wait_for_step(&mut self, step: &str) -> Option<bool> {
        let place = self.waiting.iter().position(|(name, _)| *name == step)?;
        let (_, done) = self.waiting.swap_remove(place);
        let started = Instant::now();
        let succeeded = done.recv().ok();
        say!("\n== {step}: waited {} for its build", format_clock(started.elapsed().as_secs_f64()));
        succeeded
    }
}

impl Drop for BuildAhead {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Builds what a call runs, unless or until the run has ended.
fn is_built(call: &CargoCall, ended: &AtomicBool) -> bool {
    let has_ended = || ended.load(Ordering::SeqCst);
    let output = TimeLimit::default().output_until(&mut call.build_only().to_command(&LAST), has_ended);
    output.is_ok_and(|output| output.is_some_and(|output| output.status.success()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::call::cargo_call;
    use super::*;

    #[test]
    fn a_step_waits_for_its_own_build_and_the_first_error_is_the_last_call() {
        let builds = vec![
            ("first", vec![cargo_call("--version")]),
            ("second", vec![cargo_call("no-such-command"), cargo_call("--version")]),
        ];
        let mut ahead = BuildAhead::start_builds(builds);
        assert_eq!(ahead.wait_for_step("second"), Some(false));
        assert_eq!(ahead.wait_for_step("first"), Some(true));
        assert_eq!(ahead.wait_for_step("a step without one"), None);
    }
}
