//! Several processes on one folder: sweeps and workers take its cells by claims. The tests wait for conditions, never for
//! a fixed time.

use std::process::{Child, Command};
use std::time::Instant;

use frostline_e2e::{CellDeed, Ended, World, child_processes, start_captured};
use frostline_testing::{Lack, skipped};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::new_world;

const HANGS: &str = "pcm none seed 1";

/// Starts `sweep` or `work` on the folder `out`; its cells follow the present script.
fn start_scripted(world: &World, mut command: Command, deeds: &[(&str, CellDeed)], script: &str) -> Child {
    let text = serde_json::to_string(&deeds.iter().copied().collect::<std::collections::BTreeMap<_, _>>());
    world.write_file(script, &text.expect("plain data"));
    start_captured(command.env("FAKE_SCRIPT", world.path_of(script)))
}

/// Returns a sweep of the world whose third cell hangs, once it does.
fn start_hanging_sweep(world: &World, arguments: &[&str]) -> Child {
    let child =
        start_scripted(world, world.sweep_command(arguments), &[(HANGS, CellDeed::Hang)], "hangs.json");
    let metrics =
        || std::fs::read_to_string(world.cell_folder(HANGS).join("metrics.jsonl")).unwrap_or_default();
    world.wait_until("the sweep", || world.path_of("out/sweep.json").exists());
    world.wait_until("the hanging cell", || metrics().contains("pid"));
    child
}

fn send_signal(process: i32, signal: Signal) {
    kill(Pid::from_raw(process), signal).expect("the signal");
}

fn process_id(child: &Child) -> i32 {
    child.id().try_into().expect("a process id")
}

#[test]
fn a_second_sweep_runs_what_the_first_does_not_and_takes_over_when_it_dies() {
    let world = new_world();
    let mut first = start_hanging_sweep(&world, &[]);
    let second = start_scripted(&world, world.sweep_command(&[]), &[], "none.json");
    world.wait_until("the other cells", || world.records_by_title().len() == 7);
    assert!(first.try_wait().expect("its state").is_none(), "the first one is still running");
    send_signal(process_id(&first), Signal::SIGKILL);
    assert_eq!(Ended::wait_for_child(first).code, None);
    let ended = Ended::wait_for_child(second);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("waiting   others run the 1 cell that are left"), "{}", ended.err);
    assert!(ended.err.contains("pcm none seed 1: taken over from frostline sweep on"), "{}", ended.err);
    assert_eq!(world.records_by_title().len(), 8);
    assert!(world.path_of("out/report/report.md").exists());
}

