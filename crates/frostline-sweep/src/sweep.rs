//! Runs a study from its plan to its report: `run_study` prepares it, and `run_rounds` contains all steps of a run in order.
//!
//! Every check that needs no training is made before anything is written.

use std::path::Path;

use frostline_record::{Cell, Sweep};
use tracing::info_span;

use crate::backend::Backend;
use crate::claims::{ClaimedJobs, ProcessClaims};
use crate::ending::Ending;
use crate::executor::{Executor as _, Observer};
use crate::fault::{Blame as _, CommandResult};
use crate::folder::{self, SweepFolder};
use crate::forecast::Costs;
use crate::growing::{self, NextRound};
use crate::inputs::StudyInputs;
use crate::jobs::{Jobs, Queue};
use crate::outcome::Outcome;
use crate::place::Place;
use crate::program::Program;
use crate::rates::{RateFinder, SearchRound};
use crate::request::{Action, Failures, SweepRequest};
use crate::study::PlannedStudy;
use crate::trace::Trace;
use crate::workers::LocalWorkers;
use crate::{
    advise, block_scores, data_report, inputs, output, packing, plan_listing, progress, report, slurm,
    timing, track, twin_cells,
};

/// Runs a study. `program` returns the worker program; it is not called if no worker is needed.
///
/// # Errors
/// If the plan is invalid, inputs are missing or faulty, the folder cannot be written, or the program cannot run on
/// this machine. Failed cells are not an error but [`Ending::Failed`].
pub fn sweep(
    request: &SweepRequest,
    place: &Place,
    program: impl FnOnce() -> CommandResult<Program>,
) -> CommandResult<Ending> {
    output::set_output(request.output);
    let trace = Trace::begin_file(request.trace.as_ref())?;
    let program = || program().map(|program| program.with_trace(request.trace.clone()));
    let ending = info_span!("sweep").in_scope(|| run_study(request, place, program))?;
    trace.end_file("sweep")?;
    Ok(ending)
}

fn run_study(
    request: &SweepRequest,
    place: &Place,
    program: impl FnOnce() -> CommandResult<Program>,
) -> CommandResult<Ending> {
    let mut study = PlannedStudy::read_study(request, place)?;
    let program = with_backend(&mut study, program)?;
    let sources = inputs::find_inputs(&mut study, &request.inputs)?;
    let out = study.sweep_folder(request.out.as_deref(), place);
    let program = with_block_orders(&mut study, &sources, &out, program)?;
    twin_cells::merge_twins(&mut study, &sources);
    twin_cells::announce_twins(&study.twins);
    match request.action {
        Action::List { calibrate } => {
            let ask = || Costs::ask_program(&study, &sources, &out, program, request, calibrate);
            let costs = (place.built || calibrate).then(ask);
            output::print_output(|to| plan_listing::write_plan(&study, &sources, &out, costs.as_ref(), to))
        }
        Action::DescribeData => describe_data(&study, &sources, &program()?),
        Action::ScoreBlocks { sentences } => {
            let program = program()?;
            plan_listing::print_inputs(&study, &sources, &program);
            let cells = sources.make_cells(&study, &program);
            block_scores::print_scores(&study, &cells, &program, sentences, request.out.as_deref())
        }
        Action::Advise => {
            let program = program()?;
            let cells = sources.make_cells(&study, &program);
            advise::print_advice(&study, &cells, &program, request)
        }
        Action::Run | Action::Verify | Action::Begin => {
            folder::check_writable(&out)?;
            run_rounds(request, study, &sources, &out, &program()?)
        }
    }
}

/// Prints tables of a study's data.
fn describe_data(study: &PlannedStudy, sources: &StudyInputs, program: &Program) -> CommandResult<Ending> {
    plan_listing::print_inputs(study, sources, program);
    let cells = sources.make_cells(study, program);
    let facts = program.describe_data(&cells)?;
    output::print_output(|to| data_report::write_tables(study, &cells, &facts, to))
}

