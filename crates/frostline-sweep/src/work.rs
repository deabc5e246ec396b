//! `frostline work`: takes cells of a sweep's folder until none is left, next to any number of other processes.

use std::collections::HashSet;

use anyhow::anyhow;
use frostline_record::{Cell, Job, Sweep};
use tracing::info_span;

use crate::backend::Backend;
use crate::claims::{ClaimedJobs, ProcessClaims};
use crate::ending::Ending;
use crate::executor::{Executor as _, Observer};
use crate::fault::{Blame as _, CommandResult};
use crate::folder::{SweepFolder, stored_outcome};
use crate::growing::{self, NextRound};
use crate::notices::Notice;
use crate::outcome::Outcome;
use crate::place;
use crate::program::Program;
use crate::request::WorkRequest;
use crate::trace::Trace;
use crate::units::count_noun;
use crate::workers::LocalWorkers;
use crate::{interrupts, output, progress, slurm, track};

/// Runs cells of the sweep in a folder until all are recorded. `program` returns the worker program for the sweep's
/// backend.
///
/// # Errors
/// If there is no sweep in the folder, it was begun with another program, its inputs are missing here, or the folder
/// cannot be written. Failed cells are not an error but [`Ending::Failed`].
pub fn work(
    request: &WorkRequest,
    program: impl FnOnce(Backend) -> CommandResult<Program>,
) -> CommandResult<Ending> {
    output::set_output(request.output);
    let trace = Trace::begin_file(request.trace.as_ref())?;
    let program = |backend| program(backend).map(|program| program.with_trace(request.trace.clone()));
    let ending = run_until_done(request, program)?;
    trace.end_file("work")?;
    Ok(ending)
}

/// Runs cells until none is left, and returns the job to its queue if it is ended before that.
fn run_until_done(
    request: &WorkRequest,
    program: impl FnOnce(Backend) -> CommandResult<Program>,
) -> CommandResult<Ending> {
    let max_restarts = request.max_restarts;
    interrupts::listen_between_rounds(move |_| slurm::return_to_queue(max_restarts)).blame_environment()?;
    let mut sweep = Sweep::read(&request.folder).blame_environment()?;
    let program = program(backend_of_cells(&sweep).blame_environment()?)?;
    let claims = ProcessClaims::for_command("frostline work", request.lease);
    let mut seen = HashSet::new();
    loop {
        check_code(&sweep, &program).blame_environment()?;
        let outcome =
            info_span!("work").in_scope(|| run_round(request, &sweep, &program, &claims, &mut seen))?;
        let is_stopped = outcome.interrupted || outcome.not_started > 0;
        let added = !is_stopped && growing::add_round(&request.folder, &claims)? == NextRound::Added;
        let again = Sweep::read(&request.folder).blame_environment()?;
        let more = added || again.cells.iter().any(|cell| !seen.contains(&cell.id));
        if is_stopped || !more {
            let ending = print_ending(request, &again, &outcome);
            if ending == Ending::Interrupted {
                slurm::return_to_queue(request.max_restarts);
            }
            return Ok(ending);
        }
        // Another round of a search or of a sweep that grows, or another command has added cells.
        sweep = again;
    }
}

/// Takes cells of the sweep as it is now.
fn run_round(
    request: &WorkRequest,
    sweep: &Sweep,
    program: &Program,
    claims: &ProcessClaims,
    seen: &mut HashSet<String>,
) -> CommandResult<Outcome> {
    let folder = SweepFolder::join_sweep(&request.folder, sweep.cells.clone(), claims)?;
    let executor = LocalWorkers::new(program, request.jobs as usize, request.threads, folder.log_folder())
        .with_failures(request.failures);
    let prefixes = folder.prefix_place(&sweep.plan.prefix_cache, usize::MAX)?;
    let mut jobs = folder.pending_jobs(prefixes.as_ref(), sweep.plan.checkpoints)?;
    if !request.failed {
        jobs.retain(|job| !has_failed(request, &job.cell));
    }
    seen.extend(sweep.cells.iter().map(|cell| cell.id.clone()));
    announce_work(request, sweep, program, &jobs, folder.recorded_before());
    folder.announce_start();
    if jobs.is_empty() {
        return Ok(Outcome::default());
    }
    let cells: Vec<Cell> = jobs.iter().map(|job| job.cell.clone()).collect();
    info_span!("check", cells = cells.len()).in_scope(|| program.check_cells(&cells))?;
    let done = sweep.cells.len() - jobs.len();
    let mut observers: Vec<Box<dyn Observer>> =
        vec![progress::choose_observer(sweep.plan.synthetic, &jobs, done)];
    observers.extend(track::tracking_observer(&sweep.plan, folder.path()));
    let first = first_job(jobs.len(), claims.own_claimant().token.as_str());
    let mut jobs = ClaimedJobs::new(claims, jobs, first).wait_for_others(request.waits);
    let outcome = executor.run(&mut jobs, &mut observers)?;
    drop(jobs);
    folder.remove_empty_logs();
    Ok(outcome)
}

