//! The file of `--trace`: spans of this process and of all workers, as Chrome's trace events.
//!
//! Format: <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU> ("JSON array format"). Each
//! process appends whole lines, so that a killed one leaves a file that can be read; the closing bracket is optional.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::fault::{Blame as _, CommandResult};
use crate::place;

/// The environment variable that names the file to which a worker appends its spans.
pub const VARIABLE: &str = "FROSTLINE_TRACE";

/// A trace that is being written, or none.
#[derive(Debug)]
pub(crate) struct Trace<'a>(Option<&'a Path>);

impl<'a> Trace<'a> {
    /// Starts the file anew. A file that is no trace is left as it is: it may be anything, the plan included.
    pub(crate) fn begin_file(path: Option<&'a PathBuf>) -> CommandResult<Self> {
        if let Some(path) = path {
            if !is_ours(path) {
                let shown = place::shown_path(path);
                return Err(anyhow!("{shown}: it is no trace, and would be lost; give --trace another file"))
                    .blame_plan();
            }
            frostline_files::write(path, b"[\n")
                .map_err(|error| anyhow!("{error}; give --trace a file that can be written"))
                .blame_environment()?;
        }
        Ok(Self(path.map(PathBuf::as_path)))
    }

    /// Ends the file of a process of this name, once all its workers have ended.
    pub(crate) fn end_file(&self, process: &str) -> CommandResult<()> {
        let Some(path) = self.0 else { return Ok(()) };
        let name = serde_json::json!({
            "ph": "M", "name": "process_name", "pid": std::process::id(), "tid": 0,
            "args": { "name": process },
        });
        let mut file = frostline_files::append(path).blame_environment()?;
        file.write_all(format!("{name}\n]\n").as_bytes()).blame_environment()
    }
}

/// Whether a file can be replaced by a trace: it is none yet, empty, or a trace. A device is none of these.
fn is_ours(path: &Path) -> bool {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return false;
    }
    let mut start = Vec::new();
    // A file that cannot be read is left to the message of the one that cannot be written.
    let read = frostline_files::open(path)
        .map_err(|error| error.reason)
        .and_then(|file| file.take(4096).read_to_end(&mut start));
    let is_trace = || {
        let events = start.strip_prefix(b"[\n").map(String::from_utf8_lossy);
        events.is_some_and(|events| events.lines().next().is_none_or(|event| event.contains("\"ph\":")))
    };
    read.is_err() || start.is_empty() || is_trace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trace_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("trace.json");
        let begin = || Trace::begin_file(Some(&file)).map_err(|fault| fault.error.to_string());
        begin().expect("no file yet").end_file("sweep").expect("an end");
        begin().expect("the trace of before").end_file("sweep").expect("an end");
        begin().expect("a trace that was killed at once");
        for other in ["name = \"mine\"\n", "[\n  1\n]\n", "[grid]\n"] {
            std::fs::write(&file, other).expect("a file");
            let error = begin().expect_err(other);
            assert!(error.ends_with("would be lost; give --trace another file"), "{error}");
            assert_eq!(std::fs::read_to_string(&file).expect("the file"), other);
        }
        #[cfg(unix)]
        Trace::begin_file(Some(&"/dev/null".into())).expect_err("a device");
        let nowhere = folder.path().join("no/trace.json");
        let error = Trace::begin_file(Some(&nowhere)).expect_err("no folder").error.to_string();
        assert_eq!(error.matches("os error").count(), 1, "{error}");
    }
}
