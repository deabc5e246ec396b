//! Faults of files: as values from `validate`, and as the exception `frostline.DataError`.

use frostline_conllu::{Checks, FaultKind, read_lenient};
use pyo3::prelude::*;

use crate::errors::{raise, raise_text, split_advice};
use crate::source::read_sources;

/// One fault of a file and its place.
#[pyclass(frozen, get_all, module = "frostline")]
#[derive(Clone)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
    /// The sentence's `sent_id`, if it has one.
    pub sent_id: Option<String>,
    /// The name of the kind of fault, such as `ColumnCount`.
    pub kind: String,
    /// What was found and what was expected.
    pub message: String,
    /// What to do next.
    pub advice: String,
    /// Whether released treebanks have it, so that it is no error.
    pub warning: bool,
}

#[pymethods]
impl Fault {
    fn __str__(&self) -> String {
        let Self { file, line, column, message, advice, .. } = self;
        format!("{file}:{line}:{column}: {message}; {advice}")
    }

    fn __repr__(&self) -> String {
        format!("Fault({:?}, kind={:?})", self.__str__(), self.kind)
    }
}

impl Fault {
    /// A fault that a reader found in the file of this name.
    pub fn of(name: &str, fault: &frostline_conllu::Fault) -> Self {
        let text = fault.kind.to_string();
        let (message, advice) = split_advice(&text);
        let kind = format!("{:?}", fault.kind);
        Self {
            file: name.into(),
            line: fault.line,
            column: fault.column,
            sent_id: fault.sent_id.as_deref().map(String::from),
            kind: kind.split([' ', '(', '{']).next().unwrap_or_default().into(),
            message: message.into(),
            advice: advice.into(),
            warning: fault.kind.is_warning(),
        }
    }

    /// The fault as the exception `frostline.DataError`.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        let Self { file, line, column, message, advice, .. } = self;
        raise(py, "DataError", (message, advice, Some(file), Some(line), Some(column)))
    }
}

/// Returns every fault of CoNLL-U files, in order, and the warnings among them.
///
/// `level` 1 checks the form of lines and rows; 2, the default, also values, trees, comments and texts, as the UD
/// validator does. `nfc` also asks for Unicode normal form C.
#[pyfunction]
#[pyo3(signature = (source, *, level = 2, nfc = false))]
pub fn validate(py: Python<'_>, source: &Bound<'_, PyAny>, level: u8, nfc: bool) -> PyResult<Vec<Fault>> {
    if !(1..=2).contains(&level) {
        let text = format!("level is {level}, expected 1 or 2; give 2 for everything that can be checked");
        return Err(raise_text(py, "SettingError", None, &text));
    }
    let checks = Checks { typed: level == 2, metadata: level == 2, nfc };
    let sources = read_sources(source)?;
    Ok(py.detach(|| {
        let mut found = Vec::new();
        for source in &sources {
            for sentence in read_lenient(&source.bytes, checks) {
                let faults = sentence.faults().iter().chain(sentence.warnings());
                found.extend(faults.map(|fault| Fault::of(&source.name, fault)));
            }
        }
        found
    }))
}

/// The first grave fault of a sentence: carriage returns before line feeds are accepted, as by the official scorer.
pub fn is_grave(fault: &&frostline_conllu::Fault) -> bool {
    !matches!(fault.kind, FaultKind::CarriageReturn)
}
