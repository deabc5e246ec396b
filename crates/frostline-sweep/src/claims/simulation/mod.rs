//! Many workers on one folder, with the code that claims, chooses and records cells, and cells that train nothing.
//! Workers die, freeze and touch their claims late; their clocks are off; what they see of the folder is late.
//!
//! `cargo test` simulates a small sweep with several seeds. The large one, with its figures:
//!
//! ```text
//! FROSTLINE_SIMULATE=all cargo test -p frostline-sweep simulation -- --nocapture
//! ```

mod server;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use frostline_files::claim::{Claimant, Commit, LEASE, Owner, SharedFiles as _, WorkClaim, commit};

use super::beat::TOUCHES;
use super::pull::{CellStatus, Cells, NextCell, Pull};
use server::{Broken, Client, Died, SimulatedServer, Weather, unit_hash};

/// What is simulated.
#[derive(Clone, Copy, Debug)]
struct SimulatedPlan {
    cells: usize,
    workers: usize,
    /// The share of workers that die before the end.
    deaths: f64,
    /// A cell takes from so long to twice as long.
    cell: Duration,
    /// The share of touches that are late, by up to one and a half leases.
    late_touches: f64,
    weather: Weather,
}

/// What came of it.
#[derive(Debug, Default, PartialEq)]
struct SimulatedFigures {
    /// How often each cell's record was made.
    made: Vec<u32>,
    /// Cells that were taken over from a worker that had died or seemed to.
    taken_over: usize,
    /// Cells that were run in vain, by what ended that: the next touch, or the record.
    lost: usize,
    late: usize,
    died: usize,
    /// Operations on files.
    operations: u64,
    /// Virtual time.
    took: Duration,
    /// The time that all cells take.
    work: Duration,
}

/// The folders of the cells, which a client looks at.
struct SimulatedFolder {
    client: Client,
    folders: Arc<Vec<PathBuf>>,
}

impl Cells for SimulatedFolder {
    fn cell_folder(&self, cell: usize) -> &Path {
        &self.folders[cell]
    }

    fn cell_state(&self, cell: usize) -> CellStatus {
        match self.client.look(&self.folders[cell].join("record")) {
            Ok(Some(_)) => CellStatus::Recorded,
            _ => CellStatus::Open,
        }
    }

    fn create_folder(&self, _cell: usize) -> io::Result<()> {
        Ok(())
    }
}

/// One worker.
struct SimulatedWorker<'a> {
    plan: &'a SimulatedPlan,
    client: Client,
    claimant: Arc<Claimant<Client>>,
    cells: SimulatedFolder,
    figures: &'a Mutex<SimulatedFigures>,
}

impl SimulatedPlan {
    fn draw_chance(&self, parts: &[u64]) -> f64 {
        unit_hash(&[&[self.weather.seed], parts].concat())
    }

    /// Returns how long a cell takes.
    fn cell_time(&self, cell: usize) -> Duration {
        self.cell.mul_f64(1.0 + self.draw_chance(&[5, cell as u64]))
    }

    /// Runs the sweep until no worker has anything left to do.
    fn simulate_sweep(&self) -> SimulatedFigures {
        let work: Duration = (0..self.cells).map(|cell| self.cell_time(cell)).sum();
        let dies = (self.workers as f64 * self.deaths).round() as usize;
        // Within what the sweep takes without deaths.
        let death = |worker: usize| match worker < dies {
            true => (work / self.workers as u32).mul_f64(self.draw_chance(&[6, worker as u64])),
            false => Duration::MAX,
        };
        let server = SimulatedServer::new(self.weather, (0..self.workers).map(death).collect());
        let folders: Arc<Vec<_>> = Arc::new((0..self.cells).map(|cell| format!("{cell}").into()).collect());
        let figures = Mutex::new(SimulatedFigures::default());
        std::thread::scope(|scope| {
            for number in 0..self.workers {
                let client = Client::new(server.clone(), number);
                let (folders, figures) = (folders.clone(), &figures);
                let run = move || SimulatedWorker::new(self, client, folders, figures).work_until_death();
                let thread = std::thread::Builder::new().stack_size(1 << 18);
                thread.spawn_scoped(scope, run).expect("a thread");
            }
            server.start_first_client();
        });
        let mut figures = figures.into_inner().expect("no worker panicked");
        let made;
        (figures.took, figures.operations, made) = server.final_figures();
        let count = |folder: &PathBuf| made.get(&folder.join("record")).copied().unwrap_or(0);
        figures.made = folders.iter().map(count).collect();
        figures.work = work;
        figures
    }
}

