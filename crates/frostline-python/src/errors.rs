//! Exceptions of the package, which `python/frostline/_errors.py` defines.

use pyo3::prelude::*;

/// What an exception of `frostline._errors` is made from: message, advice, file, line, column.
pub type ErrorParts = (String, String, Option<String>, Option<usize>, Option<usize>);

/// An exception of `frostline._errors`.
pub fn raise(py: Python<'_>, class: &str, parts: ErrorParts) -> PyErr {
    let made = py.import("frostline._errors").and_then(|module| module.getattr(class)?.call1(parts));
    match made {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// An error that is about no line, with the advice after its last semicolon.
pub fn raise_text(py: Python<'_>, class: &str, file: Option<String>, text: &str) -> PyErr {
    let (message, advice) = split_advice(text);
    raise(py, class, (message.into(), advice.into(), file, None, None))
}

/// Messages of the project end with what to do next, after the last semicolon.
pub fn split_advice(text: &str) -> (&str, &str) {
    text.rsplit_once("; ").unwrap_or((text, ""))
}
