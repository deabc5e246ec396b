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
pub(super) struct SimulatedServer {
    weather: Weather,
    state: Mutex<ServerState>,
    wake: Vec<Condvar>,
}

struct ServerState {
    now: Duration,
    queue: BinaryHeap<Reverse<(Duration, usize)>>,
    running: Option<usize>,
    /// When each client dies.
    deaths: Vec<Duration>,
    files: HashMap<PathBuf, Vec<FileChange>>,
    operations: u64,
    /// How often a file of each name that ends so was made.
    made: HashMap<PathBuf, u32>,
}

/// A change of a file, the last one last.
struct FileChange {
    at: Duration,
    by: usize,
    /// The file's contents and time; `None` if it was removed.
    file: Option<(Arc<[u8]>, Duration)>,
}

/// How a client ends that dies in the middle.
pub(super) struct Died;

/// Server time zero.
const START: SystemTime = SystemTime::UNIX_EPOCH;

impl SimulatedServer {
    /// A server for clients that die at these times.
    pub(super) fn new(weather: Weather, deaths: Vec<Duration>) -> Arc<Self> {
        let wake = deaths.iter().map(|_| Condvar::new()).collect();
        let queue = (0..deaths.len()).map(|client| Reverse((Duration::ZERO, client))).collect();
        let state = ServerState {
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

    fn lock_state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the first client run.
    pub(super) fn start_first_client(&self) {
        self.hand_over(&mut self.lock_state());
    }

    fn hand_over(&self, state: &mut ServerState) {
        state.running = state.queue.pop().map(|Reverse((at, client))| {
            state.now = state.now.max(at);
            self.wake[client].notify_one();
            client
        });
    }

    /// Returns the time, the number of operations, and how often each record was made.
    pub(super) fn final_figures(&self) -> (Duration, u64, HashMap<PathBuf, u32>) {
        let state = self.lock_state();
        (state.now, state.operations, state.made.clone())
    }
}

/// One client.
#[derive(Clone)]
pub(super) struct Client {
    server: Arc<SimulatedServer>,
    pub number: usize,
}

impl Client {
    pub(super) fn new(server: Arc<SimulatedServer>, number: usize) -> Self {
        Self { server, number }
    }

    /// Waits for the first turn.
    pub(super) fn wait_for_first_turn(&self) {
        self.wait_for_turn(self.server.lock_state());
    }

    /// Lets the others run for good.
    pub(super) fn leave_for_good(&self) {
        self.server.hand_over(&mut self.server.lock_state());
    }

    /// Does nothing for a while.
    pub(super) fn sleep_for(&self, time: Duration) {
        let mut state = self.server.lock_state();
        let at = state.now + time;
        state.queue.push(Reverse((at, self.number)));
        self.server.hand_over(&mut state);
        self.wait_for_turn(state);
    }

    fn wait_for_turn(&self, mut state: MutexGuard<'_, ServerState>) {
        while state.running != Some(self.number) {
            state = self.server.wake[self.number].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.now >= state.deaths[self.number] {
            drop(state);
            std::panic::resume_unwind(Box::new(Died));
        }
    }

    /// A random number that depends on the seed, this client and the operation, in [0, 1).
    fn draw_chance(&self, what: u64, state: &ServerState) -> f64 {
        unit_hash(&[self.server.weather.seed, self.number as u64, state.operations, what])
    }

    /// Takes the time of an operation, then does it.
    fn run_operation<T>(&self, work: impl FnOnce(&mut ServerState) -> T) -> T {
        let weather = &self.server.weather;
        let mut state = self.server.lock_state();
        state.operations += 1;
        let mut takes =
            Duration::from_micros(200) + Duration::from_micros(1800).mul_f64(self.draw_chance(1, &state));
        if self.draw_chance(2, &state) < weather.freezes {
            takes += weather.frozen.mul_f64(self.draw_chance(3, &state));
        }
        drop(state);
        self.sleep_for(takes);
        work(&mut self.server.lock_state())
    }

    /// Returns the time that a file gets now.
    fn next_file_time(&self, state: &ServerState) -> Duration {
        match self.server.weather.broken {
            Broken::ClientsTimes => {
                let skew = self.server.weather.skew;
                state.now + skew.mul_f64(2.0 * unit_hash(&[self.server.weather.seed, self.number as u64]))
            }
            _ => state.now + self.server.weather.skew,
        }
    }

    /// Returns what this client sees: its own changes at once, other clients' changes some time later.
    fn visible_file<'a>(&self, state: &'a ServerState, path: &Path) -> Option<&'a (Arc<[u8]>, Duration)> {
        let late = |change: &FileChange| {
            let parts = [self.server.weather.seed, self.number as u64, change.at.as_nanos() as u64];
            change.at + self.server.weather.late.mul_f64(unit_hash(&parts))
        };
        let changes = state.files.get(path)?;
        let visible = |change: &&FileChange| change.by == self.number || late(change) <= state.now;
        changes.iter().rev().find(visible)?.file.as_ref()
    }

    /// Changes a file on the server.
    fn change_file(&self, state: &mut ServerState, path: &Path, file: Option<(Arc<[u8]>, Duration)>) {
        let (at, late) = (state.now, self.server.weather.late);
        let changes = state.files.entry(path.into()).or_default();
        // A version that all clients see hides all older ones.
        let all_see = changes.iter().rposition(|change| change.at + late <= at).unwrap_or(0);
        changes.drain(..all_see);
        changes.push(FileChange { at, by: self.number, file });
    }

    /// Counts a record that gets its name.
    fn count_record(&self, state: &mut ServerState, path: &Path) {
        if path.ends_with("record") {
            *state.made.entry(path.into()).or_default() += 1;
        }
    }
}

impl ServerState {
    /// Returns what is on the server.
    fn stored_file(&self, path: &Path) -> Option<(Arc<[u8]>, Duration)> {
        self.files.get(path)?.last()?.file.clone()
    }
}

fn missing_file() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl SharedFiles for Client {
    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<SystemTime> {
        self.run_operation(|state| {
            if state.stored_file(path).is_some() {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists));
            }
            let time = self.next_file_time(state);
            self.change_file(state, path, Some((bytes.into(), time)));
            Ok(START + time)
        })
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<bool> {
        self.run_operation(|state| {
            let file = state.stored_file(from).ok_or_else(missing_file)?;
            if state.stored_file(to).is_some() && self.server.weather.broken != Broken::LinkReplaces {
                return Ok(false);
            }
            self.change_file(state, to, Some(file));
            self.count_record(state, to);
            Ok(true)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<bool> {
        self.run_operation(|state| {
            let Some(file) = state.stored_file(from) else { return Ok(false) };
            self.change_file(state, from, None);
            self.change_file(state, to, Some(file));
            self.count_record(state, to);
            Ok(true)
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.run_operation(|state| {
            if state.stored_file(path).is_some() {
                self.change_file(state, path, None);
            }
            Ok(())
        })
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.run_operation(|state| {
            let (bytes, _) = state.stored_file(path).ok_or_else(missing_file)?;
            let time = self.next_file_time(state);
            self.change_file(state, path, Some((bytes, time)));
            Ok(())
        })
    }

    fn look(&self, path: &Path) -> io::Result<Option<Seen>> {
        self.run_operation(|state| {
            let seen = self.visible_file(state, path);
            Ok(seen.map(|(bytes, time)| Seen { bytes: bytes.to_vec(), modified: START + *time }))
        })
    }

    fn elapsed(&self) -> Duration {
        // A separate start, and a rate that is off by up to a tenth of a percent.
        let rate = 0.999 + 0.002 * unit_hash(&[self.server.weather.seed, self.number as u64, 4]);
        Duration::from_secs(self.number as u64) + self.server.lock_state().now.mul_f64(rate)
    }
}

/// A number in [0, 1) that is a function of these.
pub(super) fn unit_hash(parts: &[u64]) -> f64 {
    let mixed = parts.iter().fold(0_u64, |sum, part| {
        let mut mixed = sum.wrapping_add(*part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    });
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}
