//! The user's Ctrl-C, and a system's requests to end: TERM, and USR1, which cluster engines send before a time limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

use crate::fault::INTERRUPTED;
use crate::worker::Message;

/// The running round.
static RUNNING: Mutex<Option<Sender<Message>>> = Mutex::new(None);

/// Whether USR1 was received.
static USR1: AtomicBool = AtomicBool::new(false);

/// Whether the handlers are installed; a process can have only one of each.
static LISTENING: AtomicBool = AtomicBool::new(false);

/// Sends [`Message::Interrupt`] to this round from now on.
pub(crate) fn listen(sender: Sender<Message>) -> anyhow::Result<()> {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    if LISTENING.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    ctrlc::set_handler(interrupt).context("Ctrl-C cannot be handled")?;
    listen_for_usr1().context("the signal USR1 cannot be handled")
}

/// Whether the signal USR1 has interrupted this process, as a cluster's engine sends it before a time limit.
pub(crate) fn by_usr1() -> bool {
    USR1.load(Ordering::Relaxed)
}

fn interrupt() {
    match &*RUNNING.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(sender) if sender.send(Message::Interrupt).is_ok() => {}
        // Between rounds, and while the report is written, there are no workers to stop.
        _ => std::process::exit(INTERRUPTED.into()),
    }
}

#[cfg(unix)]
fn listen_for_usr1() -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGUSR1])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            USR1.store(true, Ordering::Relaxed);
            interrupt();
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn listen_for_usr1() -> std::io::Result<()> {
    Ok(())
}