/// Runs the cells of a study: in one round, except in a search, in which the records of a round decide the cells of the next one.
fn run_rounds(
    request: &SweepRequest,
    mut study: PlannedStudy,
    sources: &StudyInputs,
    out: &Path,
    program: &Program,
) -> CommandResult<Ending> {
    plan_listing::print_inputs(&study, sources, program);
    if request.slurm.is_none() {
        plan_listing::check_precision(&study, program)?;
    }
    let claims = ProcessClaims::for_command("frostline sweep", request.lease);
    let asked_jobs = study.plan.jobs;
    let verifies = request.action == Action::Verify;
    let mut warned = String::new();
    let mut finder = if verifies { None } else { RateFinder::for_study(&study, sources, program)? };
    loop {
        let cells = choose_cells(request, finder.as_mut(), &mut study, sources, program, out, &mut warned)?;
        // Stored with the sweep, since the report warns of times measured with several cells at once.
        study.plan.jobs = packing::choose_jobs(asked_jobs, &cells, out, program, request);
        let folder = open_folder(request, &study, cells, out, &claims)?;
        if request.action == Action::Begin {
            return Ok(folder.introduce_work());
        }
        folder.print_existing()?;
        folder.announce_start();
        packing::announce_jobs(asked_jobs, study.plan.jobs);
        let Some(outcome) = run_cells(request, &study, &folder, program, &claims)? else {
            end_search(&study, &folder, &claims)?;
            return Ok(Ending::Done);
        };
        let complete = !verifies && !outcome.interrupted;
        let ran_all = complete && outcome.not_started == 0;
        if ran_all && has_next_round(&mut study, &folder, &claims)? {
            twin_cells::merge_twins(&mut study, sources);
            continue;
        }
        if complete {
            end_search(&study, &folder, &claims)?;
        }
        folder.clear_prefixes(&study.plan.prefix_cache, &outcome);
        if complete && !study.is_searching() {
            measure_and_report(request, &study, &folder, program, &claims)?;
        }
        return Ok(folder.close_sweep(&outcome, request.slurm.is_some()));
    }
}

/// Returns the cells of the next round. The program checks them, and warnings that are not in `warned` are printed.
fn choose_cells(
    request: &SweepRequest,
    finder: Option<&mut RateFinder>,
    study: &mut PlannedStudy,
    sources: &StudyInputs,
    program: &Program,
    out: &Path,
    warned: &mut String,
) -> CommandResult<Vec<Cell>> {
    let searched = match finder {
        Some(finder) => next_search_cells(finder, study, sources, program, out)?,
        None => None,
    };
    let are_compared = searched.is_none() && request.action != Action::Verify;
    let mut cells = searched.unwrap_or_else(|| sources.make_cells(study, program));
    if are_compared {
        cells = reached_cells(study, cells, out)?;
    }
    let warnings = info_span!("check", cells = cells.len()).in_scope(|| program.check_cells(&cells))?;
    data_report::print_warnings(&warnings, warned);
    if are_compared {
        // A machine from which jobs are submitted is shared.
        let known_only = request.slurm.is_some();
        study.block_scores = block_scores::score_sets(study, &cells, program, out, known_only);
    }
    Ok(cells)
}

/// Opens the folder of a round's cells: the sweep's, or a temporary one for a verification.
fn open_folder<'a>(
    request: &SweepRequest,
    study: &PlannedStudy,
    cells: Vec<Cell>,
    out: &Path,
    claims: &'a ProcessClaims,
) -> CommandResult<SweepFolder<'a>> {
    if request.action == Action::Verify {
        return SweepFolder::for_verification(cells);
    }
    let detaches = request.slurm.as_ref().is_some_and(|slurm| slurm.detach);
    let stays = request.action != Action::Begin && !detaches;
    SweepFolder::open_for_sweep(out, study.sweep_file(cells, stays), claims)
}

/// Runs the folder's cells that are left, here or on a cluster; `None` if they run on a cluster without this command.
fn run_cells(
    request: &SweepRequest,
    study: &PlannedStudy,
    folder: &SweepFolder<'_>,
    program: &Program,
    claims: &ProcessClaims,
) -> CommandResult<Option<Outcome>> {
    let Some(slurm) = &request.slurm else {
        return run_here(request, study, folder, program, claims).map(Some);
    };
    Ok(match slurm::run_on_cluster(request, slurm, folder, program)? {
        slurm::ClusterRound::Ended(outcome) => Some(outcome),
        slurm::ClusterRound::Detached => None,
    })
}

/// Measures the steps of policies in turns, and writes the report.
fn measure_and_report(
    request: &SweepRequest,
    study: &PlannedStudy,
    folder: &SweepFolder<'_>,
    program: &Program,
    claims: &ProcessClaims,
) -> CommandResult<()> {
    // A machine from which jobs are submitted is shared, and another one than theirs.
    if request.slurm.is_none() {
        let measure = || timing::measure_groups(study, folder, program, request.threads, claims);
        info_span!("timing").in_scope(measure)?;
    }
    info_span!("report").in_scope(|| report::write_report(folder.path(), claims))
}

/// Returns the cells that a sweep has reached: all, unless it grows until its question is answered.
fn reached_cells(study: &mut PlannedStudy, cells: Vec<Cell>, folder: &Path) -> CommandResult<Vec<Cell>> {
    if !study.plan.decide.is_on() {
        return Ok(cells);
    }
    let (cells, rounds) = match study.rounds {
        None => growing::first_round(cells),
        // Any process may have added cells.
        Some(_) => {
            let Sweep { cells, rounds, .. } = Sweep::read(folder).blame_environment()?;
            (cells, rounds.unwrap_or_default())
        }
    };
    study.rounds = Some(rounds);
    Ok(cells)
}

