//! Standard output and standard error: where the work is worth more than its output, and where the output is the work.

use std::io::{BufWriter, ErrorKind, StdoutLock, Write as _};
use std::sync::OnceLock;

use anyhow::anyhow;

use crate::ending::Ending;
use crate::fault::{Blame as _, Result};

/// Writes what a command was asked to print. If nobody reads on, the command ends as if all was read.
///
/// # Errors
/// Where standard output cannot be written for another reason.
pub fn print(write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> std::io::Result<()>) -> Result<Ending> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow!("standard output cannot be written: {error}")).environment()
        }
        _ => Ok(Ending::Done),
    }
}

/// What a command that runs cells writes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per event; lines for people go to standard error.
    Json,
    /// Nothing. Only warnings and errors go to standard error.
    Quiet,
}

static OUTPUT: OnceLock<Output> = OnceLock::new();

/// Decides for the rest of this process what its lines are.
pub(crate) fn set_output(output: Output) {
    let _ = OUTPUT.set(output);
}

/// What this process's lines are.
pub(crate) fn output() -> Output {
    OUTPUT.get().copied().unwrap_or_default()
}

/// Writes a line for people. Where its place is closed or full, the line is lost and the work goes on.
pub fn say_line(line: &str) {
    let _ = match output() {
        Output::Text => writeln!(std::io::stdout(), "{line}"),
        Output::Json => writeln!(std::io::stderr(), "{line}"),
        Output::Quiet => Ok(()),
    };
}

/// Writes a line to standard output, unless the command line asks for other output there. Characters that would act on a
/// terminal are shown by their code points.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => {
        $crate::say_line(&$crate::visible(&::std::format!($($argument)*)))
    };
}

/// Writes a line to standard error. Where that is closed or full, the line is lost and the work goes on.
/// Characters that would act on a terminal are shown by their code points.
#[macro_export]
macro_rules! note {
    ($($argument:tt)*) => {{
        use ::std::io::Write as _;
        let _ = ::std::writeln!(::std::io::stderr(), "{}", $crate::visible(&::std::format!($($argument)*)));
    }};
}
