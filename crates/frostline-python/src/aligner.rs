//! `Aligner`: words to subword ids, as lists or as padded buffers that numpy and torch read.

use std::path::PathBuf;
use std::sync::Arc;

use frostline_align::{AlignOptions, Aligned, LabelPolicy, NO_LABEL};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyByteArray;

use crate::errors::raise_text;

/// Splits words into subwords with the tokenizer of a pretrained encoder, exactly as Hugging Face does.
#[pyclass(frozen, module = "frostline")]
pub struct Aligner {
    inner: frostline_align::Aligner,
    folder: String,
}

/// One sentence, or a window of it.
#[pyclass(frozen, module = "frostline")]
pub struct Alignment {
    inner: Arc<Aligned>,
}

#[pymethods]
impl Aligner {
    /// Loads the tokenizer of a folder with `tokenizer.json` or `vocab.txt`.
    ///
    /// `labels` is the subword that carries a word's label: "first", "last" or "all". `stride` cuts long sentences into
    /// windows that share so many subwords, instead of truncating them at `max_length`.
    #[staticmethod]
    #[pyo3(signature = (folder, *, max_length = 512, labels = "first", stride = None, lowercase = false))]
    fn from_pretrained(
        py: Python<'_>,
        folder: PathBuf,
        max_length: usize,
        labels: &str,
        stride: Option<usize>,
        lowercase: bool,
    ) -> PyResult<Self> {
        let fail = |text: String| raise_text(py, "SettingError", Some(folder.display().to_string()), &text);
        let labels = match labels {
            "first" => LabelPolicy::First,
            "last" => LabelPolicy::Last,
            "all" => LabelPolicy::All,
            other => {
                return Err(fail(format!(
                    "labels is {other:?}, expected first, last or all; give one of these"
                )));
            }
        };
        let options = AlignOptions { max_length, labels, stride, lowercase };
        let made = py.detach(|| {
            frostline_align::Aligner::from_folder(&folder).and_then(|aligner| aligner.with_options(options))
        });
        let inner = made.map_err(|error| fail(error.to_string()))?;
        Ok(Self { inner, folder: folder.display().to_string() })
    }

    /// Aligns the words of one sentence; the words after `max_length` are truncated.
    fn align(&self, py: Python<'_>, words: Vec<PyBackedStr>) -> PyResult<Alignment> {
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let aligned =
            py.detach(|| self.inner.align(&words)).map_err(|error| self.fail(py, &error.to_string()))?;
        Ok(Alignment { inner: Arc::new(aligned) })
    }

    /// Aligns a list of sentences.
    fn align_batch(&self, py: Python<'_>, sentences: Vec<Vec<PyBackedStr>>) -> PyResult<Vec<Alignment>> {
        let all = py.detach(|| -> Result<Vec<Alignment>, String> {
            let align = |(place, words): (usize, &Vec<PyBackedStr>)| {
                let words: Vec<&str> = words.iter().map(|word| &**word).collect();
                let aligned =
                    self.inner.align(&words).map_err(|error| format!("sentence {place}: {error}"))?;
                Ok(Alignment { inner: Arc::new(aligned) })
            };
            sentences.iter().enumerate().map(align).collect()
        });
        all.map_err(|text| self.fail(py, &text))
    }

    /// The windows of one sentence, with the `stride` of the aligner. Each word is labelled in exactly one of them.
    fn windows(&self, py: Python<'_>, words: Vec<PyBackedStr>) -> PyResult<Vec<Alignment>> {
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let windows = py
            .detach(|| self.inner.align_windows(&words))
            .map_err(|error| self.fail(py, &error.to_string()))?;
        Ok(windows.into_iter().map(|aligned| Alignment { inner: Arc::new(aligned) }).collect())
    }

    /// The subwords of these ids, for display.
    fn tokens(&self, ids: Vec<u32>) -> Vec<String> {
        self.inner.tokens(&ids)
    }

    /// The id of a token such as "[MASK]", if the vocabulary has it.
    fn id_of(&self, token: &str) -> Option<u32> {
        self.inner.id_of(token)
    }

    #[getter]
    fn vocab_size(&self) -> usize {
        self.inner.vocab_size()
    }

    #[getter]
    fn max_length(&self) -> usize {
        self.inner.options().max_length
    }

    /// Padded buffers of 64-bit numbers: ids, attention mask, word ids (-1 for none), their rows and columns. For `Aligner.numpy`.
    #[staticmethod]
    #[pyo3(signature = (alignments, pad_id))]
    fn _padded<'py>(
        py: Python<'py>,
        alignments: Vec<PyRef<'py, Alignment>>,
        pad_id: i64,
    ) -> [Bound<'py, PyByteArray>; 3] {
        let width = alignments.iter().map(|one| one.inner.ids.len()).max().unwrap_or(0);
        let fill = |row: &dyn Fn(&Aligned, usize) -> i64, pad: i64| {
            let mut bytes = Vec::with_capacity(8 * width * alignments.len());
            for one in &alignments {
                let count = one.inner.ids.len();
                let value = |at| if at < count { row(&one.inner, at) } else { pad };
                (0..width).for_each(|at| bytes.extend_from_slice(&value(at).to_ne_bytes()));
            }
            PyByteArray::new(py, &bytes)
        };
        [
            fill(&|one, at| i64::from(one.ids[at]), pad_id),
            fill(&|_, _| 1, 0),
            fill(&|one, at| one.word_ids[at].map_or(-1, i64::from), -1),
        ]
    }

    fn __repr__(&self) -> String {
        format!("Aligner({:?}, max_length={})", self.folder, self.max_length())
    }
}

impl Aligner {
    fn fail(&self, py: Python<'_>, text: &str) -> PyErr {
        raise_text(py, "DataError", Some(self.folder.clone()), text)
    }
}

#[pymethods]
impl Alignment {
    /// The ids of the subwords, special tokens included.
    #[getter]
    fn ids(&self) -> &[u32] {
        &self.inner.ids
    }
    /// The word of each position, None at special tokens; equal to Hugging Face's `word_ids()`.
    #[getter]
    fn word_ids(&self) -> Vec<Option<u32>> {
        self.inner.word_ids.clone()
    }
    /// Position and word of each label.
    #[getter]
    fn label_positions(&self) -> Vec<(u32, u32)> {
        self.inner.label_positions.clone()
    }
    /// The words whose label position was cut off.
    #[getter]
    fn truncated(&self) -> Vec<u32> {
        self.inner.truncated.clone()
    }
    /// The words without any subword.
    #[getter]
    fn vanished(&self) -> Vec<u32> {
        self.inner.vanished.clone()
    }
    /// One label for each position: that of the word at its label positions, -100 at all others.
    fn labels(&self, of_word: Vec<i64>) -> PyResult<Vec<i64>> {
        let most = self.inner.label_positions.iter().map(|(_, word)| *word as usize).max();
        match most {
            Some(word) if word >= of_word.len() => Err(PyIndexError::new_err(format!(
                "{} labels, but word {word} is labelled; give one label for each word",
                of_word.len()
            ))),
            _ => Ok(self.inner.labels(&of_word)),
        }
    }
    /// The label of positions without one.
    #[classattr]
    const NO_LABEL: i64 = NO_LABEL;

    fn __len__(&self) -> usize {
        self.inner.ids.len()
    }
    fn __repr__(&self) -> String {
        format!("Alignment({} subwords, {} labelled words)", self.inner.ids.len(), self.inner.labelled())
    }
}