/// Whether cells follow those that have been run: of a search, or of a sweep that grows. They are added.
fn has_next_round(
    study: &mut PlannedStudy,
    folder: &SweepFolder<'_>,
    claims: &ProcessClaims,
) -> CommandResult<bool> {
    if study.is_searching() {
        return Ok(!failed_for_good(folder));
    }
    if study.rounds.is_none() {
        return study.next_search_round(folder.cells(), |cell| folder.read_record(cell));
    }
    Ok(match growing::add_round(folder.path(), claims)? {
        NextRound::Added => true,
        NextRound::Ended => false,
        // Another process has added cells, or jobs of a cluster have left cells without a record.
        NextRound::NotYet => {
            Sweep::read(folder.path()).blame_environment()?.cells.len() > folder.cells().len()
        }
    })
}

/// Returns the next cells of the search for learning rates, if it continues. The study gets the rates found so far.
fn next_search_cells(
    finder: &mut RateFinder,
    study: &mut PlannedStudy,
    sources: &StudyInputs,
    program: &Program,
    out: &Path,
) -> CommandResult<Option<Vec<Cell>>> {
    let record = |cell: &Cell| folder::record_of(out, cell);
    let round = finder.next_round(study, sources, program, record)?;
    study.take_rates(finder.stored_search(study, sources, program, record));
    Ok(match round {
        SearchRound::Found => None,
        SearchRound::Cells(cells) => {
            finder.announce_round();
            Some(cells)
        }
    })
}

/// Whether a cell of a search has failed, other than by its rate.
fn failed_for_good(folder: &SweepFolder<'_>) -> bool {
    let mut records = folder.cells().iter().filter_map(|cell| folder.read_record(cell));
    records.any(|record| record.error.is_some() && !record.diverged())
}

/// Withdraws the note that this command adds cells, if a search stops before its last round.
fn end_search(study: &PlannedStudy, folder: &SweepFolder<'_>, claims: &ProcessClaims) -> CommandResult<()> {
    if study.search_continues() { folder.end_search(claims) } else { Ok(()) }
}

/// The way to the program. If it chooses the backend, it is asked at once.
fn with_backend<'a>(
    study: &mut PlannedStudy,
    program: impl FnOnce() -> CommandResult<Program> + 'a,
) -> CommandResult<Box<dyn FnOnce() -> CommandResult<Program> + 'a>> {
    if study.backend != Backend::Auto {
        return Ok(Box::new(program));
    }
    let found = program()?;
    study.backend = found.backend;
    Ok(Box::new(|| Ok(found)))
}

/// The way to the program. If policies choose blocks by scores, it is asked for them at once.
fn with_block_orders<'a>(
    study: &mut PlannedStudy,
    sources: &StudyInputs,
    folder: &Path,
    program: Box<dyn FnOnce() -> CommandResult<Program> + 'a>,
) -> CommandResult<Box<dyn FnOnce() -> CommandResult<Program> + 'a>> {
    if !block_scores::needs_scores(study) {
        return Ok(program);
    }
    let found = program()?;
    study.block_orders = block_scores::find_orders(study, sources, &found, folder)?;
    Ok(Box::new(|| Ok(found)))
}

/// Runs the folder's cells that are left on this machine.
fn run_here(
    request: &SweepRequest,
    study: &PlannedStudy,
    folder: &SweepFolder<'_>,
    program: &Program,
    claims: &ProcessClaims,
) -> CommandResult<Outcome> {
    let (verifies, searches) = (request.action == Action::Verify, study.is_searching());
    let failures = request.failures;
    // A rate at which the loss is no number is a result of a search.
    let failures = Failures { stop: failures.stop && !searches, ..failures };
    let executor = LocalWorkers::new(program, study.plan.jobs, request.threads, folder.log_folder())
        .with_failures(failures);
    let prefixes = folder.prefix_place(&study.plan.prefix_cache, executor.parallelism())?;
    let jobs = folder.pending_jobs(prefixes.as_ref(), study.plan.checkpoints)?;
    let mut observers: Vec<Box<dyn Observer>> =
        vec![progress::choose_observer(study.plan.synthetic, &jobs, folder.recorded_before())];
    if !verifies && !searches {
        observers.extend(track::tracking_observer(&study.plan, folder.path()));
    }
    let mut jobs: Box<dyn Jobs> = match verifies {
        true => Box::new(Queue::from(jobs)),
        false => Box::new(ClaimedJobs::new(claims, jobs, 0)),
    };
    let left = jobs.unstarted_jobs();
    info_span!("cells", jobs = left).in_scope(|| executor.run(jobs.as_mut(), &mut observers))
}
