//! The workspace's own commands, `cargo xtask COMMAND`.
//!
//! `sweep`, `work`, `report`, `publish` and `fetch` are those of `frostline`, over the same library; `sweep` and `work` first
//! build the program for the chosen backend. The others are for developers. It does not depend on burn and compiles in seconds. It is a
//! library so that the end-to-end tests can run the same commands.
#![forbid(unsafe_code)]

mod args;
mod book;
mod build;
mod ci;
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
use frostline_sweep::fault::{PLAN, Result};
use frostline_sweep::{Ending, exit_code};

use crate::args::{Arguments, Command, SweepOptions, WorkOptions};
use crate::build::Profile;

/// Runs one command and returns its exit code: 0 done, 1 some cells failed, 2 bad plan or arguments,
/// 3 environment, 130 interrupted.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(code) = fuzz::instrument::compile(&arguments) {
        return code;
    }
    match Arguments::try_parse_from(arguments) {
        Ok(arguments) => exit_code(dispatch(arguments.command)),
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(PLAN);
            let _ = error.print();
            ExitCode::from(code)
        }
    }
}

fn dispatch(command: Command) -> Result<Ending> {
    match command {
        Command::Sweep(options) => sweep(*options),
        Command::Work(options) => work(options),
        Command::Report(args) => frostline_sweep::report(&args.folders, args.out.as_deref()),
        Command::Publish(args) => frostline_sweep::publish(&args.folder, &args.to),
        Command::Fetch(args) => fetch::fetch(args),
        Command::Bench(args) => {
            let build = || build::prepare(args.backend, args.runner.as_deref(), Profile::Release);
            frostline_bench::bench(&args, &workspace::root(), build)
        }
        Command::Device(args) => {
            let build = || build::prepare_beside_flex(args.backend, args.runner.as_deref());
            frostline_bench::device(&args, &workspace::root(), build)
        }
        Command::Same(args) => same::same(&args.before, &args.after),
        Command::Sbom(args) => sbom::sbom(&args),
        Command::Fuzz(args) => fuzz::fuzz(&args),
        Command::Study(args) => study::study(args.check),
        Command::Tidy => tidy::tidy(),
        Command::BookChapters(args) => book::chapters(&args),
        Command::Ci(args) => ci::ci(&args),
    }
}

/// Runs a study with the program that is built for its backend.
fn sweep(options: SweepOptions) -> Result<Ending> {
    let SweepOptions { sweep, runner } = options;
    let program = |backend| build::prepare(backend, runner.as_deref(), Profile::Runner);
    sweep.command()?.run(&workspace::place(), program)
}

/// Runs cells of a sweep with the program that is built for its backend.
fn work(options: WorkOptions) -> Result<Ending> {
    let WorkOptions { work, runner } = options;
    frostline_sweep::work(&work.request(), |backend| {
        build::prepare(backend, runner.as_deref(), Profile::Runner)
    })
}
