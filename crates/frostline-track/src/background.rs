//! Trackers on a separate thread, so that training never waits for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use crate::{Ending, Point, Run, TrackError, Tracker};

/// Points that wait for a tracker that is slow; further ones are left out.
const ROOM: usize = 1 << 16;
/// Interval at which trackers write their values.
const PAUSE: Duration = Duration::from_secs(1);
/// How long trackers that are slow may send at the end.
const GRACE: Duration = Duration::from_secs(15);
/// Additional time at the end for a pending request, and for setting unsent values aside.
const REST: Duration = Duration::from_secs(15);

enum TrackMessage {
    Start(Box<Run>),
    Log(String, Point),
    End(String, SystemTime, Ending),
}

/// Passes runs and values to trackers in the background. No call waits or fails. If values cannot be tracked, a
/// function receives a warning, once for each tracker until it works again. Dropping it waits for the trackers:
/// they send for at most 15 seconds, and set the rest aside.
#[derive(Debug)]
pub struct Background {
    sender: Option<Sender<TrackMessage>>,
    /// Points that the thread has not taken yet.
    waiting: Arc<AtomicUsize>,
    /// When trackers stop sending; set at the end.
    until: Arc<OnceLock<Instant>>,
    /// Ends when the thread does.
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the thread. `warn` is called on it.
    #[must_use]
    pub fn start_thread(trackers: Vec<Box<dyn Tracker>>, warn: impl Fn(&str) + Send + 'static) -> Self {
        let (sender, messages) = channel();
        let (alive, ended) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let until = Arc::new(OnceLock::new());
        let (of_thread, until_of_thread) = (waiting.clone(), until.clone());
        let thread = std::thread::spawn(move || {
            let _alive: Sender<()> = alive;
            let trackers =
                trackers.into_iter().map(|tracker| WatchedThread { tracker, failed: false }).collect();
            Thread { trackers, warn, waiting: of_thread, until: until_of_thread }.run(&messages);
        });
        Self { sender: Some(sender), waiting, until, ended, thread: Some(thread) }
    }

    /// Begins a run.
    pub fn start(&self, run: Run) {
        self.send_message(TrackMessage::Start(Box::new(run)));
    }

