//! Every change of a file passes through this module. With the feature `faults`, which no released program has,
//! any change can be made to fail, or to be the last before a power cut.
//!
//! `FROSTLINE_FAULT_LOG=FILE` adds a line to FILE for each operation: `ROLE NUMBER OPERATION PATH`. The role is the
//! program's command, such as `sweep` or `worker`, and numbers count from 1 in each process.
//!
//! `FROSTLINE_FAULT=ROLE:NUMBER:KIND` chooses an operation. KIND is
//!
//! - `error`: the operation fails without having done anything;
//! - `short`: half of a write reaches the file, then it fails, as on a disk that becomes full;
//! - `before`, `after`: the power is cut before or after the operation;
//! - `half`: the power is cut when half of a write has reached the disk.
//!
//! A power cut ends the process and the one that started it.

use std::io;
use std::path::Path;

/// A change of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A folder is created.
    CreateFolder,
    /// A file is created, or opened to be added to.
    Create,
    /// Bytes are written.
    Write,
    /// A file's bytes are brought to the disk.
    Sync,
    /// A file gets a second name.
    Link,
    /// A file's time is set to the present.
    Touch,
    /// A file or folder gets another name.
    Rename,
    /// A file or an empty folder is removed.
    Remove,
}

/// How much of a write is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    #[cfg_attr(not(feature = "faults"), allow(dead_code))]
    Half,
}

/// Does `work`, or the fault requested by the environment.
#[cfg(not(feature = "faults"))]
pub(crate) fn run_operation<T>(
    _operation: Operation,
    _path: &Path,
    work: impl FnOnce(Extent) -> io::Result<T>,
) -> io::Result<T> {
    work(Extent::Whole)
}

#[cfg(feature = "faults")]
pub(crate) use injected::run_operation;

#[cfg(feature = "faults")]
mod injected {
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Extent, Operation, Path, io};

    /// The number of the last operation.
    static LAST: AtomicU64 = AtomicU64::new(0);

    /// The fault and the log requested by the environment.
    struct RequestedFault {
        role: String,
        log: Option<String>,
        fault: Option<(u64, String)>,
    }

    fn requested_faults() -> &'static RequestedFault {
        static ASKED: OnceLock<RequestedFault> = OnceLock::new();
        ASKED.get_or_init(|| {
            let role = std::env::args().nth(1).unwrap_or_default();
            let fault = std::env::var("FROSTLINE_FAULT").ok().and_then(|text| {
                let mut parts = text.split(':');
                let mine = parts.next()? == role;
                let number = parts.next()?.parse().ok()?;
                mine.then_some((number, parts.next()?.to_string()))
            });
            RequestedFault { role, log: std::env::var("FROSTLINE_FAULT_LOG").ok(), fault }
        })
    }

    pub(crate) fn run_operation<T>(
        operation: Operation,
        path: &Path,
        work: impl FnOnce(Extent) -> io::Result<T>,
    ) -> io::Result<T> {
        let number = LAST.fetch_add(1, Ordering::SeqCst) + 1;
        let RequestedFault { role, log, fault } = requested_faults();
        if let Some(log) = log {
            let line = format!("{role} {number} {operation:?} {}\n", path.display());
            let file = OpenOptions::new().create(true).append(true).open(log);
            file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the log of operations");
        }
        let fail = || Err(io::Error::other("no space left on device (injected fault)"));
        let kind = fault.as_ref().filter(|(at, _)| *at == number).map(|(_, kind)| kind.as_str());
        match kind {
            None => work(Extent::Whole),
            Some("error") => fail(),
            Some("short") => work(Extent::Half).and_then(|_| fail()),
            Some("before") => cut_power(),
            Some("half") => {
                let _ = work(Extent::Half);
                cut_power()
            }
            Some("after") => {
                let _ = work(Extent::Whole);
                cut_power()
            }
            Some(other) => panic!("FROSTLINE_FAULT: there is no kind `{other}`"),
        }
    }

    /// Ends the process that started this one, and then this one.
    fn cut_power() -> ! {
        #[cfg(unix)]
        if requested_faults().role == "worker" {
            let parent = std::os::unix::process::parent_id().to_string();
            let _ = std::process::Command::new("kill").args(["-9", &parent]).status();
        }
        std::process::abort()
    }
}
