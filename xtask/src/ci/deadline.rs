//! The end of a run's time: what a step has started is ended when the step is still running long after it.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use frostline_sweep::say;

/// How long after the run's time a step may still run, in minutes.
const GRACE: f64 = 5.0;

/// How long processes have between the signal that asks them to end and the one that ends them.
const PATIENCE: Duration = Duration::from_secs(15);

/// The limit of one step. Dropping it calls it off.
pub(super) struct Deadline {
    over: Arc<AtomicBool>,
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Deadline {
    /// The limit of a step that begins `elapsed` minutes after the run, of which `limit` minutes are wanted.
    pub fn of_step(elapsed: f64, limit: u32) -> Self {
        let left = (f64::from(limit) + GRACE - elapsed).max(0.0);
        Self::end_children(std::process::id(), Duration::from_secs_f64(60.0 * left))
    }

    /// Ends the processes below this one after a time, and those that it starts later too.
    fn end_children(parent: u32, left: Duration) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (ended, has_ended) = channel::<()>();
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut wait = left;
            let mut signal = "-INT";
            while has_ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if !is_over.swap(true, Ordering::SeqCst) {
                    say!("\nthe run's time is over: this step is ended");
                } else if signal == "-INT" {
                    signal = "-KILL";
                }
                let processes = processes_below(parent);
                if !processes.is_empty() {
                    let _ = Command::new("kill").arg(signal).args(processes).output();
                }
                wait = if signal == "-INT" { PATIENCE } else { Duration::from_secs(1) };
            }
        });
        Self { over, ended: Some(ended), thread: Some(thread) }
    }

    /// Whether the time is over, so that what the step says does not count.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The processes that a process has started, directly or not, as Linux lists them; none elsewhere.
fn processes_below(parent: u32) -> Vec<String> {
    let mut pairs = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // `pid (name) state parent …`, where a name may hold anything.
        let above: Option<u32> =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        if let (Ok(process), Some(above)) = (entry.file_name().to_string_lossy().parse::<u32>(), above) {
            pairs.push((process, above));
        }
    }
    let mut below = vec![parent];
    let mut at = 0;
    while let Some(parent) = below.get(at).copied() {
        below.extend(pairs.iter().filter(|(_, above)| *above == parent).map(|(process, _)| *process));
        at += 1;
    }
    below.iter().skip(1).map(u32::to_string).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_a_late_step_started_is_ended_and_the_rest_goes_on() {
        let mut shell = Command::new("sh").args(["-c", "sleep 600; exit 3"]).spawn().expect("a shell");
        let mut other = Command::new("sleep").arg("600").spawn().expect("another process");
        let deadline = Deadline::end_children(shell.id(), Duration::from_millis(50));
        assert_eq!(shell.wait().expect("its end").code(), Some(3));
        assert!(deadline.is_over());
        assert!(other.try_wait().expect("its state").is_none(), "it is not below the shell");
        other.kill().and_then(|()| other.wait()).expect("its end");
    }

    #[test]
    fn a_step_that_ends_in_time_is_left_alone() {
        let mut shell = Command::new("sh").args(["-c", "exit 3"]).spawn().expect("a shell");
        let deadline = Deadline::end_children(shell.id(), Duration::from_secs(600));
        assert_eq!(shell.wait().expect("its end").code(), Some(3));
        assert!(!deadline.is_over());
    }
}
