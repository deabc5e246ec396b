//! Ctrl-C and kill -9. The tests wait for conditions, never for a fixed time.

use std::os::unix::process::CommandExt as _;
use std::process::Child;

use frostline_e2e::{CellDeed, Ended, World, file_grows, start_captured};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::new_world;

const HANGS: &str = "pcm none seed 1";

fn child_pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().try_into().expect("a process id"))
}

fn send_signal(child: &Child, signal: Signal) {
    kill(child_pid(child), signal).expect("the signal");
}

/// Sends the signal as a terminal does, to the whole foreground process group.
fn ctrl_c(child: &Child) {
    killpg(child_pid(child), Signal::SIGINT).expect("the signal");
}

/// Starts a sweep whose third cell hangs, and waits until it hangs.
fn start_hanging_sweep(deed: CellDeed) -> (World, Child) {
    let world = new_world();
    world.set_script(&[(HANGS, deed)]);
    let child = start_captured(world.sweep_command(&[]).process_group(0));
    let metrics =
        || std::fs::read_to_string(world.cell_folder(HANGS).join("metrics.jsonl")).unwrap_or_default();
    world.wait_until("the sweep", || world.path_of("out/sweep.json").exists());
    world.wait_until("the hanging cell", || metrics().contains("dev"));
    (world, child)
}

#[test]
fn ctrl_c_stops_cleanly_and_the_sweep_can_be_resumed() {
    let (world, child) = start_hanging_sweep(CellDeed::Hang);
    ctrl_c(&child);
    let ended = Ended::wait_for_child(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended.out.contains("stopped   2 cells done, kept in out; the same command again"),
        "{}",
        ended.out
    );
    assert!(!file_grows(&world.cell_folder(HANGS).join("metrics.jsonl")), "the worker is still running");
    assert_eq!(world.records_by_title().len(), 2);
    assert!(!world.cell_folder(HANGS).join("record.json").exists());

    world.set_script(&[]);
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("2 cells here already"), "{}", again.out);
    assert_eq!(world.records_by_title().len(), 8);
}

#[test]
fn ctrl_c_kills_a_worker_that_does_not_end() {
    let (world, child) = start_hanging_sweep(CellDeed::Deaf);
    ctrl_c(&child);
    let ended = Ended::wait_for_child(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(world.records_by_title().len(), 2);
    assert!(!file_grows(&world.cell_folder(HANGS).join("metrics.jsonl")), "the worker is still running");
}

#[test]
fn after_kill_9_no_orphan_writes_and_the_report_is_that_of_an_uninterrupted_sweep() {
    let (world, child) = start_hanging_sweep(CellDeed::Hang);
    send_signal(&child, Signal::SIGKILL);
    assert_eq!(Ended::wait_for_child(child).code, None);
    let metrics = world.cell_folder(HANGS).join("metrics.jsonl");
    world.wait_until("the orphan's end", || !file_grows(&metrics));
    assert!(!world.cell_folder(HANGS).join("record.json").exists());

    world.set_script(&[]);
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("2 cells here already"), "{}", again.out);

    let whole = crate::new_world();
    assert_eq!(Ended::run_to_end(&mut whole.sweep_command(&[])).code, Some(0));
    let page =
        |world: &World| std::fs::read_to_string(world.path_of("out/report/report.md")).expect("a report");
    assert_eq!(page(&world), page(&whole));
}

#[test]
fn a_killed_worker_fails_its_cell() {
    let (world, child) = start_hanging_sweep(CellDeed::Hang);
    let metrics =
        || std::fs::read_to_string(world.cell_folder(HANGS).join("metrics.jsonl")).expect("metrics");
    let worker =
        || metrics().lines().find_map(|line| line.strip_prefix("{\"pid\":")?.strip_suffix('}')?.parse().ok());
    world.wait_until("the worker's id", || worker().is_some());
    let worker = Pid::from_raw(worker().expect("a process id"));
    let group = nix::unistd::getpgid(Some(worker)).expect("its group");
    assert_eq!(group, worker, "Ctrl-C at a terminal must reach xtask alone");
    world.set_script(&[]);
    kill(worker, Signal::SIGKILL).expect("the signal");
    let ended = Ended::wait_for_child(child);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let records = world.records_by_title();
    assert_eq!(records.len(), 8);
    let error = records[HANGS].error.as_deref().expect("an error");
    assert!(error.contains("signal 9"), "{error}");
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("7 cells here already"), "{}", again.out);
}

#[test]
fn what_was_left_after_a_record_is_removed_unless_somebody_holds_the_cell() {
    let world = crate::new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    let cell = world.cell_folder("en none seed 1");
    let (left, mine) = (cell.join("record.json.0123456789abcdef.part"), cell.join("record.json.part"));
    for path in [&left, &mine] {
        std::fs::write(path, "{}").expect("a file");
    }
    let again = Ended::run_to_end(&mut world.sweep_command(&[]));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.out.contains("8 cells here already"), "{}", again.out);
    assert!(!left.exists() && mine.exists() && cell.join("record.json").exists());
}
