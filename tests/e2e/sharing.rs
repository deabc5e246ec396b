//! Several processes on one folder: sweeps and workers take its cells by claims. The tests wait for conditions, never for
//! a fixed time.

use std::process::{Child, Command};
use std::time::Instant;

use frostline_e2e::{Deed, Ended, World, children, start};
use frostline_testing::{Lack, skipped};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::world;

const HANGS: &str = "pcm none seed 1";

/// Starts `sweep` or `work` on the folder `out`; its cells follow the present script.
fn started(world: &World, mut command: Command, deeds: &[(&str, Deed)], script: &str) -> Child {
    let text = serde_json::to_string(&deeds.iter().copied().collect::<std::collections::BTreeMap<_, _>>());
    world.write(script, &text.expect("plain data"));
    start(command.env("FAKE_SCRIPT", world.path(script)))
}

/// Returns a sweep of the world whose third cell hangs, once it does.
fn hanging(world: &World, arguments: &[&str]) -> Child {
    let child = started(world, world.sweep(arguments), &[(HANGS, Deed::Hang)], "hangs.json");
    let metrics = || std::fs::read_to_string(world.cell(HANGS).join("metrics.jsonl")).unwrap_or_default();
    world.wait("the sweep", || world.path("out/sweep.json").exists());
    world.wait("the hanging cell", || metrics().contains("pid"));
    child
}

fn send(process: i32, signal: Signal) {
    kill(Pid::from_raw(process), signal).expect("the signal");
}

fn id(child: &Child) -> i32 {
    child.id().try_into().expect("a process id")
}

#[test]
fn a_second_sweep_runs_what_the_first_does_not_and_takes_over_when_it_dies() {
    let world = world();
    let mut first = hanging(&world, &[]);
    let second = started(&world, world.sweep(&[]), &[], "none.json");
    world.wait("the other cells", || world.records().len() == 7);
    assert!(first.try_wait().expect("its state").is_none(), "the first one is still running");
    send(id(&first), Signal::SIGKILL);
    assert_eq!(Ended::wait(first).code, None);
    let ended = Ended::wait(second);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("waiting   others run the 1 cell that are left"), "{}", ended.err);
    assert!(ended.err.contains("pcm none seed 1: taken over from frostline sweep on"), "{}", ended.err);
    assert_eq!(world.records().len(), 8);
    assert!(world.path("out/report/report.md").exists());
}

