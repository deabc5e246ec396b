//! What every tracker does.

use std::time::SystemTime;

use frostline_files::FileError;

use crate::{Ending, Point, Run};

/// Takes runs and their values.
///
/// A run's values may wait inside until [`Tracker::flush`], which a caller calls about once a second while there are
/// any, and before it ends. Values of a run that was not started are ignored.
pub trait Tracker: Send {
    /// The tracker's name for messages, with where it writes.
    fn name(&self) -> String;

    /// Begins a run, or goes on with one.
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

    /// Writes or sends what waits.
    ///
    /// # Errors
    /// If that fails; what was to be sent is kept for the next time, as far as there is room.
    fn flush(&mut self) -> Result<(), TrackError>;
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
        /// What was asked for.
        url: String,
        /// Why it failed.
        reason: String,
    },
}
