//! `cargo xtask ci`: all checks that must pass before a change is merged, step by step.
//!
//! A step passes, fails or is skipped. Tests that skip are collected and listed; a skip that is not allowed is
//! a failure.

mod aarch64;
mod ahead;
mod browser;
mod call;
mod deadline;
mod deny;
mod dist;
mod docs;
mod nvrtc;
mod outcome;
mod package;
mod python;
pub(crate) mod python_package;
mod script;
pub(crate) mod skips;
mod steps;
pub(crate) mod venv;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, anyhow};

use crate::args::CiArgs;
use crate::workspace;
use frostline_sweep::Ending;
use frostline_sweep::fault::{Blame as _, CommandResult};
use frostline_sweep::say;
use frostline_sweep::units::{count_noun, format_clock};

use ahead::BuildAhead;
use call::CargoCall;
use deadline::Deadline;
use outcome::StepOutcome;
use skips::Skip;
use steps::{CiStep, StepWork};

/// With this step the builds of later ones begin: those before it are short builds that need all cores.
const FIRST_LONG: &str = "test";

/// One line of the closing table.
struct StepRow {
    step: &'static str,
    outcome: StepOutcome,
    elapsed_s: f64,
}

/// The data that the steps of one run share.
struct CiSession {
    /// A folder for sweeps and for the files of skips; removed at the end.
    scratch: PathBuf,
    /// The folder of data that are not in the repository, if there is one.
    shared: Option<PathBuf>,
    /// The Python that tests compare with, once there is one.
    python: Option<PathBuf>,
    skips: Vec<Skip>,
}

