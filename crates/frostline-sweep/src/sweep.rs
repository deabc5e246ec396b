//! Runs a study from its plan to its report. The function [`sweep`] contains all steps in order.
//!
//! Every check that needs no training is made before anything is written.

use std::path::Path;

use frostline_record::Cell;
use tracing::info_span;

use crate::backend::Backend;
use crate::claims::{ClaimedJobs, Claims};
use crate::ending::Ending;
use crate::executor::{Executor as _, Observer};
use crate::fault::Result;
use crate::folder::{self, Folder};
use crate::forecast::Costs;
use crate::inputs::Sources;
use crate::jobs::{Jobs, Queue};
use crate::outcome::Outcome;
use crate::place::Place;
use crate::program::Program;
use crate::rates::{RateFinder, Round};
use crate::request::{Action, Failures, SweepRequest};
use crate::study::Study;
use crate::trace::Trace;
use crate::workers::LocalWorkers;
use crate::{data, inputs, list, packing, progress, report, say, slurm, timing, track, twins};

/// Runs a study. `program` returns the worker program; it is not called if no worker is needed.
///
/// # Errors
/// If the plan is invalid, inputs are missing or faulty, the folder cannot be written, or the program cannot run on
/// this machine. Failed cells are not an error but [`Ending::Failed`].
pub fn sweep(
    request: &SweepRequest,
    place: &Place,
    program: impl FnOnce() -> Result<Program>,
) -> Result<Ending> {
    say::set_output(request.output);
    let trace = Trace::begin(request.trace.as_ref())?;
    let program = || program().map(|program| program.traced(request.trace.clone()));
    let ending = info_span!("sweep").in_scope(|| run(request, place, program))?;
    trace.end("sweep")?;
    Ok(ending)
}

fn run(request: &SweepRequest, place: &Place, program: impl FnOnce() -> Result<Program>) -> Result<Ending> {
    let mut study = Study::read(request, place)?;
    let program = with_backend(&mut study, program)?;
    let sources = inputs::find(&mut study, &request.inputs)?;
    twins::merge(&mut study, &sources);
    twins::announce(&study.twins);
    let out = study.folder(request.out.as_deref(), place);
    if let Action::List { calibrate } = request.action {
        let ask = || Costs::of(&study, &sources, &out, program, request, calibrate);
        let costs = (place.built || calibrate).then(ask);
        return say::print(|to| list::write(&study, &sources, &out, costs.as_ref(), to));
    }
    if request.action == Action::DescribeData {
        let program = program()?;
        list::introduce(&study, &sources, &program);
        let cells = sources.cells(&study, &program);
        let facts = program.data(&cells)?;
        return say::print(|to| data::write(&study, &cells, &facts, to));
    }
    folder::check(&out)?;
    let program = program()?;
    list::introduce(&study, &sources, &program);
    if request.slurm.is_none() {
        list::check_precision(&study, &program)?;
    }
    let claims = Claims::of("frostline sweep", request.lease);
    let asked_jobs = study.plan.jobs;
    let verifies = request.action == Action::Verify;
    let detaches = request.slurm.as_ref().is_some_and(|slurm| slurm.detach);
    let stays = request.action != Action::Begin && !detaches;

    let mut warned = String::new();
    let mut finder = if verifies { None } else { RateFinder::of(&study, &sources, &program)? };

    // Once, except in a search, where the records of a round decide the cells of the next one.
    loop {
        let cells = match &mut finder {
            Some(finder) => searched(finder, &mut study, &sources, &program, &out)?,
            None => None,
        };
        let cells = cells.unwrap_or_else(|| sources.cells(&study, &program));
        let warnings = info_span!("check", cells = cells.len()).in_scope(|| program.check(&cells))?;
        data::warn(&warnings, &mut warned);
        // Stored with the sweep, since the report warns of times measured with several cells at once.
        study.plan.jobs = packing::jobs(asked_jobs, &cells, &out, &program, request);
        let folder = match verifies {
            true => Folder::temporary(cells)?,
            false => Folder::open(&out, study.sweep(cells, stays), &claims)?,
        };
        if request.action == Action::Begin {
            return Ok(folder.introduce_work());
        }
        folder.print_existing()?;
        folder.announce();
        packing::announce(asked_jobs, study.plan.jobs);
        let outcome = match &request.slurm {
            None => run_here(request, &study, &folder, &program, &claims)?,
            Some(slurm) => match slurm::run(request, slurm, &folder, &program)? {
                slurm::Round::Ended(outcome) => outcome,
                slurm::Round::Detached => {
                    end_search(&study, &folder, &claims)?;
                    return Ok(Ending::Done);
                }
            },
        };
        let complete = !verifies && !outcome.interrupted;
        let ran_all = complete && outcome.not_started == 0;
        let mut goes_on = || match study.is_searching() {
            true => Ok(!failed_for_good(&folder)),
            false => study.next_round(folder.cells(), |cell| folder.record(cell)),
        };
        if ran_all && goes_on()? {
            twins::merge(&mut study, &sources);
            continue;
        }
        if complete {
            end_search(&study, &folder, &claims)?;
        }
        folder.clear_prefixes(&study.plan.prefix_cache, &outcome);
        if complete && !study.is_searching() {
            // A machine from which jobs are submitted is shared, and another one than theirs.
            if request.slurm.is_none() {
                info_span!("timing")
                    .in_scope(|| timing::measure(&study, &folder, &program, request.threads, &claims))?;
            }
            info_span!("report").in_scope(|| report::write(folder.path(), &claims))?;
        }
        return Ok(folder.close(&outcome, request.slurm.is_some()));
    }
}