fn has_failed(request: &WorkRequest, cell: &Cell) -> bool {
    matches!(stored_outcome(&request.folder, cell), Ok(Some(false)))
}

fn announce_work(request: &WorkRequest, sweep: &Sweep, program: &Program, jobs: &[Job], done: usize) {
    let (folder, about) = (place::shown_path(&request.folder), &program.about);
    let failed = sweep.cells.len() - done - jobs.len();
    let failed = match failed {
        0 => String::new(),
        count => format!(", {count} failed before (--failed runs them again)"),
    };
    say!(
        "folder    {folder}: {}, {done} recorded{failed}, {} left",
        count_noun(sweep.cells.len(), "cell"),
        jobs.len()
    );
    say!("program   frostline {} on {} ({})", about.version, program.backend, about.isa);
}

/// Prints the state of the sweep, and returns it as the ending.
fn print_ending(request: &WorkRequest, sweep: &Sweep, outcome: &Outcome) -> Ending {
    let states: Vec<Option<bool>> =
        sweep.cells.iter().map(|cell| stored_outcome(&request.folder, cell).ok().flatten()).collect();
    let count = |state: Option<bool>| states.iter().filter(|found| **found == state).count();
    let (recorded, failed, left) = (count(Some(true)), count(Some(false)), count(None));
    let folder = place::shown_path(&request.folder);
    Notice::End { cells: states.len(), done: recorded, failed }.print_if_asked();
    say!(
        "here      {}, {} by other processes meanwhile",
        count_noun(outcome.done, "cell"),
        outcome.elsewhere
    );
    if outcome.late > 0 {
        say!(
            "late      {} run here too late: their records are those of the processes that had taken them over",
            count_noun(outcome.late, "cell")
        );
    }
    say!("recorded  {recorded} of {} in {folder}", count_noun(sweep.cells.len(), "cell"));
    if failed > 0 {
        say!("failed    {}; the errors are in {folder}/cells/*/record.json", count_noun(failed, "cell"));
        say!("          `frostline work {folder} --failed` runs them again");
    }
    if outcome.interrupted && left > 0 {
        say!("stopped   {} left; the same command goes on with them", count_noun(left, "cell"));
        return Ending::Interrupted;
    }
    if left > 0 && !request.waits && outcome.not_started == 0 {
        say!("left      {} that other processes run", count_noun(left, "cell"));
    } else if left > 0 {
        say!("left      {} not recorded; the same command goes on with them", count_noun(left, "cell"));
        return Ending::Failed;
    }
    if failed > 0 {
        return Ending::Failed;
    }
    say!("report    `frostline report {folder}`");
    Ending::Done
}

/// Returns the backend of the sweep's cells.
fn backend_of_cells(sweep: &Sweep) -> anyhow::Result<Backend> {
    let name = sweep.cells.first().map_or("flex", |cell| cell.backend.as_str());
    name.parse().map_err(|_| {
        anyhow!(
            "the sweep's backend is `{name}`, which this Frostline does not know; use the sweep's program"
        )
    })
}

/// Checks that the program would write records that the sweep takes for its own.
fn check_code(sweep: &Sweep, program: &Program) -> anyhow::Result<()> {
    let here = &program.about.code;
    match sweep.cells.iter().find(|cell| cell.code != *here) {
        None => Ok(()),
        Some(cell) => Err(anyhow!(
            "the sweep was begun by a Frostline with the code {}, and this one has {here}; use the sweep's program, or \
             begin the sweep again with this one",
            cell.code
        )),
    }
}

/// Returns the job at which this process begins, so that many processes do not all ask for the same: by its number in
/// a cluster's array of jobs if there is one, else anywhere.
fn first_job(jobs: usize, token: &str) -> usize {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let array = || {
        let first = number("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
        let (task, count) = (number("SLURM_ARRAY_TASK_ID")?, number("SLURM_ARRAY_TASK_COUNT")?);
        (count > 0).then(|| task.saturating_sub(first) * jobs / count)
    };
    let drawn = || u64::from_str_radix(token, 16).unwrap_or(0) as usize;
    array().unwrap_or_else(drawn) % jobs.max(1)
}