impl<'a> SimulatedWorker<'a> {
    fn new(
        plan: &'a SimulatedPlan,
        client: Client,
        folders: Arc<Vec<PathBuf>>,
        figures: &'a Mutex<SimulatedFigures>,
    ) -> Self {
        // Nothing is known about processes of other machines. The token is only for the eye; claims draw their own.
        let me = Owner {
            lease: LEASE,
            host: format!("node{}", client.number),
            machine: String::new(),
            ..Owner::this_process("a simulated worker", LEASE)
        };
        let claimant = Arc::new(Claimant::new(client.clone(), me));
        let cells = SimulatedFolder { client: client.clone(), folders };
        Self { plan, client, claimant, cells, figures }
    }

    fn update_figures(&self, add: impl FnOnce(&mut SimulatedFigures)) {
        add(&mut self.figures.lock().expect("no worker panicked"));
    }

    /// Works until nothing is left or it dies.
    fn work_until_death(&self) {
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.client.wait_for_first_turn();
            self.run_cells();
        }));
        if let Err(why) = lived {
            if !why.is::<Died>() {
                std::panic::resume_unwind(why);
            }
            self.update_figures(|figures| figures.died += 1);
        }
        self.client.leave_for_good();
    }

    fn run_cells(&self) {
        let (count, number) = (self.plan.cells, self.client.number as u64);
        let first = (self.plan.draw_chance(&[7, number]) * count as f64) as usize;
        let mut pull = Pull::new(self.claimant.clone(), (0..count).map(|at| (at + first) % count));
        loop {
            match pull.next(&self.cells).expect("the server answers") {
                NextCell::Take(cell, claim, from) => {
                    self.update_figures(|figures| figures.taken_over += usize::from(from.is_some()));
                    if !self.run_cell(cell, &claim) {
                        pull.put_back(cell, self.claimant.me().clone());
                    }
                }
                NextCell::Settled(..) => {}
                NextCell::Wait => self.client.sleep_for(Duration::from_secs(1)),
                NextCell::Finished => return,
            }
        }
    }

    /// Runs a cell and touches its claim meanwhile. Returns whether the cell is recorded.
    fn run_cell(&self, cell: usize, claim: &WorkClaim) -> bool {
        let mut left = self.plan.cell_time(cell);
        let mut beat = 0;
        while !left.is_zero() {
            let slept = left.min(LEASE / TOUCHES);
            self.client.sleep_for(slept);
            left -= slept;
            beat += 1;
            let drawn = |what| self.plan.draw_chance(&[what, self.client.number as u64, cell as u64, beat]);
            if drawn(8) < self.plan.late_touches {
                self.client.sleep_for(LEASE.mul_f64(1.5 * drawn(9)));
            }
            if !self.claimant.keep(claim).expect("the server answers") {
                self.update_figures(|figures| figures.lost += 1);
                return false;
            }
        }
        self.record_cell(cell, claim)
    }

    fn record_cell(&self, cell: usize, claim: &WorkClaim) -> bool {
        let folder = self.cells.cell_folder(cell);
        let part = folder.join(format!("record.{}.part", self.client.number));
        self.client.create(&part, b"").expect("it is its own");
        // As with real records, one that exists but is not visible yet counts.
        let counts = || true;
        let commit = commit(&self.client, claim, &part, &folder.join("record"), counts);
        let done = commit.expect("the server answers") == Commit::Done;
        self.update_figures(|figures| figures.late += usize::from(!done));
        done
    }
}

/// Returns weather in which everything goes wrong a little.
fn stormy_weather(seed: u64) -> Weather {
    Weather {
        seed,
        late: Duration::from_secs(30),
        freezes: 1e-5,
        frozen: Duration::from_secs(600),
        skew: Duration::from_secs(600),
        broken: Broken::No,
    }
}

