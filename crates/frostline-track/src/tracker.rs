//! The trait of all trackers.
//!
//! # To add a tracker
//!
//! A type in `crates/frostline-track/src/` that implements `Tracker` (`tracker.rs`); a key of `TrackSettings`
//! in `crates/frostline-record/src/track.rs`; a row in `crates/frostline-sweep/src/track.rs`, which defines
//! runs and their values; a check with its own program in `tests/track/check.py`.

use std::path::PathBuf;
use std::time::{Instant, SystemTime};

use frostline_files::FileError;

use crate::{Ending, Point, Run};

/// Takes runs and their values.
///
/// A run's values may wait inside until [`Tracker::flush`], which a caller calls about once a second while there are
/// any, and before it ends. Values of a run that was not started are ignored.
pub trait Tracker: Send {
    /// Returns the tracker's name for messages, with its place.
    fn name(&self) -> String;

    /// Starts or resumes a run.
    ///
    /// # Errors
    /// If it cannot be written or sent. Later calls for this run then do nothing.
    fn start(&mut self, run: &Run) -> Result<(), TrackError>;

    /// Takes values of a run that was started.
    ///
    /// # Errors
    /// If they cannot be written.
    fn log(&mut self, run: &str, point: &Point) -> Result<(), TrackError>;

    /// Ends a run.
    ///
    /// # Errors
    /// If that cannot be written or sent.
    fn end(&mut self, run: &str, at: SystemTime, ending: Ending) -> Result<(), TrackError>;

    /// Writes or sends the waiting values.
    ///
    /// # Errors
    /// If that fails; the values are kept for the next time.
    fn flush(&mut self) -> Result<(), TrackError>;

    /// Writes or sends the waiting values for the last time, and sets aside values that could not be sent by
    /// then.
    ///
    /// # Errors
    /// If a value was not written or sent.
    fn finish(&mut self, _until: Instant) -> Result<(), TrackError> {
        self.flush()
    }
}

/// Why something was not tracked.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A server could not be reached, or refused.
    #[error("{url}: {reason}")]
    Server {
        /// The requested address.
        url: String,
        /// Why it failed.
        reason: String,
    },
    /// A server did not take everything until the end.
    #[error("{url}: {reason}; {values} values of {} were not sent{}", shown_runs(*runs), where_kept(kept.as_ref()))]
    Unsent {
        /// The server.
        url: String,
        /// Why it failed.
        reason: String,
        /// Runs of which something was not sent.
        runs: usize,
        /// Values that were not sent.
        values: usize,
        /// The folder that they are kept in, and the command that sends them.
        kept: Option<(PathBuf, String)>,
    },
}

fn shown_runs(runs: usize) -> String {
    format!("{runs} run{}", if runs == 1 { "" } else { "s" })
}

fn where_kept(kept: Option<&(PathBuf, String)>) -> String {
    match kept {
        Some((folder, command)) => format!(" and are kept in {}; `{command}` sends them", folder.display()),
        None => String::new(),
    }
}
