//! Real folders with the records of many cells: shared by several processes, and how long it takes to open one, to show its
//! state, and to report.
//!
//! `cargo test` takes a few cells. Ten thousand, with the figures:
//!
//! ```text
//! FROSTLINE_SIMULATE=all cargo test -p frostline-sweep scale -- --nocapture
//! ```

#[allow(dead_code)]
#[path = "../../frostline-report/tests/report/common.rs"]
pub(crate) mod common;

use std::time::{Duration, Instant};

use frostline_files::claim::{Commit, LEASE};
use frostline_record::{Job, Sweep};
use tempfile::TempDir;

use crate::claims::{ClaimedJobs, ProcessClaims};
use crate::folder::SweepFolder;
use crate::jobs::{JobEnd, Jobs, NextJob};
use crate::{report, status};

/// A sweep of two languages and five policies.
fn large_sweep(seeds: u64) -> (TempDir, Sweep) {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = common::sweep("scale", &common::paper(), seeds, false, "");
    (folder, sweep)
}

/// Returns the milliseconds since an instant.
fn elapsed_ms(since: Instant) -> f64 {
    1e3 * since.elapsed().as_secs_f64()
}

/// Returns the peak memory of this process so far, in MiB; 0 if the system does not report it.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[test]
fn a_folder_of_many_records_is_read_in_seconds() {
    let large = std::env::var("FROSTLINE_SIMULATE").as_deref() == Ok("all");
    let (folder, sweep) = large_sweep(if large { 1000 } else { 4 });
    let claims = ProcessClaims::for_command("a test", LEASE);
    let count = sweep.cells.len();
    let tell = |text: String| {
        if large {
            say!("{text}");
        }
    };
    tell(format!("{count} cells"));

    // Claims and records, one after the other, as by workers that train nothing.
    let clock = Instant::now();
    let open = SweepFolder::open_for_sweep(folder.path(), sweep.clone(), &claims).expect("a new sweep");
    tell(format!("opened as new in {:.0} ms", elapsed_ms(clock)));
    let jobs = open.pending_jobs(None, sweep.plan.checkpoints).expect("all of them");
    let mut jobs = ClaimedJobs::new(&claims, jobs, 0);
    let (mut claiming, clock) = (Duration::ZERO, Instant::now());
    loop {
        let asked = Instant::now();
        let NextJob::Job(job, None) = jobs.next().expect("the disk works") else { break };
        claiming += asked.elapsed();
        assert_eq!(write_record(&job), Commit::Done);
        let asked = Instant::now();
        jobs.close_job(&job, JobEnd::Recorded);
        claiming += asked.elapsed();
    }
    drop((jobs, open));
    tell(format!(
        "claimed in {:.3} ms per cell, claimed and recorded in {:.3} ms",
        1e3 * claiming.as_secs_f64() / count as f64,
        elapsed_ms(clock) / count as f64
    ));

    let before = peak_mib();
    let clock = Instant::now();
    let open = SweepFolder::join_sweep(folder.path(), sweep.cells.clone(), &claims).expect("the same sweep");
    assert_eq!(
        (open.recorded_before(), open.pending_jobs(None, sweep.plan.checkpoints).expect("none").len()),
        (count, 0)
    );
    tell(format!("opened again in {:.0} ms", elapsed_ms(clock)));

    let clock = Instant::now();
    status::print_status(folder.path()).expect("it stands well");
    tell(format!("status in {:.0} ms", elapsed_ms(clock)));

    let clock = Instant::now();
    report::write_report(folder.path(), &claims).expect("a report");
    tell(format!(
        "report in {:.0} ms; peak of memory {} MiB, {before} before the folder was read",
        elapsed_ms(clock),
        peak_mib()
    ));
}

#[test]
fn processes_on_one_folder_record_each_cell_once() {
    let (folder, sweep) = large_sweep(4);
    // Each with claims of its own, as a process has them.
    let take_all = |_| {
        let claims = ProcessClaims::for_command("a test", LEASE);
        let open = SweepFolder::join_sweep(folder.path(), sweep.cells.clone(), &claims).expect("the sweep");
        let listed = open.pending_jobs(None, sweep.plan.checkpoints).expect("some of them");
        let (mut jobs, mut recorded, mut elsewhere) = (ClaimedJobs::new(&claims, listed, 0), 0, 0);
        loop {
            match jobs.next().expect("the disk works") {
                NextJob::Job(job, from) => {
                    assert_eq!((from, write_record(&job)), (None, Commit::Done));
                    jobs.close_job(&job, JobEnd::Recorded);
                    recorded += 1;
                }
                NextJob::Elsewhere(_, error) => {
                    assert_eq!(error, None);
                    elsewhere += 1;
                }
                NextJob::Wait => std::thread::yield_now(),
                NextJob::Finished => return (recorded, open.recorded_before() + elsewhere),
            }
        }
    };
    let found: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|number| scope.spawn(move || take_all(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let cells = sweep.cells.len();
    assert_eq!(found.iter().map(|(recorded, _)| recorded).sum::<usize>(), cells, "{found:?}");
    assert!(found.iter().all(|(recorded, others)| recorded + others == cells), "{found:?}");
}

#[test]
fn a_job_that_is_given_up_is_free_and_one_that_failed_is_run_again_by_the_next_command() {
    let (folder, sweep) = large_sweep(1);
    let [one, other] = [(); 2].map(|()| ProcessClaims::for_command("a test", LEASE));
    let open = SweepFolder::join_sweep(folder.path(), sweep.cells.clone(), &one).expect("the sweep");
    let list = || open.pending_jobs(None, sweep.plan.checkpoints).expect("all of them");
    let next = |jobs: &mut ClaimedJobs<'_>| match jobs.next().expect("the disk works") {
        NextJob::Job(job, _) => *job,
        other => panic!("{other:?}"),
    };
    let mut first = ClaimedJobs::new(&one, list(), 0);
    let job = next(&mut first);
    let mut second = ClaimedJobs::new(&other, list(), 0);
    assert_ne!(next(&mut second).cell.id, job.cell.id, "the first one has that");
    // An end without a word gives all up.
    drop(first);
    drop(second);
    let mut second = ClaimedJobs::new(&other, list(), 0);
    let again = next(&mut second);
    assert_eq!(again.cell.id, job.cell.id);
    // The first one's claim is gone, so nothing of it is recorded.
    assert_eq!(write_record(&job), Commit::Lost);
    let failed = common::failed(&again.cell, "it does not fit");
    failed.write_claimed(again.folder.as_ref(), again.claim.as_ref()).expect("written");
    second.close_job(&again, JobEnd::Failed);
    // Who began before the failure takes it as it is, the next command does not.
    let mut next_command = ClaimedJobs::new(&one, list(), 0);
    assert_eq!(next(&mut next_command).cell.id, job.cell.id);
}

/// Writes the record that a worker would.
fn write_record(job: &Job) -> Commit {
    let record = common::record(&job.cell, &common::paper());
    record.write_claimed(job.folder.as_ref(), job.claim.as_ref()).expect("written")
}
