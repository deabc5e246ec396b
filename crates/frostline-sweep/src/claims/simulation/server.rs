//! A file server in memory with many clients, in virtual time: names change at once on the server, and are seen late by
//! the others.
//!
//! Each client is a thread, of which exactly one runs: the one whose time is earliest. So a run depends on its seed alone.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use frostline_files::claim::{Seen, SharedFiles};

/// What is wrong with the clients and the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub seed: u64,
    /// The longest time until a change is seen by another client.
    pub late: Duration,
    /// The share of operations before which a client freezes, for up to `frozen`.
    pub freezes: f64,
    pub frozen: Duration,
    /// How far the clocks of clients are off. Only a broken server looks at them.
    pub skew: Duration,
    pub broken: Broken,
}

/// A server with a fault, to see that the simulation notices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Broken {
    No,
    /// It gives files the client's time instead of its own.
    ClientsTimes,
    /// `link` replaces a file of the new name.
    LinkReplaces,
}

/// The server, and who runs next.
pub(super) struct Server {
    weather: Weather,
    state: Mutex<State>,
    wake: Vec<Condvar>,
}

struct State {
    now: Duration,
    queue: BinaryHeap<Reverse<(Duration, usize)>>,
    running: Option<usize>,
    /// When each client dies.
    deaths: Vec<Duration>,
    files: HashMap<PathBuf, Vec<Change>>,
    operations: u64,
    /// How often a file of each name that ends so was made.
    made: HashMap<PathBuf, u32>,
}

/// A change of a file, the last one last.
struct Change {
    at: Duration,
    by: usize,
    /// Its contents and time; nothing where it was removed.
    file: Option<(Arc<[u8]>, Duration)>,
}

/// How a client ends that dies in the middle.
pub(super) struct Died;

/// Server time zero.
const START: SystemTime = SystemTime::UNIX_EPOCH;

impl Server {
    /// A server for clients that die at these times.
    pub(super) fn new(weather: Weather, deaths: Vec<Duration>) -> Arc<Self> {
        let wake = deaths.iter().map(|_| Condvar::new()).collect();
        let queue = (0..deaths.len()).map(|client| Reverse((Duration::ZERO, client))).collect();
        let state = State {
            now: Duration::ZERO,
            queue,
            running: None,
            deaths,
            files: HashMap::new(),
            operations: 0,
            made: HashMap::new(),
        };
        Arc::new(Self { weather, state: Mutex::new(state), wake })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the first client run.
    pub(super) fn start(&self) {
        self.hand_over(&mut self.state());
    }

    fn hand_over(&self, state: &mut State) {
        state.running = state.queue.pop().map(|Reverse((at, client))| {
            state.now = state.now.max(at);
            self.wake[client].notify_one();
            client
        });
    }

    /// The time, the operations so far, and how often each record was made.
    pub(super) fn result(&self) -> (Duration, u64, HashMap<PathBuf, u32>) {
        let state = self.state();
        (state.now, state.operations, state.made.clone())
    }
}

/// One client.
#[derive(Clone)]
pub(super) struct Client {
    server: Arc<Server>,
    pub number: usize,
}

impl Client {
    pub(super) fn new(server: Arc<Server>, number: usize) -> Self {
        Self { server, number }
    }

    /// Waits for the first turn.
    pub(super) fn begin(&self) {
        self.wait(self.server.state());
    }

    /// Lets the others run for good.
    pub(super) fn end(&self) {
        self.server.hand_over(&mut self.server.state());
    }

    /// Does nothing for a while.
    pub(super) fn sleep(&self, time: Duration) {
        let mut state = self.server.state();
        let at = state.now + time;
        state.queue.push(Reverse((at, self.number)));
        self.server.hand_over(&mut state);
        self.wait(state);
    }

    fn wait(&self, mut state: MutexGuard<'_, State>) {
        while state.running != Some(self.number) {
            state = self.server.wake[self.number].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.now >= state.deaths[self.number] {
            drop(state);
            std::panic::resume_unwind(Box::new(Died));
        }
    }

    /// A random number that depends on the seed, this client and the operation, in [0, 1).
    fn chance(&self, what: u64, state: &State) -> f64 {
        unit(&[self.server.weather.seed, self.number as u64, state.operations, what])
    }

    /// Takes the time of an operation, then does it.
    fn operate<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let weather = &self.server.weather;
        let mut state = self.server.state();
        state.operations += 1;
        let mut takes =
            Duration::from_micros(200) + Duration::from_micros(1800).mul_f64(self.chance(1, &state));
        if self.chance(2, &state) < weather.freezes {
            takes += weather.frozen.mul_f64(self.chance(3, &state));
        }
        drop(state);
        self.sleep(takes);
        work(&mut self.server.state())
    }

