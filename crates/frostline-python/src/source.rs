//! What is read: a path, several paths, or a file object.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::raise_text;

/// The bytes of one file.
#[derive(Clone)]
pub struct SourceBytes {
    /// The path, or a file object's name.
    pub name: String,
    pub bytes: Arc<Vec<u8>>,
}

/// Reads a path, a list of paths, or a file object that is open for reading.
pub fn read_sources(source: &Bound<'_, PyAny>) -> PyResult<Vec<SourceBytes>> {
    if source.hasattr("read")? {
        return Ok(vec![read_object(source)?]);
    }
    if let Ok(path) = source.extract::<PathBuf>() {
        return Ok(vec![read_path(source.py(), path)?]);
    }
    let paths: Vec<PathBuf> = source.extract().map_err(|_| {
        let kind = source.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        let text =
            format!("found {kind}, expected a path, a list of paths or a file object; give one of these");
        raise_text(source.py(), "SettingError", None, &text)
    })?;
    if paths.is_empty() {
        let text = "found an empty list, expected at least one path; give the files to read";
        return Err(raise_text(source.py(), "SettingError", None, text));
    }
    paths.into_iter().map(|path| read_path(source.py(), path)).collect()
}

fn read_path(py: Python<'_>, path: PathBuf) -> PyResult<SourceBytes> {
    let read = py.detach(|| std::fs::read(&path));
    let name = path.display().to_string();
    match read {
        Ok(bytes) => Ok(SourceBytes { name, bytes: Arc::new(bytes) }),
        // With the number of the error, Python chooses the class, such as FileNotFoundError.
        Err(error) => Err(match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string(), name)),
            None => PyOSError::new_err(format!("{name}: {error}")),
        }),
    }
}

fn read_object(object: &Bound<'_, PyAny>) -> PyResult<SourceBytes> {
    let read = object.call_method0("read")?;
    let bytes = if let Ok(bytes) = read.cast::<PyBytes>() {
        bytes.as_bytes().to_vec()
    } else if let Ok(text) = read.cast::<PyString>() {
        text.to_cow()?.into_owned().into_bytes()
    } else {
        let text =
            "read() of the file object returned neither bytes nor str; open the file with open(path, \"rb\")";
        return Err(raise_text(object.py(), "SettingError", None, text));
    };
    let name = object.getattr("name").ok().and_then(|name| name.extract::<String>().ok());
    Ok(SourceBytes { name: name.unwrap_or_else(|| "<file object>".into()), bytes: Arc::new(bytes) })
}
