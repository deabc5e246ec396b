//! Standard output and standard error: where the work is worth more than its output, and where the output is the work.

use std::io::{BufWriter, ErrorKind, StdoutLock, Write as _};

use anyhow::anyhow;

use crate::ending::Ending;
use crate::fault::{Blame as _, Result};

/// Writes what a command was asked to print. If nobody reads on, the command ends as if all was read.
pub(crate) fn print(
    write: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> std::io::Result<()>,
) -> Result<Ending> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow!("standard output cannot be written: {error}")).environment()
        }
        _ => Ok(Ending::Done),
    }
}

/// Writes a line to standard output. Where that is closed or full, the line is lost and the work goes on.
/// Characters that would act on a terminal are shown by their code points.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => {{
        use ::std::io::Write as _;
        let _ = ::std::writeln!(::std::io::stdout(), "{}", $crate::visible(&::std::format!($($argument)*)));
    }};
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