/// Runs all steps, or the requested ones, and shows the result and time of each.
pub(crate) fn run_ci(args: &CiArgs) -> CommandResult<Ending> {
    let scratch = std::env::temp_dir().join(format!("frostline-ci-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).blame_environment()?;
    let steps = choose_steps(steps::all_steps(&scratch), &args.only)?;
    let makes_python = steps.iter().any(|step| matches!(step.work, StepWork::Python));
    // Downloads take their time while the first steps compile.
    let mut making = makes_python.then(|| std::thread::spawn(python::prepare_interpreter));
    let python = if makes_python { None } else { python::kept_interpreter() };
    let mut session = CiSession { scratch, shared: shared_folder(), python, skips: Vec::new() };
    let mut rows: Vec<StepRow> = Vec::new();
    let mut ahead = BuildAhead::default();
    let begun = Instant::now();
    for step in &steps {
        let minutes = begun.elapsed().as_secs_f64() / 60.0;
        if let Some(outcome) = out_of_time(step, minutes, args.minutes) {
            rows.push(StepRow { step: step.name, outcome, elapsed_s: 0.0 });
            continue;
        }
        if step.name == FIRST_LONG {
            let builds = steps.iter().filter_map(|step| Some((step.name, step.separate_calls()?))).collect();
            ahead = BuildAhead::start_builds(builds);
            if args.only.is_empty() {
                ahead.start_environments();
            }
        }
        let may_be_left_out = step.expected_minutes().and(args.minutes);
        let deadline = may_be_left_out.map(|limit| Deadline::of_step(minutes, limit));
        ahead.wait_for_step(step.name);
        let started = Instant::now();
        let outcome = match session.run_step(step, &mut making) {
            Ok(outcome @ (StepOutcome::Passed | StepOutcome::Skipped(_))) => outcome,
            _ if deadline.is_some_and(|deadline| deadline.is_over()) => {
                StepOutcome::skip_here("it was still running when the run's time was over, and was ended")
            }
            outcome => outcome.blame_environment()?,
        };
        let failed = outcome == StepOutcome::Failed;
        rows.push(StepRow { step: step.name, outcome, elapsed_s: started.elapsed().as_secs_f64() });
        if failed {
            break;
        }
    }
    drop(ahead);
    if let Some(making) = making {
        let _ = making.join(); // No pip keeps running after a failed run.
    }
    let _ = std::fs::remove_dir_all(&session.scratch);
    Ok(session.print_summary(&rows, steps.len()))
}

/// Returns that a step is skipped if it would probably not end in time.
fn out_of_time(step: &CiStep, elapsed: f64, limit: Option<u32>) -> Option<StepOutcome> {
    let (limit, minutes) = (limit?, step.expected_minutes()?);
    (elapsed + f64::from(minutes) > f64::from(limit)).then(|| {
        say!("\n== {}", step.name);
        StepOutcome::skip_here(format!(
            "it takes some {minutes} minutes, and {elapsed:.0} of {limit} are over"
        ))
    })
}

/// Returns the requested steps, in their order; all if none is named.
fn choose_steps(all: Vec<CiStep>, only: &[String]) -> CommandResult<Vec<CiStep>> {
    let names: Vec<&str> = all.iter().map(|step| step.name).collect();
    if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(anyhow!("there is no step `{unknown}`; there are: {}", names.join(", "))).blame_plan();
    }
    Ok(all.into_iter().filter(|step| only.is_empty() || only.iter().any(|name| name == step.name)).collect())
}

/// Returns the folder that `FROSTLINE_SHARED` names, or else a folder `shared` next to the checkout.
fn shared_folder() -> Option<PathBuf> {
    let named = std::env::var_os(skips::SHARED).filter(|name| !name.is_empty()).map(PathBuf::from);
    let beside = || workspace::workspace_root().parent().map(|parent| parent.join("shared"));
    named.or_else(|| beside().filter(|folder| folder.is_dir()))
}

impl CiSession {
    fn run_step(
        &mut self,
        step: &CiStep,
        making: &mut Option<python::Making>,
    ) -> anyhow::Result<StepOutcome> {
        Ok(match &step.work {
            StepWork::Cargo(calls) => self.run_calls(step.name, calls)?,
            StepWork::Python => self.take_python(step.name, making.take()),
            StepWork::Prepared(prepare) => match prepare(&self.scratch)? {
                Ok(calls) => self.run_calls(step.name, &calls)?,
                Err(reason) => StepOutcome::skip_here(reason),
            },
            StepWork::Check(check) => check(self, step.name)?,
            StepWork::Skip(reason) => StepOutcome::Skipped((*reason).into()),
        })
    }

    /// Runs a step's calls of cargo one after the other, and collects what was skipped.
    fn run_calls(&mut self, step: &str, calls: &[CargoCall]) -> anyhow::Result<StepOutcome> {
        let file = self.scratch.join(format!("skips-{step}"));
        for call in calls {
            say!("\n== {step}: cargo {}", call.arguments.join(" "));
            let mut command = call.to_command(&[]);
            command.env(skips::FILE, &file);
            if let Some(shared) = &self.shared {
                command.env(skips::SHARED, shared);
            }
            match &self.python {
                Some(python) => command.env(skips::PYTHON, python),
                None => command.env_remove(skips::PYTHON),
            };
            let code = command.status().context("cargo cannot be started")?.code();
            self.skips.extend(skips::take_skips(&file, step)?);
            if code != Some(0) {
                return Ok(StepOutcome::Failed);
            }
        }
        Ok(StepOutcome::Passed)
    }

    /// Waits for the Python that was prepared during the other steps.
    fn take_python(&mut self, step: &'static str, making: Option<python::Making>) -> StepOutcome {
        say!("\n== {step}: the packages of {}", python::REQUIREMENTS);
        let prepared = making.map(|making| making.join().map_err(|_| anyhow!("its thread panicked")));
        match prepared {
            Some(Ok(Ok(Ok((python, said))))) => {
                say!("{said}");
                self.python = Some(python);
                StepOutcome::Passed
            }
            Some(Ok(Ok(Err(reason)))) => StepOutcome::skip_here(reason),
            Some(Ok(Err(error)) | Err(error)) => {
                say!("error: {error:#}");
                StepOutcome::Failed
            }
            None => StepOutcome::Skipped("it was not prepared".into()),
        }
    }

    /// Shows skips, the table and the closing line, and returns how the whole run ended.
    fn print_summary(&self, rows: &[StepRow], steps: usize) -> Ending {
        let excused = skips::Excuses { shared: self.shared.is_some(), python: self.python.is_some() };
        let shown = skips::distinct_skips(&self.skips);
        let wrong = shown.iter().filter(|skip| !excused.is_allowed(skip)).count();
        say!("\n{} in tests and checks", count_noun(shown.len(), "skip"));
        for skip in &shown {
            say!("  {:<11} {skip}", if excused.is_allowed(skip) { "allowed" } else { "NOT ALLOWED" });
        }
        say!("");
        for row in rows {
            say!("{}", row.table_line());
        }
        let count = |wanted: fn(&StepOutcome) -> bool| rows.iter().filter(|row| wanted(&row.outcome)).count();
        let failed = count(|outcome| *outcome == StepOutcome::Failed);
        let skipped = count(|outcome| matches!(outcome, StepOutcome::Skipped(_)));
        say!("{:<16} {:<8} {:>8}", "all", "", format_clock(rows.iter().map(|row| row.elapsed_s).sum()));
        if let Some(row) = rows.iter().find(|row| row.outcome == StepOutcome::Failed) {
            say!("error: step `{0}` failed; run it alone with `cargo xtask ci --only {0}`", row.step);
        }
        if rows.len() < steps {
            say!("{} did not run", count_noun(steps - rows.len(), "step"));
        }
        if wrong > 0 {
            say!("error: {} although what it needs is here", count_noun(wrong, "skip"));
        }
        say!("{}", closing_line(count(|outcome| *outcome == StepOutcome::Passed), failed, skipped, wrong));
        if failed + wrong == 0 { Ending::Done } else { Ending::Failed }
    }
}

/// Returns the last line. Skips that are not allowed count as one more failed step.
fn closing_line(passed: usize, failed: usize, skipped: usize, wrong: usize) -> String {
    format!("steps: {passed} passed, {} failed, {skipped} skipped", failed + usize::from(wrong > 0))
}

impl StepRow {
    fn table_line(&self) -> String {
        let (word, why) = match &self.outcome {
            StepOutcome::Passed => ("passed", ""),
            StepOutcome::Failed => ("FAILED", ""),
            StepOutcome::Skipped(why) => ("skipped", why.as_str()),
        };
        let line = format!("{:<16} {word:<8} {:>8}  {why}", self.step, format_clock(self.elapsed_s));
        line.trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn steps_are_chosen_by_name_and_run_in_their_order() {
        let all = || steps::all_steps(Path::new("scratch"));
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|name| (*name).to_string()).collect();
            choose_steps(all(), &only).map(|steps| steps.iter().map(|step| step.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["test", "tidy"]).expect("steps"), ["tidy", "test"]);
        assert_eq!(names(&[]).expect("steps").len(), all().len());
        let error = names(&["tests"]).expect_err("no such step");
        assert!(error.error.to_string().contains("`tests`; there are: format, tidy"), "{:#}", error.error);
    }

    #[test]
    fn the_table_and_the_closing_line_tell_what_was_skipped() {
        let row = |outcome| StepRow { step: "python", outcome, elapsed_s: 61.2 };
        assert_eq!(row(StepOutcome::Passed).table_line(), "python           passed       1:01");
        let skipped = row(StepOutcome::Skipped("no python3".into()));
        assert_eq!(skipped.table_line(), "python           skipped      1:01  no python3");
        assert_eq!(closing_line(11, 0, 2, 0), "steps: 11 passed, 0 failed, 2 skipped");
        assert_eq!(closing_line(11, 0, 2, 3), "steps: 11 passed, 1 failed, 2 skipped");
    }
}
