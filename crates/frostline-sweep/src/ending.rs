//! How a command ends: its exit code and the printed error.

use std::process::ExitCode;

use crate::fault::{CELLS_FAILED, CommandResult, INTERRUPTED};

/// How a command ended that was not stopped by a [`Fault`](crate::fault::Fault).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything was done.
    Done,
    /// Part of the work failed; messages about it were printed.
    Failed,
    /// The user interrupted it.
    Interrupted,
    /// Another process did the work and ended with this exit code.
    As(u8),
}

/// Prints the error, if any, and returns the exit code: 0 done, 1 some cells failed, 2 bad plan or arguments,
/// 3 environment, 130 interrupted.
#[must_use]
pub fn exit_code(result: CommandResult<Ending>) -> ExitCode {
    match result {
        Ok(Ending::Done) => ExitCode::SUCCESS,
        Ok(Ending::Failed) => ExitCode::from(CELLS_FAILED),
        Ok(Ending::Interrupted) => ExitCode::from(INTERRUPTED),
        Ok(Ending::As(code)) => ExitCode::from(code),
        Err(fault) => {
            note!("error: {:#}", fault.error);
            ExitCode::from(fault.code)
        }
    }
}
