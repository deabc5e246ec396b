//! The cells of a sweep as jobs of a SLURM cluster: workers pull them from the sweep's folder, and its records, not the
//! states of jobs, tell what was done.
//!
//! # To add an engine of clusters
//!
//! It needs no executor: its jobs run `frostline work` on the sweep's folder. `crates/frostline-sweep/src/slurm/`
//! submits them (`submit.rs`, with the options of `options.rs`), asks the engine (`engine.rs`), and follows the
//! records, which alone tell what was done (`mod.rs`). Another engine is another such folder and a value of
//! `ExecutorKind`. `tests/cluster/check.py` runs the demo on a real one.

mod engine;
pub(crate) mod options;
mod submit;

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::anyhow;
use frostline_record::{Cell, Sweep};

use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult, environment_fault};
use crate::folder::{SweepFolder, stored_outcome};
use crate::interrupts::{self, StopRequest};
use crate::outcome::Outcome;
use crate::place;
use crate::program::Program;
use crate::request::{SlurmRequest, SweepRequest};
use crate::units::count_noun;
use engine::join_numbers;
use submit::Submission;

pub use engine::JobId;
pub use submit::{Submitted, read_submissions};

/// The time between two looks at the queue and the records.
const PAUSE: Duration = Duration::from_secs(2);

/// How often the queue has to be empty until its jobs are believed to have ended: one that returns to the queue is in
/// neither state for a moment.
const LOOKS: usize = 3;

/// What became of a round.
pub(crate) enum ClusterRound {
    /// All jobs have ended.
    Ended(Outcome),
    /// The jobs go on without this command.
    Detached,
}

/// Submits the cells of a folder that are not recorded, and stays until they are, unless asked not to.
pub(crate) fn run_on_cluster(
    request: &SweepRequest,
    slurm: &SlurmRequest,
    folder: &SweepFolder<'_>,
    program: &Program,
) -> CommandResult<ClusterRound> {
    let passed = worker_options(request);
    let options = slurm.options.with_defaults().blame_plan()?;
    let path = std::path::absolute(folder.path()).blame_environment()?;
    if path.to_str().is_none() {
        return Err(anyhow!(
            "{}: SLURM needs a path of UTF-8 for its scripts and logs; choose another folder with --out",
            place::shown_path(&path)
        ))
        .blame_plan();
    }
    let mut failed: Vec<(String, String)> =
        folder.cells().iter().filter_map(|cell| cell_failure(&path, cell)).collect();
    if !failed.is_empty() {
        note!(
            "failed    {} before; `frostline work {} --failed` runs them again",
            count_noun(failed.len(), "cell"),
            place::shown_path(folder.path())
        );
    }
    // A cell whose record cannot be read is run again.
    let is_open = |cell: &&Cell| !matches!(stored_outcome(&path, cell), Ok(Some(_)));
    let open: Vec<&Cell> = folder.cells().iter().filter(is_open).collect();
    if open.is_empty() {
        return Ok(ClusterRound::Ended(Outcome { failed, ..Outcome::default() }));
    }
    let submission = Submission::for_sweep(&path, program, open.len(), &options, &passed);
    if slurm.dry_run {
        say!("{}", submission.shown_commands());
        return Ok(ClusterRound::Detached);
    }
    let submitted = submission.submit_jobs(&program.path).blame_environment()?;
    // Jobs run the cells.
    program.stop_assistant();
    announce_submission(folder.path(), &submission, &submitted);
    if slurm.detach {
        return Ok(ClusterRound::Detached);
    }
    let ClusterRound::Ended(outcome) = follow_jobs(&path, &open, &submitted)? else {
        return Ok(ClusterRound::Detached);
    };
    failed.extend(outcome.failed);
    Ok(ClusterRound::Ended(Outcome { failed, ..outcome }))
}

/// The title and error of a cell that has failed.
fn cell_failure(sweep: &Path, cell: &Cell) -> Option<(String, String)> {
    let record = frostline_record::read_record(&frostline_record::Sweep::cell_folder(sweep, cell)).ok()??;
    Some((cell.title(), record.error.filter(|_| record.cell.id == cell.id)?))
}

/// The options that the workers of jobs share with this command.
fn worker_options(request: &SweepRequest) -> Vec<String> {
    let SweepRequest { lease, failures, threads, jobs, .. } = request;
    let mut all = vec!["--lease-s".into(), lease.as_secs_f64().to_string()];
    let mut put = |name: &str, value: String| all.extend([name.into(), value]);
    if failures.retries > 0 {
        put("--retry", failures.retries.to_string());
    }
    if let Some(limit) = failures.time_limit {
        put("--cell-minutes", (limit.as_secs_f64() / 60.0).to_string());
    }
    if let Some(jobs) = jobs {
        put("--jobs", jobs.to_string());
    }
    if let Some(threads) = threads {
        put("--threads", threads.to_string());
    }
    if failures.stop {
        all.push("--fail-fast".into());
    }
    all
}

