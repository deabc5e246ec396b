//! Measures what policies cost a training step, after the cells are done: the policies of a language take steps in turns
//! in one process, and each takes a few alone in a process of its own, whose peak of memory is then its own.

use std::path::Path;

use frostline_record::{
    Cell, Measurement, PairedTimes, PrefixCache, Sweep, Switch, TimingJob, TimingSettings,
};

use crate::claims::ProcessClaims;
use crate::fault::{Blame as _, CommandResult};
use crate::folder::SweepFolder;
use crate::program::Program;
use crate::study::PlannedStudy;
use crate::units::{count_noun, format_clock};

/// Measures each group of cells that is done and was not measured before. A group that cannot be measured is named, and
/// costs nothing else.
pub(crate) fn measure_groups(
    study: &PlannedStudy,
    folder: &SweepFolder<'_>,
    program: &Program,
    threads: Option<u32>,
    claims: &ProcessClaims,
) -> CommandResult<()> {
    let TimingSettings { paired, limit_s, .. } = study.plan.timing;
    if paired == Switch::Off {
        return Ok(());
    }
    let sweep = Sweep::read(folder.path()).blame_environment()?;
    let groups = sweep.timed_groups(|cell| folder.is_recorded(cell));
    let left: Vec<&Vec<Cell>> = groups.iter().filter(|cells| !is_timed(folder.path(), cells)).collect();
    if left.is_empty() {
        return Ok(());
    }
    // Another sweep of this folder may be measuring the same.
    let _held = claims.hold_folder(&folder.path().join("timings"))?;
    let left: Vec<&Vec<Cell>> = left.into_iter().filter(|cells| !is_timed(folder.path(), cells)).collect();
    if left.is_empty() {
        return Ok(());
    }
    let policies: Vec<usize> = left.iter().map(|cells| cells.len()).collect();
    say!("timing    {}", announce_groups(&policies, limit_s));
    for cells in left {
        let measured = measure_group(study, cells, program, threads);
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
fn announce_groups(policies: &[usize], limit_s: f64) -> String {
    let most = policies.iter().copied().max().unwrap_or(0);
    let comparisons = match policies {
        [_] => format!("1 comparison of {most} policies, at most {} of steps", format_clock(limit_s)),
        all => format!(
            "{} comparisons of up to {most} policies, at most {} of steps each and {} in all",
            all.len(),
            format_clock(limit_s),
            format_clock(all.len() as f64 * limit_s)
        ),
    };
    let runs = count_noun(policies.iter().sum(), "short run");
    format!("how long a training step takes under each policy: {comparisons}; then {runs} to measure memory")
}

fn measure_group(
    study: &PlannedStudy,
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
    let mut times =
        program.measure_times(&job(cells, Measurement::Steps { within_percent, limit_s }), threads)?;
    for (policy, cell) in times.policies.iter_mut().zip(cells) {
        let alone = program.measure_times(&job(std::slice::from_ref(cell), Measurement::Memory), threads)?;
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
            assert_eq!(announce_groups(policies, limit_s), format!("{start} {expected}"));
        }
    }
}