#[test]
fn two_sweeps_at_once_both_end_well() {
    let world = world();
    let both = ["one.json", "two.json"].map(|script| started(&world, world.sweep(&[]), &[], script));
    for child in both {
        let ended = Ended::wait(child);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(world.records().len(), 8);
    assert!(world.records().values().all(|record| record.error.is_none()));
}

/// Cells that other processes run belong to them: a process that does not wait ends at once, and not once for
/// each check of them.
#[test]
fn a_worker_that_does_not_wait_leaves_what_others_run() {
    let world = world();
    let mut sweep = hanging(&world, &[]);
    world.wait("the other worker", || {
        let all = started(&world, world.work(&["--no-wait"]), &[], "none.json");
        let ended = Ended::wait(all);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out.contains("left      1 cell that other processes run")
    });
    assert!(sweep.try_wait().expect("its state").is_none(), "the sweep is still running");
    send(id(&sweep), Signal::SIGTERM);
    assert_eq!(Ended::wait(sweep).code, Some(130));
}

#[test]
fn workers_take_the_cells_of_a_sweep_that_was_stopped() {
    let world = world();
    let sweep = hanging(&world, &[]);
    send(id(&sweep), Signal::SIGTERM);
    assert_eq!(Ended::wait(sweep).code, Some(130));
    let records = world.records().len();
    let all: Vec<Child> = ["1.json", "2.json", "3.json"]
        .into_iter()
        .map(|script| started(&world, world.work(&[]), &[], script))
        .collect();
    let mut done = 0;
    for child in all {
        let ended = Ended::wait(child);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains("recorded  8 of 8 cells in out"), "{}", ended.out);
        let here = ended.out.lines().find_map(|line| line.strip_prefix("here      ")).expect("its cells");
        done += here.split(' ').next().and_then(|count| count.parse::<usize>().ok()).expect("a number");
    }
    assert_eq!(records + done, 8, "each cell was run once");
    assert_eq!(world.records().len(), 8);
    let again = Ended::of(&mut world.work(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[test]
fn a_worker_that_is_asked_to_end_gives_its_cell_up_within_seconds() {
    for signal in [Signal::SIGUSR1, Signal::SIGTERM] {
        let world = world();
        let sweep = hanging(&world, &[]);
        let deeds = [("pcm all seed 1", Deed::Hang)];
        let worker = started(&world, world.work(&[]), &deeds, "worker.json");
        let claim = || world.cell("pcm all seed 1").join(".claim");
        world.wait("the worker's cell", || claim().exists());
        let asked = Instant::now();
        send(id(&worker), signal);
        let ended = Ended::wait(worker);
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert!(asked.elapsed().as_secs() < 20, "{ended:?}");
        assert!(ended.out.contains("stopped   "), "{}", ended.out);
        assert!(!claim().exists() && world.cell(HANGS).join(".claim").exists());
        send(id(&sweep), Signal::SIGTERM);
        assert_eq!(Ended::wait(sweep).code, Some(130));
    }
}

/// Engines signal every process of a job, workers before their parent as well as after it.
/// Whether this process, and so every one that it starts, ignores a signal.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (mask >> (signal as i32 - 1)) & 1 == 1
}

#[test]
fn a_signal_that_reaches_workers_first_makes_no_cell_fail() {
    let signals =
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2, Signal::SIGKILL];
    for signal in signals {
        if is_ignored(signal) {
            skipped(Lack::Platform, &format!("{signal} is ignored here, as SIGHUP is under nohup"));
            continue;
        }
        let world = world();
        let sweep = hanging(&world, &[]);
        children(&sweep).iter().for_each(|process| send(*process, signal));
        world.wait("the workers' end", || children(&sweep).is_empty());
        send(id(&sweep), signal);
        let ended = Ended::wait(sweep);
        let wanted = (signal != Signal::SIGKILL).then_some(130);
        assert_eq!(ended.code, wanted, "{signal}: {ended:?}");
        assert!(world.records().values().all(|record| record.error.is_none()), "{signal}: {ended:?}");
        assert!(!world.cell(HANGS).join("record.json").exists(), "{signal}: {ended:?}");
        let rest = Ended::of(&mut world.work(&[]));
        assert_eq!(rest.code, Some(0), "{signal}: {rest:?}");
        assert_eq!(world.records().len(), 8);
    }
}

#[test]
fn a_process_that_was_frozen_records_nothing_that_another_has_taken_over() {
    let world = world();
    let mut frozen = hanging(&world, &["--lease-s", "1"]);
    let all = [children(&frozen), vec![id(&frozen)]].concat();
    all.iter().for_each(|process| send(*process, Signal::SIGSTOP));
    let worker = Ended::wait(started(&world, world.work(&[]), &[], "none.json"));
    assert_eq!(worker.code, Some(0), "{worker:?}");
    assert!(worker.err.contains("pcm none seed 1: taken over from frostline sweep on"), "{}", worker.err);
    let record = || std::fs::read(world.cell(HANGS).join("record.json")).expect("a record");
    let before = record();
    all.iter().for_each(|process| send(*process, Signal::SIGCONT));
    let status = frozen.wait().expect("it ends");
    let ended = Ended::wait(frozen);
    assert_eq!(status.code(), Some(0), "{ended:?}");
    assert!(ended.err.contains("pcm none seed 1: another process has it now"), "{}", ended.err);
    assert!(ended.out.contains("late      1 cell run here too late"), "{}", ended.out);
    assert_eq!(record(), before);
}

#[test]
fn workers_leave_failed_cells_unless_they_are_told_to_run_them_again() {
    let world = world();
    let fails = [("en all seed 2", Deed::Fail)];
    let sweep = Ended::wait(started(&world, world.sweep(&[]), &fails, "fails.json"));
    assert_eq!(sweep.code, Some(1), "{sweep:?}");
    let worker = Ended::of(&mut world.work(&[]));
    assert_eq!(worker.code, Some(1), "{worker:?}");
    assert!(worker.out.contains("1 failed before (--failed runs them again), 0 left"), "{}", worker.out);
    let again = Ended::of(&mut world.work(&["--failed"]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(world.records().values().all(|record| record.error.is_none()));
}

#[test]
fn a_worker_needs_the_program_of_the_sweep() {
    let world = world();
    assert_eq!(Ended::of(&mut world.sweep(&["--seeds", "1"])).code, Some(0));
    let other = Ended::of(world.work(&[]).env("FAKE_CODE", "0123456789abcdef"));
    assert_eq!(other.code, Some(3), "{other:?}");
    assert!(
        other.err.contains("and this one has 0123456789abcdef; use the sweep's program"),
        "{}",
        other.err
    );
    let nothing = Ended::of(&mut world.command(&["work", "nothing", "--runner", "x"]));
    assert_eq!(nothing.code, Some(3), "{nothing:?}");
    assert!(nothing.err.contains("nothing holds no sweep"), "{}", nothing.err);
}

/// Batch systems bind a job to some cores of its node.
#[test]
fn a_worker_computes_with_the_cores_that_it_may_use() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let core = list.and_then(|list| list.trim().split([',', '-']).next());
    let (Some(core), true) = (core, Command::new("taskset").arg("--version").output().is_ok()) else {
        return skipped(Lack::Platform, "a process is bound to a core by taskset");
    };
    let world = world();
    let begun = Ended::of(&mut world.sweep(&["--begin"]));
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let work = world.command(&["work", "out", "--runner", env!("CARGO_BIN_EXE_fake-runner")]);
    let mut bound = Command::new("taskset");
    bound.args(["-c", core]).arg(work.get_program()).args(work.get_args()).current_dir(world.path(""));
    bound.envs(work.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = Ended::of(&mut bound);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let threads: Vec<usize> = world.records().values().map(|record| record.made_by.threads).collect();
    assert_eq!(threads, [1; 8]);
}
