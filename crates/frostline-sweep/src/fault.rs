//! Errors that stop a command, with their exit codes.

/// Exit code: the sweep ended, but some cells failed.
pub const CELLS_FAILED: u8 = 1;
/// Exit code: bad plan or arguments.
pub const PLAN: u8 = 2;
/// Exit code: data, encoder, output folder, device or build.
pub const ENVIRONMENT: u8 = 3;
/// Exit code: stopped by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// An error that stops the command, with the exit code.
#[derive(Debug)]
pub struct Fault {
    /// [`PLAN`] or [`ENVIRONMENT`].
    pub code: u8,
    /// The error to print.
    pub error: anyhow::Error,
}

/// A result whose error ends the command.
pub type CommandResult<T> = std::result::Result<T, Fault>;

/// Assigns an exit code to an error by its cause.
pub trait Blame<T> {
    /// The plan or the arguments are wrong: [`PLAN`].
    fn blame_plan(self) -> CommandResult<T>;
    /// Data, encoder, output folder, device or build are at fault: [`ENVIRONMENT`].
    fn blame_environment(self) -> CommandResult<T>;
}

impl<T, E: Into<anyhow::Error>> Blame<T> for std::result::Result<T, E> {
    fn blame_plan(self) -> CommandResult<T> {
        self.map_err(|error| Fault { code: PLAN, error: error.into() })
    }

    fn blame_environment(self) -> CommandResult<T> {
        self.map_err(|error| Fault { code: ENVIRONMENT, error: error.into() })
    }
}

/// A fault with the exit code [`ENVIRONMENT`].
///
/// # Errors
/// Always.
pub fn environment_fault<T>(message: impl Into<String>) -> CommandResult<T> {
    Err(anyhow::Error::msg(message.into())).blame_environment()
}
