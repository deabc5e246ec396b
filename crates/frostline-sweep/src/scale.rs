//! A folder with the records of thousands of cells: how long it takes to open it, to say how it stands, and to report.
//!
//! `cargo test` does it with a few. The large one, with its figures:
//!
//! ```text
//! FROSTLINE_SIMULATE=all cargo test -p frostline-sweep scale -- --nocapture
//! ```

#[allow(dead_code)]
#[path = "../../frostline-report/tests/report/common.rs"]
mod common;

use std::time::{Duration, Instant};

use frostline_files::claim::LEASE;
use frostline_record::{Job, Sweep};
use tempfile::TempDir;

use crate::claims::{ClaimedJobs, Claims};
use crate::folder::Folder;
use crate::jobs::{JobEnd, Jobs, NextJob};
use crate::{report, status};

/// A sweep of two languages and five policies.
fn sweep(seeds: u64) -> (TempDir, Sweep) {
    let folder = tempfile::tempdir().expect("a folder");
    let sweep = common::sweep("scale", &common::paper(), seeds, false, "");
    (folder, sweep)
}

/// Milliseconds since then.
fn ms(since: Instant) -> f64 {
    1e3 * since.elapsed().as_secs_f64()
}

/// The highest memory of this process so far, in MiB; 0 where the system does not say.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[test]
fn a_folder_of_many_records_is_read_in_seconds() {
    let large = std::env::var("FROSTLINE_SIMULATE").as_deref() == Ok("all");
    let (folder, sweep) = sweep(if large { 1000 } else { 4 });
    let claims = Claims::of("a test", LEASE);
    let count = sweep.cells.len();
    say!("{count} cells");

    // Claims and records, one after the other, as by workers that train nothing.
    let clock = Instant::now();
    let open = Folder::open(folder.path(), sweep.clone(), &claims).expect("a new sweep");
    say!("opened as new in {:.0} ms", ms(clock));
    let jobs = open.jobs(None, sweep.plan.checkpoints).expect("all of them");
    let mut jobs = ClaimedJobs::new(&claims, jobs, 0);
    let (mut claiming, clock) = (Duration::ZERO, Instant::now());
    loop {
        let asked = Instant::now();
        let NextJob::Job(job, None) = jobs.next().expect("the disk works") else { break };
        claiming += asked.elapsed();
        record(&job);
        let asked = Instant::now();
        jobs.close(&job, JobEnd::Recorded);
        claiming += asked.elapsed();
    }
    drop((jobs, open));
    say!(
        "claimed in {:.3} ms per cell, claimed and recorded in {:.3} ms",
        1e3 * claiming.as_secs_f64() / count as f64,
        ms(clock) / count as f64
    );

    let before = peak_mib();
    let clock = Instant::now();
    let open = Folder::join(folder.path(), sweep.cells.clone(), &claims).expect("the same sweep");
    assert_eq!((open.done(), open.jobs(None, sweep.plan.checkpoints).expect("none").len()), (count, 0));
    say!("opened again in {:.0} ms", ms(clock));

    let clock = Instant::now();
    status::status(folder.path()).expect("it stands well");
    say!("status in {:.0} ms", ms(clock));

    let clock = Instant::now();
    report::write(folder.path(), &claims).expect("a report");
    say!(
        "report in {:.0} ms; peak of memory {} MiB, {before} before the folder was read",
        ms(clock),
        peak_mib()
    );
}

/// Writes the record that a worker would.
fn record(job: &Job) {
    let record = common::record(&job.cell, &common::paper());
    record.write_claimed(job.folder.as_ref(), job.claim.as_ref()).expect("written");
}
