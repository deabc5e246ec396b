//! `cargo xtask bench`: measures frostline and its peers in turns on the same data. The steps are in [`fn@bench`].
//!
//! It times only whole processes itself; each side reports the times of its steps. A side that did not run is
//! not shown.

mod agenda;
mod compare;
mod device;
mod grid;
mod limits;
mod machine;
pub(crate) mod measure;
mod ours;
mod page;
mod peer;
mod places;
mod process;
mod rounds;
mod spread;
mod stored;
mod tables;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum as _;

pub(crate) use crate::bench::device::DeviceSteps;
pub(crate) use crate::bench::machine::load;
use crate::bench::measure::Suite;
pub(crate) use crate::bench::ours::Scratch;
pub(crate) use crate::bench::process::last_lines;

use crate::args::BenchArgs;
use crate::bench::agenda::{Agenda, Only, Task};
use crate::bench::ours::Ours;
use crate::bench::peer::Peer;
use crate::bench::rounds::Rounds;
use crate::bench::stored::{Machine, Measured, Run, SCHEMA};
use crate::build::{Profile, prepare};
use frostline_sweep::Ending;
use frostline_sweep::Program;
use frostline_sweep::fault::{Blame as _, Result, environment};
use frostline_sweep::say;

use crate::limit::Limit;
use crate::workspace;

/// How much is measured, the same for both sides.
#[derive(Debug)]
pub(crate) struct Pace {
    pub rounds: u32,
    pub steps: u32,
    pub warmup: u32,
    pub batch: u32,
    pub threads: u32,
    /// The instruction set that both sides are held to: what `FROSTLINE_ISA` says.
    pub isa: Option<String>,
    /// How many of a sweep's seeds the peer runs; its times count for all of them.
    pub peer_seeds: usize,
    /// When all of it has to end.
    pub limit: Limit,
}

impl Pace {
    /// Sentences of a task's steps.
    pub(crate) const fn batch_of(&self, task: &Task) -> u32 {
        if task.scale.batch == 0 { self.batch } else { task.scale.batch }
    }
}

/// Measures, and shows and stores the results.
pub(crate) fn bench(args: &BenchArgs) -> Result<Ending> {
    if args.render {
        return render_again();
    }
    // Before the build and the training of taggers, which add to the load.
    let load = load();
    let suites = suites(args);
    let pace = pace(args);
    let mut encoders = places::encoders(&args.encoder, args.models.as_ref())?;
    let treebanks = places::treebanks(args.data.as_ref(), &suites)?;
    let agenda =
        Agenda::new(&suites, &encoders, Only { policies: &args.policies, comparisons: &args.comparisons })?;
    let peer = args.python.as_ref().map(|python| Peer::new(python, &pace)).transpose()?;
    let runner = prepare(args.backend, args.runner.as_deref(), Profile::Release)?;
    let peer = peer.map(|peer| peer.beside(runner.backend)).transpose()?;
    let ours = Ours::new(&runner, &pace, &suites)?;
    // Kept until the end, since it contains the taggers.
    let _taggers = ours.train_taggers(&agenda, &mut encoders, &treebanks)?;

    let (started, machine) = (machine::now(), machine::describe(&runner.about.device, load));
    let mut rounds = Rounds::new(&agenda, &encoders, &treebanks, &ours, peer.as_ref());
    let mut measured = Measured::default();
    for number in 1..=pace.rounds {
        rounds.run(number, pace.rounds);
        let run = run(args, &pace, &machine, &runner, &rounds);
        let runs = BTreeMap::from([(started.clone(), run)]);
        measured = Measured { schema: SCHEMA, runs, rows: rounds.rows(&started) };
        // After every round, since the user may not wait for the last one.
        keep_raw(&measured, &started).environment()?;
    }
    let failed = measured.rows.iter().any(|row| row.ours.failed || row.peer.failed);

    show(&measured);
    say!("raw       {}", frostline_sweep::shown(&raw(&started)));
    if args.write {
        publish(measured).environment()?;
    }
    Ok(if failed { Ending::Failed } else { Ending::Done })
}

/// A description of this run so far.
fn run(args: &BenchArgs, pace: &Pace, machine: &Machine, runner: &Program, rounds: &Rounds<'_>) -> Run {
    Run {
        command: command(args, pace),
        rounds: pace.rounds,
        steps: pace.steps,
        warmup: pace.warmup,
        batch: if args.only == [Suite::Device] { 0 } else { pace.batch },
        threads: pace.threads,
        backend: runner.backend.to_string(),
        machine: machine.clone(),
        runner: about(runner),
        peer: rounds.versions(),
        gemm_gflops: rounds.gemm(),
        checks: Vec::new(),
    }
}

