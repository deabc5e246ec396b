//! Measures what policies cost a training step, after the cells are done: the policies of a language take steps in turns
//! in one process, and each takes a few alone in a process of its own, whose peak of memory is then its own.

use frostline_record::{
    Cell, Measurement, PairedTimes, PrefixCache, Sweep, Switch, TimingJob, TimingSettings,
};

use crate::fault::{Blame as _, Result};
use crate::folder::Folder;
use crate::program::Program;
use crate::study::Study;

/// Measures each group of cells that is done and was not measured before. A group that cannot be measured is named, and
/// costs nothing else.
pub(crate) fn measure(study: &Study, folder: &Folder, program: &Program, threads: Option<u32>) -> Result<()> {
    let TimingSettings { paired, limit_s, .. } = study.plan.timing;
    if paired == Switch::Off {
        return Ok(());
    }
    let sweep = Sweep::read(folder.path()).environment()?;
    let groups = sweep.timed_groups(|cell| folder.finished(cell));
    let left: Vec<&Vec<Cell>> =
        groups.iter().filter(|cells| Sweep::read_times(folder.path(), cells).is_none()).collect();
    if left.is_empty() {
        return Ok(());
    }
    let most: usize = left.iter().map(|cells| cells.len()).max().unwrap_or(0);
    let groups =
        if left.len() == 1 { "for at most".into() } else { format!("{} times for at most", left.len()) };
    say!("timing    up to {most} policies take steps in turns, {groups} {limit_s} s");
    for cells in left {
        let measured = times(study, cells, program, threads);
        match measured.and_then(|times| Ok(Sweep::write_times(folder.path(), cells, &times)?)) {
            Ok(()) => {}
            Err(error) => note!("the steps of {} were not timed: {error:#}", cells[0].settings.lang),
        }
    }
    Ok(())
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
        policy.peak_rss_mib = alone.policies.first().and_then(|only| only.peak_rss_mib);
    }
    Ok(times)
}