fn announce_submission(folder: &Path, submission: &Submission, submitted: &Submitted) {
    let path = place::shown_path(folder);
    say!(
        "slurm     {} in array {}, the report in job {}; logs in {path}/slurm",
        count_noun(submission.worker_count(), "worker"),
        submitted.array,
        submitted.report.as_ref().map_or_else(String::new, JobId::to_string)
    );
    say!("          `frostline status {path}` shows how far it is, `frostline cancel {path}` ends it");
}

/// Shows progress until all cells are recorded and the array has ended, or Ctrl-C detaches.
fn follow_jobs(path: &Path, cells: &[&Cell], submitted: &Submitted) -> CommandResult<ClusterRound> {
    let (sender, receiver) = channel();
    interrupts::notify_round(sender).blame_environment()?;
    say!("          Ctrl-C leaves the jobs alone and ends this command");
    let known = cells.iter().map(|cell| cell.id.clone()).collect();
    let open = cells.iter().map(|&cell| cell.clone()).collect();
    let grows = Sweep::read(path).is_ok_and(|sweep| sweep.rounds.is_some());
    let mut watched = WatchedCells { open, known, grows, done: 0, failed: Vec::new() };
    let jobs: Vec<JobId> = submitted.job_numbers().collect();
    let (mut shown, mut empty) = (String::new(), 0);
    loop {
        watched.read_new_records(path);
        let states = match engine::query_states(&jobs) {
            Ok(states) => states,
            // A controller that is busy or being restarted is asked again.
            Err(error) => vec![("unknown".into(), error.to_string())],
        };
        let line = format!("{}; {}", watched.shown_progress(), summarise_states(&states));
        if line != shown {
            say!("slurm     {line}");
            shown = line;
        }
        empty = if states.is_empty() { empty + 1 } else { 0 };
        if empty >= LOOKS {
            watched.read_new_records(path);
            return Ok(ClusterRound::Ended(watched.final_outcome(path)));
        }
        match receiver.recv_timeout(PAUSE) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => {
                say!("detached  the jobs go on");
                return Ok(ClusterRound::Detached);
            }
        }
    }
}

/// The cells of the submitted jobs, and cells that they have added.
struct WatchedCells {
    open: Vec<Cell>,
    /// The ids of all of them.
    known: HashSet<String>,
    /// Whether jobs may add cells.
    grows: bool,
    done: usize,
    failed: Vec<(String, String)>,
}

impl WatchedCells {
    /// Reads the cells and records that were not there before.
    fn read_new_records(&mut self, path: &Path) {
        // While the list is being replaced, the last one is as good.
        let sweep = if self.grows { Sweep::read(path).ok() } else { None };
        let cells = sweep.map_or_else(Vec::new, |sweep| sweep.cells);
        let is_open = |cell: &Cell| !matches!(stored_outcome(path, cell), Ok(Some(_)));
        let new = cells.into_iter().filter(|cell| is_open(cell) && !self.known.contains(&cell.id));
        let new: Vec<Cell> = new.collect();
        self.known.extend(new.iter().map(|cell| cell.id.clone()));
        self.open.extend(new);
        self.open.retain(|cell| {
            let record = frostline_record::read_record(&frostline_record::Sweep::cell_folder(path, cell));
            match record.ok().flatten().filter(|record| record.cell.id == cell.id) {
                None => return true,
                Some(record) => match record.error {
                    None => self.done += 1,
                    Some(error) => self.failed.push((cell.title(), error)),
                },
            }
            false
        });
    }

    fn shown_progress(&self) -> String {
        let all = count_noun(self.open.len() + self.done + self.failed.len(), "cell");
        let failed =
            if self.failed.is_empty() { String::new() } else { format!(", {} failed", self.failed.len()) };
        format!("{} of {all} recorded{failed}", self.done)
    }

    fn final_outcome(self, path: &Path) -> Outcome {
        if !self.open.is_empty() {
            note!(
                "left      the jobs have ended, and {} not recorded; {}/slurm/*.log tell why. The same command submits \
                 them again",
                count_noun(self.open.len(), "cell"),
                place::shown_path(path)
            );
        }
        let lost = self.open.iter().map(|cell| (cell.title(), "its jobs have ended without a record".into()));
        let failed = self.failed.into_iter().chain(lost).collect();
        Outcome { elsewhere: self.done, failed, ..Outcome::default() }
    }
}