/// The requested suites, each once and in order; sweeps, tagging, starts and GPUs only if they are named.
fn suites(args: &BenchArgs) -> Vec<Suite> {
    let mut suites = args.only.clone();
    if suites.is_empty() {
        suites = vec![Suite::Steps, Suite::Reading, Suite::Runs];
    }
    suites.sort();
    suites.dedup();
    suites
}

fn pace(args: &BenchArgs) -> Pace {
    Pace {
        rounds: args.rounds,
        steps: args.steps,
        warmup: args.warmup,
        batch: args.batch,
        threads: args.threads.unwrap_or_else(cores),
        isa: std::env::var("FROSTLINE_ISA").ok().filter(|isa| !isa.is_empty()),
        peer_seeds: args.peer_seeds.map_or(usize::MAX, |seeds| seeds as usize),
        limit: Limit::default(),
    }
}

/// The threads of each side where nothing says how many.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// The command with placeholders for paths.
fn command(args: &BenchArgs, pace: &Pace) -> String {
    let isa = pace.isa.iter().map(|isa| format!("FROSTLINE_ISA={isa}"));
    let mut parts: Vec<String> = isa.chain(["cargo xtask bench".into()]).collect();
    let mut put = |given: bool, text: String| parts.extend(given.then_some(text));
    let name = |suite: &Suite| suite.to_possible_value().map(|value| value.get_name().to_string());
    let names: Vec<String> = args.only.iter().filter_map(name).collect();
    put(args.data.is_some(), "--data DIR".into());
    put(args.models.is_some(), "--models DIR".into());
    let encoders: Vec<&str> = args
        .encoder
        .iter()
        .map(|name| name.trim_end_matches('/').rsplit('/').next().unwrap_or(name))
        .collect();
    put(!encoders.is_empty(), format!("--encoder {}", encoders.join(",")));
    put(args.python.is_some(), "--python PY".into());
    put(!names.is_empty(), format!("--only {}", names.join(",")));
    put(!args.policies.is_empty(), format!("--policies {}", args.policies.join(",")));
    put(!args.comparisons.is_empty(), format!("--comparisons {}", args.comparisons.join(",")));
    put(true, format!("--rounds {} --steps {} --warmup {}", args.rounds, args.steps, args.warmup));
    put(args.batch != 16, format!("--batch {}", args.batch));
    put(args.threads.is_some(), format!("--threads {}", args.threads.unwrap_or(0)));
    put(args.peer_seeds.is_some(), format!("--peer-seeds {}", args.peer_seeds.unwrap_or(0)));
    put(args.backend != frostline_sweep::Backend::Flex, format!("--backend {}", args.backend));
    put(args.write, "--write".into());
    parts.join(" ")
}

fn about(runner: &Program) -> BTreeMap<String, String> {
    let about = &runner.about;
    [("version", &about.version), ("code", &about.code), ("isa", &about.isa), ("revision", &runner.revision)]
        .map(|(name, value)| (name.to_string(), value.clone()))
        .into()
}

fn show(measured: &Measured) {
    for table in tables::tables(measured) {
        say!("\n{}: {}\n{}", table.suite.title(), table.title, table.grid.plain().trim_end());
    }
    say!("");
}

/// All measurements, including those that the page leaves out.
fn keep_raw(measured: &Measured, started: &str) -> anyhow::Result<()> {
    let path = raw(started);
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(frostline_files::write(&path, measured.text().as_bytes())?)
}

/// The file of this run's raw measurements.
fn raw(started: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| workspace::root().join("target"));
    target.join("bench").join(format!("bench-{started}.json"))
}

/// Adds the new measurements to the stored ones, and renders the page.
fn publish(new: Measured) -> anyhow::Result<()> {
    let path = docs("benchmarks.json");
    let mut stored = Measured::read(&path)?;
    for left in stored.update(new) {
        say!("left      {left}");
    }
    frostline_files::write(&path, stored.text().as_bytes())?;
    say!("stored    {}", frostline_sweep::shown(&path));
    write_page(&stored)
}

fn render_again() -> Result<Ending> {
    let stored = Measured::read(&docs("benchmarks.json")).environment()?;
    if stored.rows.is_empty() {
        return environment("docs/benchmarks.json holds no measurements; measure with --write first");
    }
    write_page(&stored).environment()?;
    Ok(Ending::Done)
}

fn write_page(stored: &Measured) -> anyhow::Result<()> {
    let path = docs("benchmarks.md");
    frostline_files::write(&path, page::render(stored).as_bytes())?;
    say!("page      {}", frostline_sweep::shown(&path));
    Ok(())
}

fn docs(name: &str) -> PathBuf {
    workspace::root().join("docs").join(name)
}