    /// The time that a file gets now.
    fn time(&self, state: &State) -> Duration {
        match self.server.weather.broken {
            Broken::ClientsTimes => {
                let skew = self.server.weather.skew;
                state.now + skew.mul_f64(2.0 * unit(&[self.server.weather.seed, self.number as u64]))
            }
            _ => state.now + self.server.weather.skew,
        }
    }

    /// What this client sees: its own changes at once, those of others some time later.
    fn seen<'a>(&self, state: &'a State, path: &Path) -> Option<&'a (Arc<[u8]>, Duration)> {
        let late = |change: &Change| {
            let parts = [self.server.weather.seed, self.number as u64, change.at.as_nanos() as u64];
            change.at + self.server.weather.late.mul_f64(unit(&parts))
        };
        let changes = state.files.get(path)?;
        let visible = |change: &&Change| change.by == self.number || late(change) <= state.now;
        changes.iter().rev().find(visible)?.file.as_ref()
    }

    /// Changes a file on the server.
    fn change(&self, state: &mut State, path: &Path, file: Option<(Arc<[u8]>, Duration)>) {
        let (at, late) = (state.now, self.server.weather.late);
        let changes = state.files.entry(path.into()).or_default();
        // Nobody sees what was before one that all see.
        let all_see = changes.iter().rposition(|change| change.at + late <= at).unwrap_or(0);
        changes.drain(..all_see);
        changes.push(Change { at, by: self.number, file });
    }

    /// A record that gets its name is counted.
    fn count(&self, state: &mut State, path: &Path) {
        if path.ends_with("record") {
            *state.made.entry(path.into()).or_default() += 1;
        }
    }
}

impl State {
    /// What is on the server.
    fn there(&self, path: &Path) -> Option<(Arc<[u8]>, Duration)> {
        self.files.get(path)?.last()?.file.clone()
    }
}

fn missing() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl SharedFiles for Client {
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<SystemTime> {
        self.operate(|state| {
            if state.there(path).is_some() {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists));
            }
            let time = self.time(state);
            self.change(state, path, Some((bytes.into(), time)));
            Ok(START + time)
        })
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<bool> {
        self.operate(|state| {
            let file = state.there(from).ok_or_else(missing)?;
            if state.there(to).is_some() && self.server.weather.broken != Broken::LinkReplaces {
                return Ok(false);
            }
            self.change(state, to, Some(file));
            self.count(state, to);
            Ok(true)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<bool> {
        self.operate(|state| {
            let Some(file) = state.there(from) else { return Ok(false) };
            self.change(state, from, None);
            self.change(state, to, Some(file));
            self.count(state, to);
            Ok(true)
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.operate(|state| {
            if state.there(path).is_some() {
                self.change(state, path, None);
            }
            Ok(())
        })
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.operate(|state| {
            let (bytes, _) = state.there(path).ok_or_else(missing)?;
            let time = self.time(state);
            self.change(state, path, Some((bytes, time)));
            Ok(())
        })
    }

    fn look(&self, path: &Path) -> io::Result<Option<Seen>> {
        self.operate(|state| {
            let seen = self.seen(state, path);
            Ok(seen.map(|(bytes, time)| Seen { bytes: bytes.to_vec(), modified: START + *time }))
        })
    }

    fn elapsed(&self) -> Duration {
        // Its own beginning, and a rate that is off by up to a tenth of a percent.
        let rate = 0.999 + 0.002 * unit(&[self.server.weather.seed, self.number as u64, 4]);
        Duration::from_secs(self.number as u64) + self.server.state().now.mul_f64(rate)
    }
}

/// A number in [0, 1) that is a function of these.
pub(super) fn unit(parts: &[u64]) -> f64 {
    let mixed = parts.iter().fold(0_u64, |sum, part| {
        let mut mixed = sum.wrapping_add(*part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    });
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}
