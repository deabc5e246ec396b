//! Standard output and standard error: for commands whose work matters more than its output, and for commands whose
//! output is the work.

use std::io::{BufWriter, ErrorKind, StdoutLock, Write as _};
use std::sync::OnceLock;

use anyhow::anyhow;

use crate::ending::Ending;
use crate::fault::{Blame as _, CommandResult};

/// Writes what a command was asked to print. If the reader closes the output early, the command ends as if all was read.
///
/// # Errors
/// If standard output cannot be written for another reason.
pub fn print_output(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> std::io::Result<()>,
) -> CommandResult<Ending> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow!("standard output cannot be written: {error}")).blame_environment()
        }
        _ => Ok(Ending::Done),
    }
}

/// What a command that runs cells writes to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputKind {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per event; lines for people go to standard error.
    Json,
    /// Nothing. Only warnings and errors go to standard error.
    Quiet,
}

static OUTPUT: OnceLock<OutputKind> = OnceLock::new();

/// Sets for the rest of this process what is written to standard output.
pub(crate) fn set_output(output: OutputKind) {
    let _ = OUTPUT.set(output);
}

/// Returns what this process writes to standard output.
pub(crate) fn output_kind() -> OutputKind {
    OUTPUT.get().copied().unwrap_or_default()
}

/// Writes a line for people. If the output is closed or full, the line is lost and the work continues.
pub fn say_line(line: &str) {
    let _ = match output_kind() {
        OutputKind::Text => writeln!(std::io::stdout(), "{line}"),
        OutputKind::Json => writeln!(std::io::stderr(), "{line}"),
        OutputKind::Quiet => Ok(()),
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

/// Writes a line to standard error. If it is closed or full, the line is lost and the work continues.
/// Characters that would act on a terminal are shown by their code points.
#[macro_export]
macro_rules! note {
    ($($argument:tt)*) => {{
        use ::std::io::Write as _;
        let _ = ::std::writeln!(::std::io::stderr(), "{}", $crate::visible(&::std::format!($($argument)*)));
    }};
}
