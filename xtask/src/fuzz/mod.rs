//! `cargo xtask fuzz`: builds the targets of `tests/fuzz` with coverage counters, and runs libFuzzer over them.
//!
//! Inputs that reach new code are kept in `target/fuzz/corpus/TARGET` for the next run.

mod engine;
pub(crate) mod instrument;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use anyhow::{Context as _, anyhow};
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::units::count_noun;
use frostline_sweep::{note, say};

use crate::args::FuzzArgs;
use crate::workspace;

use engine::{FuzzEngine, FuzzRun, FuzzTarget};

/// The environment variable with the time for each target, used without `--seconds`.
pub(crate) const SECONDS: &str = "FROSTLINE_FUZZ_SECONDS";

/// The default time for each target.
const DEFAULT_S: u64 = 10;

/// Builds and runs the requested targets, or all of them, and shows what each has done.
pub(crate) fn run_fuzz(args: &FuzzArgs) -> CommandResult<Ending> {
    let seconds = fuzz_seconds(args.seconds).blame_plan()?;
    let engine = FuzzEngine::build_engine().blame_environment()?;
    let targets = choose_targets(engine.list_targets().blame_environment()?, &args.targets).blame_plan()?;
    note!("fuzz      {}, {seconds} s each, {} at once", count_noun(targets.len(), "target"), args.jobs);
    let run = |target: &FuzzTarget| engine.run_target(target, &findings_folder(), seconds, args.seed);
    let runs = run_all(&targets, args.jobs as usize, run).blame_environment()?;
    say!(
        "{:<14} {:>12} {:>10} {:>11} {:>9}  result",
        "target",
        "executions",
        "per second",
        "peak MiB",
        "corpus"
    );
    for run in &runs {
        say!("{}", run.table_line());
    }
    let mut failed = false;
    for failure in runs.iter().filter_map(|run| run.failure.as_ref()) {
        failed = true;
        note!("{failure}");
    }
    Ok(if failed { Ending::Failed } else { Ending::Done })
}

/// Seconds from the option or else the environment.
fn fuzz_seconds(asked: Option<u64>) -> anyhow::Result<u64> {
    let named = std::env::var(SECONDS).ok().filter(|text| !text.is_empty());
    match (asked, named) {
        (Some(seconds), _) => Ok(seconds),
        (None, Some(text)) => {
            let parsed = text.parse().ok().filter(|seconds| *seconds > 0);
            parsed.with_context(|| format!("{SECONDS} is {text:?}, expected seconds from 1"))
        }
        (None, None) => Ok(DEFAULT_S),
    }
}

fn choose_targets(all: Vec<FuzzTarget>, names: &[String]) -> anyhow::Result<Vec<FuzzTarget>> {
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|target| target.name != **name)) {
        let there: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
        return Err(anyhow!("there is no target `{unknown}`; there are: {}", there.join(", ")));
    }
    Ok(all.into_iter().filter(|target| names.is_empty() || names.contains(&target.name)).collect())
}

/// Runs targets, several at a time, and returns their runs in the targets' order.
fn run_all(
    targets: &[FuzzTarget],
    jobs: usize,
    run: impl Fn(&FuzzTarget) -> anyhow::Result<FuzzRun> + Sync,
) -> anyhow::Result<Vec<FuzzRun>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || -> anyhow::Result<()> {
        while let Some((place, target)) =
            Some(next.fetch_add(1, Relaxed)).and_then(|place| Some((place, targets.get(place)?)))
        {
            let run = run(target)?;
            done.lock().unwrap_or_else(|broken| broken.into_inner()).push((place, run));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    let mut runs = done.into_inner().unwrap_or_else(|broken| broken.into_inner());
    runs.sort_by_key(|(place, _)| *place);
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// Returns the folder in which new inputs and failures are kept.
fn findings_folder() -> PathBuf {
    workspace::target_folder().join("fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_chosen_by_name() {
        let all = || ["plan", "config"].map(|name| FuzzTarget { name: name.into(), longest: 1 }).to_vec();
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| (*name).into()).collect();
            choose_targets(all(), &only)
                .map(|found| found.into_iter().map(|target| target.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).expect("all"), ["plan", "config"]);
        assert_eq!(names(&["config"]).expect("one"), ["config"]);
        let error = names(&["plans"]).expect_err("no such target").to_string();
        assert_eq!(error, "there is no target `plans`; there are: plan, config");
    }
}
