//! Measures what policies cost a training step, after the cells are done: the policies of a language take steps in turns
//! in one process, and each takes a few alone in a process of its own, whose peak of memory is then its own.

use std::path::Path;

use frostline_record::{
    Cell, Measurement, PairedTimes, PrefixCache, Sweep, Switch, TimingJob, TimingSettings,
};

use crate::claims::Claims;
use crate::fault::{Blame as _, Result};
use crate::folder::Folder;
use crate::program::Program;
use crate::study::Study;
use crate::units::{clock, counted};

/// Measures each group of cells that is done and was not measured before. A group that cannot be measured is named, and
/// costs nothing else.
pub(crate) fn measure(
    study: &Study,
    folder: &Folder<'_>,
    program: &Program,
    threads: Option<u32>,
    claims: &Claims,
) -> Result<()> {
    let TimingSettings { paired, limit_s, .. } = study.plan.timing;
    if paired == Switch::Off {
        return Ok(());
    }
    let sweep = Sweep::read(folder.path()).environment()?;
    let groups = sweep.timed_groups(|cell| folder.finished(cell));
    let left: Vec<&Vec<Cell>> = groups.iter().filter(|cells| !is_timed(folder.path(), cells)).collect();
    if left.is_empty() {
        return Ok(());
    }
    // Another sweep of this folder may be measuring the same.
    let _held = claims.hold(&folder.path().join("timings"))?;
    let left: Vec<&Vec<Cell>> = left.into_iter().filter(|cells| !is_timed(folder.path(), cells)).collect();
    if left.is_empty() {
        return Ok(());
    }
    let policies: Vec<usize> = left.iter().map(|cells| cells.len()).collect();
    say!("timing    {}", announcement(&policies, limit_s));
    for cells in left {
        let measured = times(study, cells, program, threads);
        match measured.and_then(|times| Ok(Sweep::write_times(folder.path(), cells, &times)?)) {
            Ok(()) => {}
            Err(error) => note!("the steps of {} were not timed: {error:#}", cells[0].settings.lang),
        }
    }
    Ok(())
}

/// Whether the times of these cells' steps are there and can be used.
fn is_timed(folder: &Path, cells: &[Cell]) -> bool {
    Sweep::read_times(folder, cells).is_ok_and(|times| times.is_some())
}

/// What will be measured, given the number of policies of each group, and how long it takes at most.
fn announcement(policies: &[usize], limit_s: f64) -> String {
    let most = policies.iter().copied().max().unwrap_or(0);
    let comparisons = match policies {
        [_] => format!("1 comparison of {most} policies, at most {} of steps", clock(limit_s)),
        all => format!(
            "{} comparisons of up to {most} policies, at most {} of steps each and {} in all",
            all.len(),
            clock(limit_s),
            clock(all.len() as f64 * limit_s)
        ),
    };
    let runs = counted(policies.iter().sum(), "short run");
    format!("how long a training step takes under each policy: {comparisons}; then {runs} to measure memory")
}

fn times(
    study: &Study,
    cells: &[Cell],
    program: &Program,
    threads: Option<u32>,
) -> anyhow::Result<PairedTimes> {
    let TimingSettings { within_percent, limit_s, .. } = study.plan.timing;
    let PrefixCache { enabled, .. } = study.plan.prefix_cache;
    let job = |cells: &[Cell], measure| TimingJob {
        cells: cells.to_vec(),
        prefix_cache: enabled == Switch::On,
        measure,
    };
    let mut times = program.time(&job(cells, Measurement::Steps { within_percent, limit_s }), threads)?;
    for (policy, cell) in times.policies.iter_mut().zip(cells) {
        let alone = program.time(&job(std::slice::from_ref(cell), Measurement::Memory), threads)?;
        let alone = alone.policies.first();
        policy.peak_rss_mib = alone.and_then(|only| only.peak_rss_mib);
        policy.peak_device_mib = alone.and_then(|only| only.peak_device_mib);
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announcement_says_what_happens_and_how_long_it_takes() {
        let start = "how long a training step takes under each policy:";
        let cases: [(&[usize], f64, &str); 2] = [
            (
                &[5],
                60.0,
                "1 comparison of 5 policies, at most 1:00 of steps; then 5 short runs to measure memory",
            ),
            (
                &[2, 3],
                10.0,
                "2 comparisons of up to 3 policies, at most 0:10 of steps each and 0:20 in all; then 5 short runs to \
                 measure memory",
            ),
        ];
        for (policies, limit_s, expected) in cases {
            assert_eq!(announcement(policies, limit_s), format!("{start} {expected}"));
        }
    }
}
