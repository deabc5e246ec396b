//! Faults that stop a command, each with the exit code of its kind.

/// Exit code: the sweep ended, but some cells failed.
pub const CELLS_FAILED: u8 = 1;
/// Exit code: bad plan or arguments.
pub const PLAN: u8 = 2;
/// Exit code: data, encoder, output folder, device or build.
pub const ENVIRONMENT: u8 = 3;
/// Exit code: stopped by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// A fault and the exit code it ends in.
#[derive(Debug)]
pub struct Fault {
    /// [`PLAN`] or [`ENVIRONMENT`].
    pub code: u8,
    /// What a person reads.
    pub error: anyhow::Error,
}

/// A result whose error ends the command.
pub type Result<T> = std::result::Result<T, Fault>;

/// Says whose fault an error is.
pub trait Blame<T> {
    /// The plan or the arguments are wrong.
    fn plan(self) -> Result<T>;
    /// Something around the sweep is wrong.
    fn environment(self) -> Result<T>;
}

impl<T, E: Into<anyhow::Error>> Blame<T> for std::result::Result<T, E> {
    fn plan(self) -> Result<T> {
        self.map_err(|error| Fault { code: PLAN, error: error.into() })
    }

    fn environment(self) -> Result<T> {
        self.map_err(|error| Fault { code: ENVIRONMENT, error: error.into() })
    }
}

/// A fault of what is around the sweep.
pub fn environment<T>(message: impl Into<String>) -> Result<T> {
    Err(anyhow::Error::msg(message.into())).environment()
}