/// `3 running, 1 pending (Priority)`.
fn summarise_states(states: &[(String, String)]) -> String {
    let mut kinds: Vec<(&str, &str, usize)> = Vec::new();
    for (state, reason) in states {
        match kinds.iter_mut().find(|(known, ..)| known == state) {
            Some((.., count)) => *count += 1,
            None => kinds.push((state, reason, 1)),
        }
    }
    if kinds.is_empty() {
        return "no job is left".into();
    }
    let shown = kinds.iter().map(|(state, reason, count)| match *reason {
        "None" | "" => format!("{count} {state}"),
        reason => format!("{count} {state} ({reason})"),
    });
    format!("jobs: {}", shown.collect::<Vec<_>>().join(", "))
}

/// Prints the states of a folder's jobs, if it has any.
pub(crate) fn print_status(folder: &Path) -> CommandResult<()> {
    let all = read_submissions(folder).blame_environment()?;
    if all.is_empty() {
        return Ok(());
    }
    let states = engine::query_states(&job_numbers(&all));
    let line = states.map_or_else(|error| format!("{error:#}"), |states| summarise_states(&states));
    say!("slurm     {line}");
    Ok(())
}

/// Ends a folder's jobs. The list of jobs can come from another person, so only jobs that run this folder's scripts are
/// ended.
///
/// # Errors
/// If it has none, if SLURM cannot be asked, or if a listed job runs anything else.
pub fn cancel_cluster_jobs(folder: &Path) -> CommandResult<Ending> {
    let all = read_submissions(folder).blame_environment()?;
    if all.is_empty() {
        return environment_fault(format!(
            "{}: no jobs of SLURM were submitted for it",
            place::shown_path(folder)
        ));
    }
    let jobs = job_numbers(&all);
    let queued = engine::query_scripts(&jobs).blame_environment()?;
    let (own, foreign): (Vec<_>, Vec<_>) =
        queued.iter().partition(|(_, script)| submit::is_script_of(folder, script));
    let has_number = |job: &JobId| own.iter().any(|(number, _)| *number == job.to_string());
    let cancelled: Vec<JobId> = jobs.into_iter().filter(has_number).collect();
    if !cancelled.is_empty() {
        engine::cancel_jobs(&cancelled).blame_environment()?;
        say!(
            "cancelled {}; running cells are stored after their step, and the same sweep goes on with them",
            join_numbers(&cancelled, ", ")
        );
    }
    if let Some((number, script)) = foreign.first() {
        return environment_fault(format!(
            "{}/slurm/jobs.json lists job {number}, which runs {script} and no script of this folder; it was not \
             cancelled. If it should end: scancel {number}",
            place::shown_path(folder)
        ));
    }
    if cancelled.is_empty() {
        say!("cancelled nothing: all jobs of this folder have ended");
    }
    Ok(Ending::Done)
}

fn job_numbers(all: &[Submitted]) -> Vec<JobId> {
    all.iter().flat_map(Submitted::job_numbers).collect()
}

/// Returns this job to the queue, if it is one that may, and its time limit or preemption has ended it.
pub(crate) fn return_to_queue(max_restarts: u32) {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let Some(job) = set("SLURM_JOB_ID") else { return };
    let may = match interrupts::first_request() {
        Some(StopRequest::TimeLimit) => true,
        // Who cancels a job wants it to end.
        Some(StopRequest::End) => engine::was_not_cancelled(&job),
        _ => false,
    };
    if !may {
        return;
    }
    let restarts = set("SLURM_RESTART_COUNT").and_then(|count| count.parse::<u32>().ok()).unwrap_or(0);
    if restarts >= max_restarts {
        note!(
            "slurm     this job has returned to the queue {restarts} times, which is the most; cells are left"
        );
        return;
    }
    // The last task of an array has the number of the whole array as its own: only the long form names the task.
    let job = match (set("SLURM_ARRAY_JOB_ID"), set("SLURM_ARRAY_TASK_ID")) {
        (Some(array), Some(task)) => format!("{array}_{task}"),
        _ => job,
    };
    match engine::requeue_job(&job) {
        Ok(()) => note!("slurm     {job} returns to the queue, for the {}. time", restarts + 1),
        Err(error) => note!("slurm     {job} could not return to the queue: {error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_counted() {
        let states = [("running", "None"), ("pending", "Priority"), ("running", "None")];
        let states = states.map(|(state, reason)| (state.to_string(), reason.to_string()));
        assert_eq!(summarise_states(&states), "jobs: 2 running, 1 pending (Priority)");
        assert_eq!(summarise_states(&[]), "no job is left");
    }
}
