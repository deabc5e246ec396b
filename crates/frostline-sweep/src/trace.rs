//! The file of `--trace`: spans of this process and of all workers, as Chrome's trace events.
//!
//! Format: <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU> ("JSON array format"). Each
//! process appends whole lines, so that a killed one leaves a file that can be read; the closing bracket is optional.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::fault::{Blame as _, Result};

/// The environment variable by which a worker learns where to append its spans.
pub const VARIABLE: &str = "FROSTLINE_TRACE";

/// A trace that is being written, or none.
#[derive(Debug)]
pub(crate) struct Trace<'a>(Option<&'a Path>);

impl<'a> Trace<'a> {
    /// Starts the file anew.
    pub(crate) fn begin(path: Option<&'a PathBuf>) -> Result<Self> {
        if let Some(path) = path {
            frostline_files::write(path, b"[\n").environment()?;
        }
        Ok(Self(path.map(PathBuf::as_path)))
    }

    /// Ends the file of a process of this name, once all its workers have ended.
    pub(crate) fn end(&self, process: &str) -> Result<()> {
        let Some(path) = self.0 else { return Ok(()) };
        let name = serde_json::json!({
            "ph": "M", "name": "process_name", "pid": std::process::id(), "tid": 0,
            "args": { "name": process },
        });
        let mut file = frostline_files::append(path).environment()?;
        file.write_all(format!("{name}\n]\n").as_bytes()).environment()
    }
}
