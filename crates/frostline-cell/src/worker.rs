//! The worker: jobs in on standard input, events out on standard output, one JSON value per line. It exits when
//! its input closes, even during a cell: an orphan never continues to write. When asked to stop, it first
//! stores the cell's state.

use std::io::{BufRead as _, Write as _};
use std::sync::mpsc;

use anyhow::{Context, Result};
use frostline_record::{Event, Job, STOP};

use crate::cell::CellTask;
use crate::shared::Shared;
use crate::stop;
use crate::version::made_by;
use frostline_kernels::backend;

/// Serves jobs on this backend until standard input closes.
///
/// # Errors
/// If the backend cannot run here, a line is no job, or a cell's folder cannot be written.
pub fn serve(backend: &str) -> Result<()> {
    let made_by = made_by(backend)?;
    let mut tell = |event: Event| {
        let line = serde_json::to_string(&event).expect("plain data always serialises");
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            // The reader is gone.
            std::process::exit(0);
        }
        // Before its first step a cell has nothing that is not on the disk.
        if matches!(event, Event::Loaded(_) | Event::Prefix(_)) {
            stop::end_if_asked();
        }
    };
    tell(Event::Ready(made_by.clone()));
    let mut shared = Shared::default();
    for line in lines() {
        let job: Job = serde_json::from_str(&line).context("standard input: no job")?;
        let task = CellTask { job: &job, made_by: made_by.clone(), shared: &mut shared, tell: &mut tell };
        backend::on(backend, task)??;
        stop::end_if_asked();
    }
    Ok(())
}

/// Returns the lines of standard input up to the request to stop. A separate thread reads them, and ends the
/// process when the input closes.
fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut sender = Some(sender);
        for line in std::io::stdin().lock().lines() {
            match line {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) if line == STOP => {
                    stop::ask();
                    // Without a job the worker ends now.
                    sender = None;
                }
                Ok(line) => {
                    let _ = sender.as_ref().map(|sender| sender.send(line));
                }
                Err(_) => break,
            }
        }
        std::process::exit(0);
    });
    receiver
}
