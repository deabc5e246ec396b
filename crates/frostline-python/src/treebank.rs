//! `Treebank`: the sentences of CoNLL-U files, checked once when they are read.

use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use frostline_conllu::{Checks, Stats, read_lenient};
use frostline_files::{FileError, Writer};
use frostline_score::conll18::ScoredSentence;
use pyo3::exceptions::{PyIndexError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::columns::{NamedBytes, TreebankColumns};
use crate::errors::raise_text;
use crate::faults::{Fault, is_grave};
use crate::scored::scored_sentence;
use crate::source::{SourceBytes, read_sources};
use crate::table::Table;
use crate::token::Sentence;

/// The sentences of one or more CoNLL-U files.
///
/// Iterating yields `Sentence` objects. Libraries that read Arrow (`pyarrow.table`, `polars.DataFrame`,
/// `pandas.DataFrame.from_arrow`) take over the columns without a copy: a row for each token, or with
/// `treebank.sentences` a row for each sentence.
#[pyclass(frozen, module = "frostline")]
pub struct Treebank {
    inner: Arc<ParsedTreebank>,
}

struct ParsedTreebank {
    sources: Vec<SourceBytes>,
    places: Vec<SentencePlace>,
    stats: Stats,
    columns: OnceLock<Result<TreebankColumns, String>>,
}

/// Where a sentence is.
struct SentencePlace {
    source: usize,
    bytes: Range<usize>,
    line: usize,
}

/// Reads CoNLL-U: a path, a list of paths, or a file object.
///
/// The text is checked at level 1 of the UD validator; the first fault raises `frostline.DataError`, which has the
/// attributes file, line, column and advice. Lines may end as on Windows.
#[pyfunction]
pub fn read_conllu(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<Treebank> {
    let sources = read_sources(source)?;
    let read = py.detach(|| ParsedTreebank::new(sources));
    read.map(|inner| Treebank { inner: Arc::new(inner) }).map_err(|fault| fault.raise(py))
}

impl ParsedTreebank {
    fn new(sources: Vec<SourceBytes>) -> Result<Self, Box<Fault>> {
        let (mut places, mut stats) = (Vec::new(), Stats::default());
        for (number, source) in sources.iter().enumerate() {
            for sentence in read_lenient(&source.bytes, Checks::default()) {
                if let Some(fault) = sentence.faults().iter().find(is_grave) {
                    return Err(Box::new(Fault::of(&source.name, fault)));
                }
                stats.add(&sentence);
                let bytes = sentence.byte()..sentence.byte() + sentence.raw().len();
                places.push(SentencePlace { source: number, bytes, line: sentence.line() });
            }
        }
        Ok(Self { sources, places, stats, columns: OnceLock::new() })
    }

    fn sentence(&self, place: &SentencePlace) -> Option<Sentence> {
        let bytes = &self.sources[place.source].bytes;
        let parsed = read_lenient(&bytes[place.bytes.clone()], Checks::default()).next()?;
        Some(Sentence::new(bytes, &parsed, place.line))
    }

    fn columns(&self) -> Result<&TreebankColumns, String> {
        let made = self.columns.get_or_init(|| {
            let part =
                |source: &SourceBytes| NamedBytes { name: source.name.clone(), bytes: source.bytes.clone() };
            TreebankColumns::read(&self.sources.iter().map(part).collect::<Vec<_>>())
        });
        made.as_ref().map_err(String::clone)
    }
}

impl Treebank {
    /// The sentences in the scorer's types.
    pub fn scored(&self) -> Vec<ScoredSentence<'_>> {
        let sources = self.inner.sources.iter();
        let parsed = sources.flat_map(|source| read_lenient(&source.bytes, Checks::default()));
        parsed.map(|sentence| scored_sentence(&sentence)).collect()
    }

    /// The names of the files, for messages.
    pub fn names(&self) -> String {
        self.inner.sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn table(
        &self,
        py: Python<'_>,
        select: fn(&TreebankColumns) -> Result<Table, String>,
    ) -> PyResult<Table> {
        let made = py.detach(|| self.inner.columns().and_then(select));
        made.map_err(|text| raise_text(py, "DataError", Some(self.names()), &text))
    }
}

#[pymethods]
impl Treebank {
    /// The names of the files.
    #[getter]
    fn files(&self) -> Vec<&str> {
        self.inner.sources.iter().map(|source| source.name.as_str()).collect()
    }

    /// An Arrow table with a row for each token.
    #[getter]
    fn tokens(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TreebankColumns::tokens)
    }

    /// An Arrow table with a row for each sentence, whose columns contain lists.
    #[getter]
    fn sentences(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, TreebankColumns::sentences)
    }

    /// The numbers of sentences, words, ranges and empty nodes.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Stats { sentences, words, ranges, empty_nodes } = self.inner.stats;
        let counts = PyDict::new(py);
        for (name, count) in
            [("sentences", sentences), ("words", words), ("ranges", ranges), ("empty_nodes", empty_nodes)]
        {
            counts.set_item(name, count)?;
        }
        Ok(counts)
    }

    /// Writes the files' bytes, unchanged, to a path or a binary file object. A path's file is written whole or not at all.
    fn write(&self, py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<()> {
        write_parts(py, target, self.inner.sources.iter().map(|source| source.bytes.as_slice()))
    }

    fn __len__(&self) -> usize {
        self.inner.places.len()
    }

    fn __getitem__(&self, at: isize) -> PyResult<Sentence> {
        let count = self.inner.places.len();
        let place = if at < 0 { count.checked_add_signed(at) } else { Some(at as usize) };
        place
            .and_then(|place| self.inner.sentence(self.inner.places.get(place)?))
            .ok_or_else(|| PyIndexError::new_err(format!("there is no sentence {at} among {count}")))
    }

    fn __iter__(&self) -> Sentences {
        Sentences { inner: self.inner.clone(), at: AtomicUsize::new(0) }
    }

    fn __repr__(&self) -> String {
        let Stats { sentences, words, .. } = self.inner.stats;
        format!("Treebank({sentences} sentences, {words} words, {})", self.names())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        self.tokens(py)?.schema_capsule(py)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.tokens(py)?.stream_capsule(py)
    }
}

/// Writes bytes one after another to a path or a binary file object.
pub fn write_parts<'a>(
    py: Python<'_>,
    target: &Bound<'_, PyAny>,
    parts: impl Iterator<Item = &'a [u8]>,
) -> PyResult<()> {
    if target.hasattr("write")? {
        for part in parts {
            target.call_method1("write", (PyBytes::new(py, part),))?;
        }
        return Ok(());
    }
    let path: PathBuf = target.extract()?;
    let failed = |error: FileError| PyOSError::new_err(error.to_string());
    let mut writer = Writer::create(&path).map_err(failed)?;
    for part in parts {
        writer.write_all(part)?;
    }
    writer.finish().map_err(failed)
}

/// The iterator over a treebank.
#[pyclass(frozen, module = "frostline")]
pub struct Sentences {
    inner: Arc<ParsedTreebank>,
    at: AtomicUsize,
}

#[pymethods]
impl Sentences {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self) -> Option<Sentence> {
        let at = self.at.fetch_add(1, Ordering::Relaxed);
        self.inner.sentence(self.inner.places.get(at)?)
    }
}