fn small_plan(weather: Weather) -> SimulatedPlan {
    SimulatedPlan {
        cells: 200,
        workers: 20,
        deaths: 0.2,
        cell: Duration::from_secs(90),
        late_touches: 0.02,
        weather,
    }
}

impl SimulatedFigures {
    fn are_once(&self) -> bool {
        self.made.iter().all(|count| *count == 1)
    }

    fn print_figures(&self, plan: &SimulatedPlan, real: Duration) {
        let cells = plan.cells as f64;
        let per_cell = self.operations as f64 / cells;
        let Self { taken_over, lost, late, died, .. } = self;
        say!(
            "{} cells on {} workers, {died} of which died: each recorded {}",
            plan.cells,
            plan.workers,
            if self.are_once() { "exactly once" } else { "NOT ONCE" }
        );
        say!("{taken_over} taken over; run in vain: {lost} noticed by a touch, {late} at the record");
        say!(
            "{per_cell:.0} operations on files per cell; {:.1} % longer than {} workers that never wait; {:.0} us of this \
             machine's time per cell",
            100.0 * (self.took.as_secs_f64() * plan.workers as f64 / self.work.as_secs_f64() - 1.0),
            plan.workers,
            1e6 * real.as_secs_f64() / cells
        );
    }
}

#[test]
fn every_cell_is_recorded_exactly_once_whatever_happens() {
    let (mut taken_over, mut in_vain) = (0, 0);
    for seed in 0..6 {
        let weather = Weather { freezes: 3e-4, ..stormy_weather(seed) };
        let figures = small_plan(weather).simulate_sweep();
        assert!(figures.are_once(), "seed {seed}: {figures:?}");
        assert_eq!(figures.died, 4);
        taken_over += figures.taken_over;
        in_vain += figures.lost + figures.late;
    }
    // It was no calm weather.
    assert!(taken_over > 20 && in_vain > 5, "{taken_over} taken over, {in_vain} run in vain");
}

#[test]
fn a_seed_decides_all_that_happens() {
    assert_eq!(
        small_plan(stormy_weather(11)).simulate_sweep(),
        small_plan(stormy_weather(11)).simulate_sweep()
    );
}

#[test]
fn nothing_is_run_in_vain_where_nobody_freezes() {
    let weather = Weather { freezes: 0.0, ..stormy_weather(1) };
    let figures = SimulatedPlan { late_touches: 0.0, ..small_plan(weather) }.simulate_sweep();
    assert!(figures.are_once());
    assert_eq!((figures.lost, figures.late), (0, 0), "{figures:?}");
    // What had begun is all that the dead cost.
    assert!(figures.taken_over <= figures.died, "{figures:?}");
}

#[test]
fn a_broken_server_is_noticed() {
    let broken = |broken| small_plan(Weather { broken, ..stormy_weather(2) }).simulate_sweep();
    // Clocks of clients that are minutes off make live workers look dead; each cell is still recorded once.
    let figures = broken(Broken::ClientsTimes);
    assert!(figures.are_once() && figures.lost + figures.late > 20, "{figures:?}");
    // Who freezes between the check of its claim and its record.
    let weather = Weather { freezes: 0.02, broken: Broken::LinkReplaces, ..stormy_weather(2) };
    assert!(!small_plan(weather).simulate_sweep().are_once());
    assert!(small_plan(Weather { broken: Broken::No, ..weather }).simulate_sweep().are_once());
}

#[test]
fn ten_thousand_cells_on_two_hundred_workers() {
    let large = std::env::var("FROSTLINE_SIMULATE").as_deref() == Ok("all");
    let plan = match large {
        true => SimulatedPlan {
            cells: 10_000,
            workers: 200,
            deaths: 0.05,
            cell: Duration::from_secs(300),
            late_touches: 0.001,
            weather: stormy_weather(3),
        },
        // A small part of it, which takes a second.
        false => SimulatedPlan { cells: 400, workers: 40, deaths: 0.05, ..small_plan(stormy_weather(3)) },
    };
    let started = Instant::now();
    let figures = plan.simulate_sweep();
    if large {
        figures.print_figures(&plan, started.elapsed());
    }
    assert!(figures.are_once(), "{figures:?}");
}