/// The cells of the search for learning rates that are next, if it goes on. The study has what it has found so far.
fn searched(
    finder: &mut RateFinder,
    study: &mut Study,
    sources: &Sources,
    program: &Program,
    out: &Path,
) -> Result<Option<Vec<Cell>>> {
    let record = |cell: &Cell| folder::record_of(out, cell);
    let round = finder.round(study, sources, program, record)?;
    study.take_rates(finder.stored(study, sources, program, record));
    Ok(match round {
        Round::Found => None,
        Round::Cells(cells) => {
            finder.introduce();
            Some(cells)
        }
    })
}

/// Whether a cell of a search has failed, other than by its rate.
fn failed_for_good(folder: &Folder<'_>) -> bool {
    let mut records = folder.cells().iter().filter_map(|cell| folder.record(cell));
    records.any(|record| record.error.is_some() && !record.diverged())
}

/// Takes back that this command adds cells, where a search stops before its last round.
fn end_search(study: &Study, folder: &Folder<'_>, claims: &Claims) -> Result<()> {
    if study.search_continues() { folder.end_search(claims) } else { Ok(()) }
}

/// The way to the program. Where it chooses the backend, it is asked at once.
fn with_backend<'a>(
    study: &mut Study,
    program: impl FnOnce() -> Result<Program> + 'a,
) -> Result<Box<dyn FnOnce() -> Result<Program> + 'a>> {
    if study.backend != Backend::Auto {
        return Ok(Box::new(program));
    }
    let found = program()?;
    study.backend = found.backend;
    Ok(Box::new(|| Ok(found)))
}

/// Runs the folder's cells that are left on this machine.
fn run_here(
    request: &SweepRequest,
    study: &Study,
    folder: &Folder<'_>,
    program: &Program,
    claims: &Claims,
) -> Result<Outcome> {
    let (verifies, searches) = (request.action == Action::Verify, study.is_searching());
    let failures = request.failures;
    // A rate at which the loss is no number is a result of a search.
    let failures = Failures { stop: failures.stop && !searches, ..failures };
    let executor =
        LocalWorkers::new(program, study.plan.jobs, request.threads, folder.logs()).with_failures(failures);
    let prefixes = folder.prefix_place(&study.plan.prefix_cache, executor.parallelism())?;
    let jobs = folder.jobs(prefixes.as_ref(), study.plan.checkpoints)?;
    let mut observers: Vec<Box<dyn Observer>> =
        vec![progress::observer(study.plan.synthetic, &jobs, folder.done())];
    if !verifies && !searches {
        observers.extend(track::observer(&study.plan, folder.path()));
    }
    let mut jobs: Box<dyn Jobs> = match verifies {
        true => Box::new(Queue::from(jobs)),
        false => Box::new(ClaimedJobs::new(claims, jobs, 0)),
    };
    let left = jobs.left();
    info_span!("cells", jobs = left).in_scope(|| executor.run(jobs.as_mut(), &mut observers))
}
