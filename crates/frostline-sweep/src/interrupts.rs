//! Requests to stop: the user's Ctrl-C, and what systems and cluster engines send. TERM and HUP end a job; USR1 and USR2 come
//! before a time limit.
//!
//! An engine signals every process of a job, in any order: workers leave signals to their parent, which asks them to stop
//! ([`leave_to_parent`]), and a parent whose worker was ended from outside waits a moment for its own signal
//! ([`asked_within`]). Some engines send a signal several times: only a second Ctrl-C means more than the first.

use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::fault::INTERRUPTED;
use crate::worker::WorkerMessage;

/// Why a process is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) enum StopRequest {
    /// A person pressed Ctrl-C.
    CtrlC,
    /// The system ends the job, or a person has cancelled it.
    End,
    /// The job's time is almost over.
    TimeLimit,
}

/// Ctrl-C that comes this soon after the first one is the same: `timeout` and some engines signal a process directly and
/// with its group.
const SAME: Duration = Duration::from_millis(500);

/// What is done before a request ends the process while no round is running.
type Closing = Box<dyn Fn(StopRequest) + Send>;

struct InterruptState {
    /// The handlers are installed; a process can have only one of each.
    listens: bool,
    /// The running round.
    running: Option<Sender<WorkerMessage>>,
    closing: Option<Closing>,
    first: Option<(StopRequest, Instant)>,
}

static STATE: Mutex<InterruptState> =
    Mutex::new(InterruptState { listens: false, running: None, closing: None, first: None });

/// Is notified of the first request.
static ASKED: Condvar = Condvar::new();

fn lock_state() -> MutexGuard<'static, InterruptState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends [`WorkerMessage::Interrupt`] to this round from now on.
pub(crate) fn notify_round(sender: Sender<WorkerMessage>) -> anyhow::Result<()> {
    lock_state().running = Some(sender);
    install_handlers()
}

/// Ends what [`notify_round`] began. Returns the request that has come meanwhile, if any.
pub(crate) fn listen_no_more() -> Option<StopRequest> {
    let mut state = lock_state();
    state.running = None;
    state.first.map(|(request, _)| request)
}

/// From now on a request ends the process after this was done, while no round is running.
pub(crate) fn listen_between_rounds(closing: impl Fn(StopRequest) + Send + 'static) -> anyhow::Result<()> {
    lock_state().closing = Some(Box::new(closing));
    install_handlers()
}

/// Returns the first request of all.
pub(crate) fn first_request() -> Option<StopRequest> {
    lock_state().first.map(|(request, _)| request)
}

/// Waits until there was a request, for at most so long, and returns whether there was.
pub(crate) fn asked_within(limit: Duration) -> bool {
    let waits = ASKED.wait_timeout_while(lock_state(), limit, |state| state.first.is_none());
    waits.unwrap_or_else(PoisonError::into_inner).0.first.is_some()
}

/// Handles a request that has arrived.
fn receive_request(request: StopRequest) {
    let mut state = lock_state();
    let again = state.first.map(|(_, at)| at.elapsed());
    if again.is_some_and(|since| request != StopRequest::CtrlC || since < SAME) {
        return;
    }
    state.first.get_or_insert((request, Instant::now()));
    ASKED.notify_all();
    if state.running.as_ref().is_some_and(|round| round.send(WorkerMessage::Interrupt).is_ok()) {
        return;
    }
    // Between rounds, and while the report is written, there are no workers to stop.
    if let Some(closing) = state.closing.take() {
        drop(state);
        closing(request);
    }
    std::process::exit(INTERRUPTED.into());
}

fn install_handlers() -> anyhow::Result<()> {
    if std::mem::replace(&mut lock_state().listens, true) {
        return Ok(());
    }
    system::install_handlers().context("signals that ask this process to stop cannot be handled")
}

/// Makes this process, a worker, outlive the signals that ask processes to stop: its parent gets them too and asks it what
/// to do, and its input ends when the parent does.
///
/// # Errors
/// If the system does not allow it.
pub fn leave_to_parent() -> std::io::Result<()> {
    system::ignore_interrupts()
}

/// Whether a process that ended so was ended by a signal that may have gone to all processes of a job.
pub(crate) fn was_ended_from_outside(status: Option<std::process::ExitStatus>) -> bool {
    system::was_ended_from_outside(status)
}

#[cfg(unix)]
mod system {
    use std::io::Result;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGUSR1, SIGUSR2};
    use signal_hook::iterator::Signals;

    use super::{StopRequest, receive_request};

    const ALL: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

    pub(super) fn install_handlers() -> Result<()> {
        // `nohup` has hangups ignored.
        let wanted = ALL.iter().filter(|signal| **signal != SIGHUP || !hangups_are_ignored());
        let mut signals = Signals::new(wanted)?;
        std::thread::spawn(move || {
            for signal in signals.forever() {
                receive_request(match signal {
                    SIGINT => StopRequest::CtrlC,
                    SIGUSR1 | SIGUSR2 => StopRequest::TimeLimit,
                    _ => StopRequest::End,
                });
            }
        });
        Ok(())
    }

    /// A handler that does nothing, unlike a signal that is ignored, is not passed on to programs that this one starts.
    pub(super) fn ignore_interrupts() -> Result<()> {
        let unread = Arc::new(AtomicBool::new(false));
        ALL.iter().try_for_each(|signal| signal_hook::flag::register(*signal, unread.clone()).map(drop))
    }

    pub(super) fn was_ended_from_outside(status: Option<ExitStatus>) -> bool {
        status
            .and_then(|status| status.signal())
            .is_some_and(|signal| signal == SIGKILL || ALL.contains(&signal))
    }

    /// As Linux reports it; unknown on other systems.
    fn hangups_are_ignored() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
    }
}

#[cfg(not(unix))]
mod system {
    use std::io::{Error, Result};
    use std::process::ExitStatus;

    use super::{StopRequest, receive_request};

    /// The exit code of a process that Windows ended because of Ctrl-C or the end of a session.
    const CONTROL_C_EXIT: i32 = 0xC000_013A_u32 as i32;

    pub(super) fn install_handlers() -> Result<()> {
        ctrlc::set_handler(|| receive_request(StopRequest::CtrlC)).map_err(Error::other)
    }

    /// Ctrl-C and Ctrl-Break reach every process of a console.
    pub(super) fn ignore_interrupts() -> Result<()> {
        ctrlc::set_handler(|| {}).map_err(Error::other)
    }

    pub(super) fn was_ended_from_outside(status: Option<ExitStatus>) -> bool {
        status.and_then(|status| status.code()) == Some(CONTROL_C_EXIT)
    }
}
