//! The project's own commands, `cargo xtask COMMAND`.
//!
//! It builds the runner and drives it; it computes no result itself, knows no burn and therefore
//! compiles in seconds. It is a library so that the end-to-end tests can run the very commands.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod ci;
mod demo_assets;
mod fault;
mod fetch;
mod report;
mod runner;
mod sweep;
mod tidy;
mod units;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Arguments, Command};
use crate::fault::{CELLS_FAILED, INTERRUPTED, Result};

/// How a command ended that ran into no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All is done.
    Done,
    /// Something that was asked for failed, and it was said what.
    Failed,
    /// A person stopped it.
    Interrupted,
    /// Another process did the work and ended with this code.
    #[cfg_attr(feature = "fetch", allow(dead_code))]
    As(u8),
}

/// Runs one command and says how it ended: 0 done, 1 some cells failed, 2 bad plan or arguments,
/// 3 environment, 130 interrupted.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(fault::PLAN);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match dispatch(&arguments.command) {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Failed) => ExitCode::from(CELLS_FAILED),
        Ok(Ending::Interrupted) => ExitCode::from(INTERRUPTED),
        Ok(Ending::As(code)) => ExitCode::from(code),
        Err(fault) => {
            eprintln!("error: {:#}", fault.error);
            ExitCode::from(fault.code)
        }
    }
}

fn dispatch(command: &Command) -> Result<Ending> {
    match command {
        Command::Sweep(args) => sweep::sweep(args),
        Command::Report(args) => report::again(&args.folder),
        Command::Fetch(args) => fetch::fetch(args),
        Command::DemoAssets(args) => demo_assets::make(args),
        Command::Bench(args) => bench::bench(args),
        Command::Tidy => tidy::tidy(),
        Command::Ci(args) => ci::ci(args),
    }
}
