//! kill -9 of xtask and of a worker in the middle of a real sweep.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use frostline_e2e::child_processes;
use frostline_testing::{Lack, skipped};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{SweepPlace, read_records, repeatable_part};

const PLAN: &str = "--lang en --policies none,all,first-2 --seeds 42,43 --set train.epochs=3 --jobs 1";

fn wait_for(what: &str, mut found: impl FnMut() -> bool) {
    let start = Instant::now();
    while !found() {
        assert!(start.elapsed() < Duration::from_secs(300), "{what} never came");
        std::thread::yield_now();
    }
}

fn record_times(out: &Path) -> BTreeMap<String, SystemTime> {
    let cells = std::fs::read_dir(out.join("cells")).into_iter().flatten().flatten();
    let stamp = |cell: std::fs::DirEntry| {
        let written = std::fs::metadata(cell.path().join("record.json")).ok()?.modified().ok()?;
        Some((cell.file_name().to_string_lossy().into_owned(), written))
    };
    cells.filter_map(stamp).collect()
}

/// Stops a sweep's worker, and resumes it if it is not in the middle of a cell.
fn stop_worker(sweep: &Child, out: &Path) -> bool {
    let Some(worker) = child_processes(sweep).first().copied().map(Pid::from_raw) else { return false };
    kill(worker, Signal::SIGSTOP).expect("it runs");
    wait_for("its stop", || process_state(worker).as_deref() == Some("T"));
    let cells = std::fs::read_dir(out.join("cells")).into_iter().flatten().flatten();
    let has = |cell: &std::fs::DirEntry, file: &str| cell.path().join(file).exists();
    let begun = cells.filter(|cell| has(cell, "metrics.jsonl") && !has(cell, "record.json")).count();
    if begun == 0 {
        kill(worker, Signal::SIGCONT).expect("it is stopped");
    }
    begun > 0
}

/// Returns whether a process has ended; if its parent does not wait for it, it remains as a zombie.
fn has_ended(process: Pid) -> bool {
    process_state(process).is_none_or(|state| state == "Z" || state == "X")
}

/// Returns the state of a process, as reported by the system.
fn process_state(process: Pid) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(stat.rsplit(')').next()?.split_whitespace().next()?.to_string())
}

/// A runner's command ends with its sweep, even if the sweep cannot notify it.
#[test]
fn a_killed_sweep_leaves_nothing_that_times_steps() {
    if !Path::new("/proc/self/stat").exists() {
        return skipped(Lack::Platform, "processes are found in /proc");
    }
    let place = SweepPlace::new();
    let plan = place.path_inside("plan.toml");
    let demo = std::fs::read_to_string("../configs/demo.toml").expect("the demo's plan");
    std::fs::write(
        &plan,
        demo.replace("limit_s = 10.0", "limit_s = 600.0\nwithin_percent = 0.01")
            .replace("epochs = 6", "epochs = 1"),
    )
    .expect("a plan");
    let words = format!("--lang en --policies none,all --seeds 42 --plan {}", plan.display());
    let mut sweep = place.timed_sweep(&words).stdout(Stdio::piped()).spawn().expect("xtask");
    // The workers that ran cells have ended by then.
    let mut lines =
        BufReader::new(sweep.stdout.take().expect("a pipe")).lines().map(|line| line.expect("text"));
    assert!(lines.any(|line| line.starts_with("timing    ")), "the sweep has ended");
    let mut timer = None;
    wait_for("what times steps", || {
        timer = child_processes(&sweep).first().copied();
        timer.is_some()
    });
    sweep.kill().expect("kill -9");
    sweep.wait().expect("its end");
    wait_for("the end of what times steps", || has_ended(Pid::from_raw(timer.expect("it was found"))));
}

#[test]
fn a_killed_sweep_is_resumed() {
    if !Path::new("/proc/self/stat").exists() {
        return skipped(Lack::Platform, "workers are found through /proc");
    }
    let reference: Vec<String> = SweepPlace::new().run_sweep(PLAN).iter().map(repeatable_part).collect();
    let place = SweepPlace::new();
    let out = place.out_folder();
    let start = || {
        place
            .sweep_command(PLAN)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .expect("xtask")
    };

    // xtask dies; its worker must die with it and write nothing more.
    let mut sweep = start();
    wait_for("two records", || record_times(&out).len() >= 2);
    let workers: Vec<Pid> = child_processes(&sweep).into_iter().map(Pid::from_raw).collect();
    assert!(!workers.is_empty());
    sweep.kill().expect("kill -9");
    sweep.wait().expect("its end");
    wait_for("the workers' end", || workers.iter().all(|&worker| has_ended(worker)));
    let before = record_times(&out);
    assert!(before.len() < 6, "killed too late");

    // A worker dies in the middle of a cell: that cell fails with a record, the others are done.
    let mut sweep = start();
    wait_for("a worker in the middle of a cell", || {
        record_times(&out).len() > before.len() && stop_worker(&sweep, &out)
    });
    for worker in child_processes(&sweep) {
        kill(Pid::from_raw(worker), Signal::SIGKILL).expect("it waits for it");
    }
    assert_eq!(sweep.wait().expect("its end").code(), Some(1));
    let failed = read_records(&out).iter().filter(|record| record.error.is_some()).count();
    assert_eq!((failed, read_records(&out).len()), (1, 6));

    // The same command finishes: earlier records are unchanged, and all results equal an undisturbed sweep's.
    let finished = place.run_sweep(PLAN);
    let after = record_times(&out);
    assert!(before.iter().all(|(cell, written)| after[cell] == *written), "finished cells are not run again");
    assert_eq!(finished.iter().map(repeatable_part).collect::<Vec<_>>(), reference);
}
