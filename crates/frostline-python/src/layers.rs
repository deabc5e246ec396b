//! IOB2 layers of entities, and labelled sentences.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, UInt32Builder};
use arrow_array::{Array as _, ArrayRef, StringArray};
use frostline_conllu::{parse_iob2, parse_labelled};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::raise_text;
use crate::faults::Fault;
use crate::source::{SourceBytes, read_sources};
use crate::table::Table;
use crate::treebank::write_parts;

/// A sentence of an IOB2 layer.
#[pyclass(frozen, get_all, eq, module = "frostline")]
#[derive(Clone, PartialEq, Eq)]
pub struct TaggedSentence {
    /// The value of the comment `# sent_id = `.
    sent_id: Option<String>,
    /// The value of the comment `# text = `.
    text: Option<String>,
    /// The words.
    words: Vec<String>,
    /// `O`, `B-TYPE` or `I-TYPE`, one for each word.
    tags: Vec<String>,
    /// Type, first word and one past the last word of each entity.
    entities: Vec<(String, usize, usize)>,
    /// The first line of the sentence in its file, from 1.
    line: usize,
}

/// A sentence and its label.
#[pyclass(frozen, get_all, eq, module = "frostline")]
#[derive(Clone, PartialEq, Eq)]
pub struct LabelledSentence {
    /// The sentence.
    text: String,
    /// Its label.
    label: String,
    /// Its line in the file, from 1.
    line: usize,
}

/// The sentences of IOB2 files.
#[pyclass(frozen, sequence, module = "frostline")]
pub struct EntityLayer {
    sources: Vec<SourceBytes>,
    all: Vec<TaggedSentence>,
}

/// The sentences of files with a sentence and a label on each line.
#[pyclass(frozen, sequence, module = "frostline")]
pub struct LabelledText {
    sources: Vec<SourceBytes>,
    all: Vec<LabelledSentence>,
}

/// Reads IOB2 layers as Universal NER writes them: a path, a list of paths, or a file object.
#[pyfunction]
pub fn read_iob2(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<EntityLayer> {
    let sources = read_sources(source)?;
    let mut all = Vec::new();
    for source in &sources {
        for sentence in parse_iob2(text_of(py, source)?) {
            let sentence = sentence.map_err(|fault| Fault::of(&source.name, &fault).raise(py))?;
            all.push(TaggedSentence {
                sent_id: sentence.sent_id().map(String::from),
                text: sentence.text().map(String::from),
                words: sentence.rows.iter().map(|row| row.form.into()).collect(),
                tags: sentence.rows.iter().map(|row| row.tag.into()).collect(),
                entities: sentence
                    .entities()
                    .map(|found| (found.kind.into(), found.start, found.end))
                    .collect(),
                line: sentence.line,
            });
        }
    }
    Ok(EntityLayer { sources, all })
}

/// Reads labelled sentences, `sentence TAB label` on each line as in GLUE's SST-2: a path, a list of paths, or a file object.
#[pyfunction]
pub fn read_labelled(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<LabelledText> {
    let sources = read_sources(source)?;
    let mut all = Vec::new();
    for source in &sources {
        for sentence in parse_labelled(text_of(py, source)?) {
            let found = sentence.map_err(|fault| Fault::of(&source.name, &fault).raise(py))?;
            let (text, label) = (found.text.to_owned(), found.label.to_owned());
            all.push(LabelledSentence { text, label, line: found.line });
        }
    }
    Ok(LabelledText { sources, all })
}

fn text_of<'a>(py: Python<'_>, source: &'a SourceBytes) -> PyResult<&'a str> {
    std::str::from_utf8(&source.bytes).map_err(|error| {
        let at = error.valid_up_to();
        let text = format!("byte {at} of the text is not UTF-8; convert the file to UTF-8");
        raise_text(py, "DataError", Some(source.name.clone()), &text)
    })
}

/// The item at a place that may be counted from the end.
fn item<T: Clone>(all: &[T], at: isize) -> PyResult<T> {
    let place = if at < 0 { all.len().checked_add_signed(at) } else { Some(at as usize) };
    let found = place.and_then(|place| all.get(place)).cloned();
    found.ok_or_else(|| PyIndexError::new_err(format!("there is no sentence {at} among {}", all.len())))
}

fn names(sources: &[SourceBytes]) -> Vec<&str> {
    sources.iter().map(|source| source.name.as_str()).collect()
}

impl EntityLayer {
    fn table(&self) -> Result<Table, String> {
        let (mut words, mut tags) =
            (ListBuilder::new(StringBuilder::new()), ListBuilder::new(StringBuilder::new()));
        let mut lines = UInt32Builder::new();
        for sentence in &self.all {
            words.append_value(sentence.words.iter().map(Some));
            tags.append_value(sentence.tags.iter().map(Some));
            lines.append_value(sentence.line as u32);
        }
        let ids: StringArray = self.all.iter().map(|sentence| sentence.sent_id.as_deref()).collect();
        Table::of(vec![
            ("sent_id", Arc::new(ids) as ArrayRef),
            ("words", Arc::new(words.finish())),
            ("tags", Arc::new(tags.finish())),
            ("line", Arc::new(lines.finish())),
        ])
    }
}

impl LabelledText {
    fn table(&self) -> Result<Table, String> {
        let column = |get: fn(&LabelledSentence) -> &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(self.all.iter().map(get)))
        };
        let (text, label) = (column(|one| &one.text), column(|one| &one.label));
        debug_assert_eq!(text.len(), label.len());
        Table::of(vec![("text", text), ("label", label)])
    }
}

#[pymethods]
impl EntityLayer {
    #[getter]
    fn files(&self) -> Vec<&str> {
        names(&self.sources)
    }
    /// An Arrow table with a row for each sentence.
    #[getter]
    fn sentences(&self, py: Python<'_>) -> PyResult<Table> {
        self.table().map_err(|text| raise_text(py, "DataError", None, &text))
    }
    /// Writes the files' bytes, unchanged, to a path or a binary file object.
    fn write(&self, py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<()> {
        write_parts(py, target, self.sources.iter().map(|source| source.bytes.as_slice()))
    }
    fn __len__(&self) -> usize {
        self.all.len()
    }
    fn __getitem__(&self, at: isize) -> PyResult<TaggedSentence> {
        item(&self.all, at)
    }
    fn __repr__(&self) -> String {
        format!("EntityLayer({} sentences, {})", self.all.len(), self.files().join(", "))
    }
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.sentences(py)?.stream_capsule(py)
    }
}

#[pymethods]
impl LabelledText {
    #[getter]
    fn files(&self) -> Vec<&str> {
        names(&self.sources)
    }
    /// An Arrow table with a row for each sentence.
    #[getter]
    fn sentences(&self, py: Python<'_>) -> PyResult<Table> {
        self.table().map_err(|text| raise_text(py, "DataError", None, &text))
    }
    /// Writes the files' bytes, unchanged, to a path or a binary file object.
    fn write(&self, py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<()> {
        write_parts(py, target, self.sources.iter().map(|source| source.bytes.as_slice()))
    }
    fn __len__(&self) -> usize {
        self.all.len()
    }
    fn __getitem__(&self, at: isize) -> PyResult<LabelledSentence> {
        item(&self.all, at)
    }
    fn __repr__(&self) -> String {
        format!("LabelledText({} sentences, {})", self.all.len(), self.files().join(", "))
    }
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.sentences(py)?.stream_capsule(py)
    }
}
