//! The workspace's own commands, `cargo xtask COMMAND`.
//!
//! `sweep`, `work`, `report`, `publish` and `fetch` are the same as in `frostline`, over the same library; `sweep`
//! and `work` first build the program for the chosen backend. The others are for developers. It does not depend on
//! burn and compiles in seconds. It is a
//! library so that the end-to-end tests can run the same commands.
#![forbid(unsafe_code)]

mod args;
mod book;
mod build;
mod ci;
mod dist;
mod fetch;
mod fuzz;
mod markdown;
mod marks;
mod same;
mod sbom;
mod study;
mod tidy;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use frostline_sweep::fault::{CommandResult, PLAN};
use frostline_sweep::{Backend, Ending, exit_code};

use crate::args::{Arguments, SweepOptions, WorkOptions, XtaskCommand};
use crate::build::BuildProfile;

/// Runs one command and returns its exit code: 0 done, 1 some cells failed, 2 bad plan or arguments,
/// 3 environment, 130 interrupted.
pub fn run_command(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = fuzz::instrument::compile_instrumented(&arguments) {
        return code;
    }
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) => exit_code(dispatch_command(arguments.command)),
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(PLAN);
            let _ = error.print();
            ExitCode::from(code)
        }
    }
}

fn dispatch_command(command: XtaskCommand) -> CommandResult<Ending> {
    match command {
        XtaskCommand::Sweep(options) => run_sweep(*options),
        XtaskCommand::Work(options) => run_work(options),
        XtaskCommand::Report(args) => frostline_sweep::report(&args.folders, args.out.as_deref()),
        XtaskCommand::Publish(args) => frostline_sweep::publish(&args.folder, &args.to),
        XtaskCommand::Fetch(args) => fetch::run_fetch(args),
        XtaskCommand::Bench(args) => {
            let build =
                || build::prepare_program(args.backend, args.runner.as_deref(), BuildProfile::Release);
            frostline_bench::bench(&args, &workspace::workspace_root(), build)
        }
        XtaskCommand::Device(args) => {
            let build = || build::prepare_beside_flex(args.backend, args.runner.as_deref());
            frostline_bench::device(&args, &workspace::workspace_root(), build)
        }
        XtaskCommand::Same(args) => same::compare_results(&args.before, &args.after),
        XtaskCommand::Dist(args) => dist::make_release(&args),
        XtaskCommand::Sbom(args) => sbom::write_sbom(&args),
        XtaskCommand::Fuzz(args) => fuzz::run_fuzz(&args),
        XtaskCommand::Study(args) => study::write_study_pages(args.check),
        XtaskCommand::Tidy => tidy::run_tidy(),
        XtaskCommand::BookChapters(args) => book::answer_mdbook(&args),
        XtaskCommand::Ci(args) => ci::run_ci(&args),
    }
}

/// Runs a study with the program that is built for its backend.
fn run_sweep(options: SweepOptions) -> CommandResult<Ending> {
    let SweepOptions { sweep, runner } = options;
    let program = |backend| build::prepare_program(backend, runner.as_deref(), BuildProfile::Runner);
    sweep.into_command()?.run_sweep(&workspace::workspace_place(), Backend::default(), program)
}

/// Runs cells of a sweep with the program that is built for its backend.
fn run_work(options: WorkOptions) -> CommandResult<Ending> {
    let WorkOptions { work, runner } = options;
    frostline_sweep::work(&work.into_request(), |backend| {
        build::prepare_program(backend, runner.as_deref(), BuildProfile::Runner)
    })
}