#[test]
fn two_sweeps_at_once_both_end_well() {
    let world = new_world();
    let both =
        ["one.json", "two.json"].map(|script| start_scripted(&world, world.sweep_command(&[]), &[], script));
    for child in both {
        let ended = Ended::wait_for_child(child);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(world.records_by_title().len(), 8);
    assert!(world.records_by_title().values().all(|record| record.error.is_none()));
}

/// Cells that other processes run belong to them: a process that does not wait ends at once, and not once for
/// each check of them.
#[test]
fn a_worker_that_does_not_wait_leaves_what_others_run() {
    let world = new_world();
    let mut sweep = start_hanging_sweep(&world, &[]);
    world.wait_until("the other worker", || {
        let all = start_scripted(&world, world.work_command(&["--no-wait"]), &[], "none.json");
        let ended = Ended::wait_for_child(all);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.out.contains("left      1 cell that other processes run")
    });
    assert!(sweep.try_wait().expect("its state").is_none(), "the sweep is still running");
    send_signal(process_id(&sweep), Signal::SIGTERM);
    assert_eq!(Ended::wait_for_child(sweep).code, Some(130));
}

#[test]
fn workers_take_the_cells_of_a_sweep_that_was_stopped() {
    let world = new_world();
    let sweep = start_hanging_sweep(&world, &[]);
    send_signal(process_id(&sweep), Signal::SIGTERM);
    assert_eq!(Ended::wait_for_child(sweep).code, Some(130));
    let records = world.records_by_title().len();
    let all: Vec<Child> = ["1.json", "2.json", "3.json"]
        .into_iter()
        .map(|script| start_scripted(&world, world.work_command(&[]), &[], script))
        .collect();
    let mut done = 0;
    for child in all {
        let ended = Ended::wait_for_child(child);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains("recorded  8 of 8 cells in out"), "{}", ended.out);
        let here = ended.out.lines().find_map(|line| line.strip_prefix("here      ")).expect("its cells");
        done += here.split(' ').next().and_then(|count| count.parse::<usize>().ok()).expect("a number");
    }
    assert_eq!(records + done, 8, "each cell was run once");
    assert_eq!(world.records_by_title().len(), 8);
    let again = Ended::run_to_end(&mut world.work_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[test]
fn a_worker_that_is_asked_to_end_gives_its_cell_up_within_seconds() {
    for signal in [Signal::SIGUSR1, Signal::SIGTERM] {
        let world = new_world();
        let sweep = start_hanging_sweep(&world, &[]);
        let deeds = [("pcm all seed 1", CellDeed::Hang)];
        let worker = start_scripted(&world, world.work_command(&[]), &deeds, "worker.json");
        let claim = || world.cell_folder("pcm all seed 1").join(".claim");
        world.wait_until("the worker's cell", || claim().exists());
        let asked = Instant::now();
        send_signal(process_id(&worker), signal);
        let ended = Ended::wait_for_child(worker);
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert!(asked.elapsed().as_secs() < 20, "{ended:?}");
        assert!(ended.out.contains("stopped   "), "{}", ended.out);
        assert!(!claim().exists() && world.cell_folder(HANGS).join(".claim").exists());
        send_signal(process_id(&sweep), Signal::SIGTERM);
        assert_eq!(Ended::wait_for_child(sweep).code, Some(130));
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
        let world = new_world();
        let sweep = start_hanging_sweep(&world, &[]);
        child_processes(&sweep).iter().for_each(|process| send_signal(*process, signal));
        world.wait_until("the workers' end", || child_processes(&sweep).is_empty());
        send_signal(process_id(&sweep), signal);
        let ended = Ended::wait_for_child(sweep);
        let wanted = (signal != Signal::SIGKILL).then_some(130);
        assert_eq!(ended.code, wanted, "{signal}: {ended:?}");
        assert!(
            world.records_by_title().values().all(|record| record.error.is_none()),
            "{signal}: {ended:?}"
        );
        assert!(!world.cell_folder(HANGS).join("record.json").exists(), "{signal}: {ended:?}");
        let rest = Ended::run_to_end(&mut world.work_command(&[]));
        assert_eq!(rest.code, Some(0), "{signal}: {rest:?}");
        assert_eq!(world.records_by_title().len(), 8);
    }
}

#[test]
fn a_process_that_was_frozen_records_nothing_that_another_has_taken_over() {
    let world = new_world();
    let mut frozen = start_hanging_sweep(&world, &["--lease-s", "1"]);
    let all = [child_processes(&frozen), vec![process_id(&frozen)]].concat();
    all.iter().for_each(|process| send_signal(*process, Signal::SIGSTOP));
    let worker = Ended::wait_for_child(start_scripted(&world, world.work_command(&[]), &[], "none.json"));
    assert_eq!(worker.code, Some(0), "{worker:?}");
    assert!(worker.err.contains("pcm none seed 1: taken over from frostline sweep on"), "{}", worker.err);
    let record = || std::fs::read(world.cell_folder(HANGS).join("record.json")).expect("a record");
    let before = record();
    all.iter().for_each(|process| send_signal(*process, Signal::SIGCONT));
    let status = frozen.wait().expect("it ends");
    let ended = Ended::wait_for_child(frozen);
    assert_eq!(status.code(), Some(0), "{ended:?}");
    assert!(ended.err.contains("pcm none seed 1: another process has it now"), "{}", ended.err);
    assert!(ended.out.contains("late      1 cell run here too late"), "{}", ended.out);
    assert_eq!(record(), before);
}

#[test]
fn workers_leave_failed_cells_unless_they_are_told_to_run_them_again() {
    let world = new_world();
    let fails = [("en all seed 2", CellDeed::Fail)];
    let sweep = Ended::wait_for_child(start_scripted(&world, world.sweep_command(&[]), &fails, "fails.json"));
    assert_eq!(sweep.code, Some(1), "{sweep:?}");
    let worker = Ended::run_to_end(&mut world.work_command(&[]));
    assert_eq!(worker.code, Some(1), "{worker:?}");
    assert!(worker.out.contains("1 failed before (--failed runs them again), 0 left"), "{}", worker.out);
    let again = Ended::run_to_end(&mut world.work_command(&["--failed"]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(world.records_by_title().values().all(|record| record.error.is_none()));
}

#[test]
fn a_worker_needs_the_program_of_the_sweep() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&["--seeds", "1"])).code, Some(0));
    let other = Ended::run_to_end(world.work_command(&[]).env("FAKE_CODE", "0123456789abcdef"));
    assert_eq!(other.code, Some(3), "{other:?}");
    assert!(
        other.err.contains("and this one has 0123456789abcdef; use the sweep's program"),
        "{}",
        other.err
    );
    let nothing = Ended::run_to_end(&mut world.xtask_command(&["work", "nothing", "--runner", "x"]));
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
    let world = new_world();
    let begun = Ended::run_to_end(&mut world.sweep_command(&["--begin"]));
    assert_eq!(begun.code, Some(0), "{begun:?}");
    let work = world.xtask_command(&["work", "out", "--runner", env!("CARGO_BIN_EXE_fake-runner")]);
    let mut bound = Command::new("taskset");
    bound.args(["-c", core]).arg(work.get_program()).args(work.get_args()).current_dir(world.path_of(""));
    bound.envs(work.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = Ended::run_to_end(&mut bound);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let threads: Vec<usize> =
        world.records_by_title().values().map(|record| record.made_by.threads).collect();
    assert_eq!(threads, [1; 8]);
}