    /// Passes values on. If too many values are waiting, they are dropped.
    pub fn log(&self, run: &str, point: Point) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < ROOM {
            self.send_message(TrackMessage::Log(run.into(), point));
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Ends a run.
    pub fn end(&self, run: &str, ending: Ending) {
        self.send_message(TrackMessage::End(run.into(), SystemTime::now(), ending));
    }

    fn send_message(&self, message: TrackMessage) {
        // The thread ends after the last message only.
        let _ = self.sender.as_ref().map(|sender| sender.send(message));
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.until.set(Instant::now() + GRACE);
        self.sender = None;
        if self.ended.recv_timeout(GRACE + REST) == Err(RecvTimeoutError::Disconnected)
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

struct WatchedThread {
    tracker: Box<dyn Tracker>,
    failed: bool,
}

struct Thread<W> {
    trackers: Vec<WatchedThread>,
    warn: W,
    waiting: Arc<AtomicUsize>,
    until: Arc<OnceLock<Instant>>,
}

impl<W: Fn(&str)> Thread<W> {
    fn run(&mut self, messages: &Receiver<TrackMessage>) {
        let mut flushed = Instant::now();
        loop {
            let message = messages.recv_timeout(PAUSE.saturating_sub(flushed.elapsed()));
            let over = matches!(message, Err(RecvTimeoutError::Disconnected));
            if let Ok(message) = message {
                if matches!(message, TrackMessage::Log(..)) {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }
                self.call_trackers(|tracker| match &message {
                    TrackMessage::Start(run) => tracker.start(run),
                    TrackMessage::Log(run, point) => tracker.log(run, point),
                    TrackMessage::End(run, at, ending) => tracker.end(run, *at, *ending),
                });
            }
            if over {
                return self.finish();
            }
            // At the end the trackers have their time for all that is left.
            if flushed.elapsed() >= PAUSE && self.until.get().is_none() {
                self.flush();
                flushed = Instant::now();
            }
        }
    }

    fn call_trackers(&mut self, mut call: impl FnMut(&mut dyn Tracker) -> Result<(), TrackError>) {
        for WatchedThread { tracker, failed } in &mut self.trackers {
            if let Err(error) = call(tracker.as_mut())
                && !std::mem::replace(failed, true)
            {
                (self.warn)(&format!("{}: {error}; training continues", tracker.name()));
            }
        }
    }

    /// A tracker that failed is known to work again when it has written all that waits.
    fn flush(&mut self) {
        for WatchedThread { tracker, failed } in &mut self.trackers {
            match tracker.flush() {
                Ok(()) => *failed = false,
                Err(error) if !*failed => {
                    *failed = true;
                    (self.warn)(&format!("{}: {error}; training continues", tracker.name()));
                }
                Err(_) => {}
            }
        }
    }

    fn finish(&mut self) {
        let until = self.until.get().copied().unwrap_or_else(Instant::now);
        for WatchedThread { tracker, .. } in &mut self.trackers {
            if let Err(error) = tracker.finish(until) {
                (self.warn)(&format!("{}: {error}", tracker.name()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use frostline_files::FileError;

    use super::*;
    use crate::tests::{point, run};

    /// A tracker that fails on request.
    struct Fails {
        seen: Arc<Mutex<Vec<u64>>>,
        pause: Duration,
        broken: bool,
    }

    impl Tracker for Fails {
        fn name(&self) -> String {
            "a test".into()
        }

        fn start(&mut self, _: &Run) -> Result<(), TrackError> {
            Ok(())
        }

        fn log(&mut self, _: &str, point: &Point) -> Result<(), TrackError> {
            std::thread::sleep(self.pause);
            self.seen.lock().expect("no panic").push(point.step);
            if self.broken { Err(tracking_error()) } else { Ok(()) }
        }

        fn end(&mut self, _: &str, _: SystemTime, _: Ending) -> Result<(), TrackError> {
            Ok(())
        }

        fn flush(&mut self) -> Result<(), TrackError> {
            if self.broken { Err(tracking_error()) } else { Ok(()) }
        }
    }

    fn tracking_error() -> TrackError {
        FileError::of("file".as_ref())(std::io::Error::other("the disk is full")).into()
    }

    /// Sends this many points to a tracker. Returns the points that it received, and the warnings.
    fn track_points(points: u64, pause: Duration, broken: bool) -> (Vec<u64>, Vec<String>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let (of_tracker, of_thread) = (seen.clone(), warnings.clone());
        let tracker = Fails { seen: of_tracker, pause, broken };
        let background = Background::start_thread(vec![Box::new(tracker)], move |text| {
            of_thread.lock().expect("no panic").push(text.to_string());
        });
        background.start(run(0));
        for step in 0..points {
            background.log(&run(0).id, point(step, 0.0));
        }
        background.end(&run(0).id, Ending::Finished);
        drop(background);
        let seen = seen.lock().expect("no panic").clone();
        let warnings = warnings.lock().expect("no panic").clone();
        (seen, warnings)
    }

    #[test]
    fn all_that_was_told_is_written_before_the_end() {
        let (seen, warnings) = track_points(1000, Duration::ZERO, false);
        assert_eq!((seen, warnings), ((0..1000).collect(), Vec::new()));
    }

    #[test]
    fn a_tracker_that_fails_is_named_at_first_and_at_the_end() {
        let (seen, warnings) = track_points(10, Duration::ZERO, true);
        assert_eq!(seen.len(), 10);
        let first = "a test: file: the disk is full; training continues";
        assert_eq!(warnings, [first, "a test: file: the disk is full"]);
    }

    #[test]
    fn a_slow_tracker_keeps_nobody_waiting() {
        let (seen, warnings) = (Arc::new(Mutex::new(Vec::new())), |_: &str| {});
        let tracker = Fails { seen: seen.clone(), pause: Duration::from_millis(20), broken: false };
        let background = Background::start_thread(vec![Box::new(tracker)], warnings);
        let points = 3 * ROOM as u64;
        for step in 0..points {
            background.log("run", point(step, 0.0));
        }
        // Sending all would take an hour; only the first points wait.
        assert!(background.waiting.load(Ordering::Relaxed) <= ROOM);
        std::mem::forget(background);
    }
}
